"""Embedding texts and the transport of vectors: :mod:`.wording` and :mod:`.vectors`."""
