"""What is embedded, and how a vector travels: :mod:`.wording` and :mod:`.vectors`."""
