"""Extraction: which sentences of a window are kept, as quotations, and which slots they fill (no language model).

Begin with :mod:`.units`, the sentences that people say in their own words.  The reader model (``reader.onnx``, run by
:mod:`streams.llm.onnx_reader`) scores them; :mod:`.keeper` decides what is kept, of which kind and how important it
is; :mod:`.reading` makes statements of it, :mod:`.slots` is the table of slots, and :mod:`.affirmations` reads "I like jazz".
"""
