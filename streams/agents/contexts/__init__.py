"""The context for a conversation's next turn (requirement 3.2): asked for, made, and read where it lies ready.

Begin with :mod:`~streams.agents.contexts.making`; :mod:`~streams.agents.contexts.requests` decides when one is
asked for, :mod:`~streams.agents.contexts.candidates` finds what may go in.  What goes in is decided in
:mod:`processors.retrieval.context`.
"""
