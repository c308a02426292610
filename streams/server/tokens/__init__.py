"""The tokens of the HTTP API: :mod:`.secret` makes them, :mod:`.topic` keeps them, :mod:`.known` knows them."""
