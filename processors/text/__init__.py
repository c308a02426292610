"""Analysis of any text: sentences, tokens, validity.

:mod:`.validation` decides about records, :mod:`.sentences` where sentences end, :mod:`.stemming` which words
are forms of one, :mod:`.tokens` what a text costs.
"""
