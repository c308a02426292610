"""Which sentences of a response stream repeat earlier ones, and how it is put in order (seed 003).

Begin with :mod:`.filter`, which takes repetitions out; it reads units of :mod:`.text` (:mod:`.lines`,
:mod:`.sentences`), asks :mod:`.duplicates` (:mod:`.words`, :mod:`.paraphrase`) and keeps :mod:`.filter_state`;
:mod:`.gaps` joins what is left.  :mod:`.sequence` orders the chunks of a response before that.
"""
