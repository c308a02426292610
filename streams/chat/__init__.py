"""A chat with memory (requirement 5): a producer and a reader of topics like any other.

::

    what a person says ─► chat.messages.v1 ─► understanding, material, model ─► filter ─► the reader sees
                                                         chat.responses.v1, chat.duplicates.v1 ◄─┤
                            chat.messages.v1 ◄─ the whole answer, with what it was made of ◄─────┘

:mod:`.chats` begins, stops and finds turns; :mod:`.running` is one turn on its way, :mod:`.elsewhere` tells of
those of other processes; :mod:`.filtering` takes out of an answer what it repeats, :mod:`.publishing` writes
what is shown of it; :mod:`.sending` writes; :mod:`.counting` counts what a session takes.
"""
