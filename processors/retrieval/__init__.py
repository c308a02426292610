"""Answers to a question, and the context of the next turn.

:mod:`~processors.retrieval.recall` ranks what the indexes find, :mod:`~processors.retrieval.context` packs it
into a budget, :mod:`~processors.retrieval.understanding` resolves what a question refers to,
:mod:`~processors.retrieval.embedding` says which text of a fact is embedded.
"""
