"""The memo of what language models answered: ``models.memo.v1``, and Redis as its view.

Begin with :mod:`.memo`, which keeps the two together.  :mod:`.topic` reads and writes the topic, :mod:`.view`
the view; :mod:`.marks` is for who wants nothing but what was erased.  Whoever deletes what Redis holds loses
nothing but the time to read the topic again.
"""
