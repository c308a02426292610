"""Decision logic: pure functions and small state machines, no I/O and no clock but the one passed in.

A folder per decision: :mod:`.conversations` (windows, tokens), :mod:`.extraction` (statements), :mod:`.facts`,
:mod:`.responses` (repetitions), :mod:`.summaries`; :mod:`.text` is what all of them know of text.
"""
