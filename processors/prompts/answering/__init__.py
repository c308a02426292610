"""Answers a person from what is remembered (requirements 3.6 and 5.4): pure, driven by a chat, a bot or a test.

::

    understanding ─► material by tiers ─► prompt ─► model ⇄ search_memory (3 times at most) ─► answer
                                             └── no model: what is remembered, quoted, or that nothing is

:mod:`.answering` is the whole way, as a generator that asks whoever drives it to call the model and to search;
:mod:`.material` packs what was found into the budget; :mod:`.plain` words an answer without a model;
:mod:`.searching` reads what a model wants searched.
"""
