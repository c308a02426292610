"""What the people of a window say about themselves: tables of English, no model (seed 000).

Begin with :mod:`.reading`, which reads a window.  :mod:`.wordings` bring what is said into the form that the tables
know, :mod:`.parts` cut a sentence into pieces, :mod:`.clauses` take a piece apart; :mod:`.predicates` are the tables
that say which slot a clause fills, asked by :mod:`.interpreting`; :mod:`.values` cleans what fills it.
:mod:`.favourites` and :mod:`.requests` read preferences by the subjects in :mod:`.tastes`, :mod:`.assistant` what is
said to the assistant about itself, :mod:`.dialogue` what takes two.
"""
