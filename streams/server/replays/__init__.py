"""Replays: the services run once more over the log, as a generation of their own beside the live one.

:mod:`.record` keeps the settings of one, :mod:`.plan` says what it would read and cost, :mod:`.starting` makes
it, :mod:`.running` runs its workers, :mod:`.comparing` compares its facts with the live ones,
:mod:`.switching` has it serve, :mod:`.dropping` removes it.
"""
