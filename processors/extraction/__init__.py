"""Extraction of quotations and their slots from the sentences of a window, without a language model.

Begin with :mod:`.units`, the sentences that people say in their own words.  The reader model (``reader.onnx``, run by
:mod:`streams.llm.onnx_reader`) scores them; :mod:`.keeper` decides by these scores whether each is kept, its kind and
its importance; :mod:`.reading` makes statements of it, :mod:`.slots` is the table of slots, and :mod:`.affirmations` reads "I like jazz".
"""
