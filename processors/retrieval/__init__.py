"""What a question finds, and what goes into the next turn's context.

:mod:`~processors.retrieval.recall` ranks what the indexes find, :mod:`~processors.retrieval.context` packs it
into a budget, :mod:`~processors.retrieval.understanding` resolves what a question refers to,
:mod:`~processors.retrieval.embedding` says which text of a fact is embedded.
"""
