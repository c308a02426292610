"""Detection and ordering of repetitions in a response stream (requirement 4).

Begin with :mod:`.filter`, which reads a response element by element (:mod:`.elements` of :mod:`.lines` and
:mod:`.sentences`).  :mod:`.decisions` says what becomes of each, with :mod:`.history` (what was said),
:mod:`.canonical` (the same words) and :mod:`.duplicates` (similar words).  :mod:`.release` writes what stays
and the gaps between; :mod:`.sequence` orders the chunks before that.
"""
