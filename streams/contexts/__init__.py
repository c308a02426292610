"""The context for a conversation's next turn (requirement 3.2): asked for, made, and read where it lies ready.

Begin with :mod:`~streams.contexts.making`; :mod:`~streams.contexts.requests` decides when one is asked for,
:mod:`~streams.contexts.candidates` finds what may go in.  What goes in is decided in :mod:`processors.context`.
"""
