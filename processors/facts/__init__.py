"""What becomes of what was learned: a new fact, more evidence for one, or the end of one (seeds 000 and 002).

Begin with :func:`.consolidation.consolidate`; :mod:`.evidence` says what counts twice and what does not, and
:mod:`.erasure` what a tombstone leaves.
"""
