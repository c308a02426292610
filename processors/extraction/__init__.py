"""What the people of a window say about themselves: tables of English, no model (seed 000).

Begin with :mod:`.reading`, which reads a window.  Sentences are taken apart by :mod:`.parsing`, and by
:mod:`.tenses` and :mod:`.wordings` brought into the form that the tables know; :mod:`.predicates` are the tables
that say which slot a clause fills, asked by :mod:`.interpreting` and, for what is theirs, :mod:`.owning`;
:mod:`.values` cleans what fills it.  :mod:`.requests`, :mod:`.naming` and :mod:`.tastes` read preferences (their
names: :mod:`.proper_names`), :mod:`.assistant` what is said to the assistant about itself, :mod:`.answers` and
:mod:`.dialogue` what takes two.
"""
