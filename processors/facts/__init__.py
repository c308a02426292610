"""Fold of candidates into facts: a new fact, more evidence for one, or the end of one (requirements 1 and 3).

:mod:`.candidates` says what of an extractor's words is taken, :mod:`.claims` which slot and which fact they are
about.  Begin with :class:`.consolidation.Consolidation`, which folds one candidate in, as a fact of its own or
as evidence (:mod:`.evidence`); :mod:`.marks` say what was claimed when, :mod:`.timeline` decides which value
holds when, :mod:`.lines` what changes by that, :mod:`.merged` which fact stands for a merged one,
:mod:`.erasure` what a tombstone leaves, :mod:`.confidence` what fades, and :mod:`.rebuilding` makes the state
from the topic.
"""
