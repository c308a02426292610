"""Vectors on their way: asked for once for each text, waited for, and kept in the indexes of recall.

Begin with :mod:`~streams.agents.vectors.requests`; :mod:`~streams.agents.vectors.queue` serves those who cannot
wait, :mod:`~streams.agents.vectors.recall_indexes` has an index built beside the living one when the embedder
changes.
"""
