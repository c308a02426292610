"""Answering a person: what is remembered of them, what their question means, and the answer as it is made.

Begin with :mod:`~streams.chat.answering.driving`; what is decided is in :mod:`processors.prompts.answering` and
:mod:`processors.retrieval.understanding`, and this gives it a memory, a model and a clock.
"""
