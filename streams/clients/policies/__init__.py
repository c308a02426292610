"""The policies of tenants: :mod:`.topic` keeps them, :mod:`.known` follows them,
:mod:`~streams.stores.expiring_index` leaves out of an index what they no longer show.
"""
