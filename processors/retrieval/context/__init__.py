"""Selection and packing of the context for a conversation's next turn (requirements 3.2 and 3.6).

:mod:`.ranking` says what bears on what was just said, and which of several that say the same stands for them;
:mod:`.packing` gives each tier its share of the budget; :mod:`.wording` is how an item reads in the prompt, and
so what it costs; :mod:`.remembering` leaves out turns that tell nothing new; :mod:`.removal` takes out of a
context what is gone since, and :mod:`.adding` puts in standing notes that became known since.  Whatever else
was found and is not in the prompt says why.  Begin with :class:`.packing.Packer`.
"""
