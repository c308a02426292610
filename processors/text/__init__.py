"""What is known of any text: its sentences, its tokens, and whether it may come in at all.

:mod:`.validation` decides about records, :mod:`.sentences` where sentences end, :mod:`.stemming` which words
are forms of one, :mod:`.tokens` what a text costs.
"""
