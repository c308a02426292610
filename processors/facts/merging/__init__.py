"""Merging of a person's equal facts (requirement 3.4).

Nearness of vectors only proposes: it does not know "not", "first" from "fourth", nor whose cat it is.
:mod:`.guards` says which of two near facts may be one, and which deny each other; begin with :mod:`.plan`,
which goes through what changed; :mod:`.applying` does it to the lines of facts, and takes it back;
:mod:`.support` says what bears facts out; :mod:`.calibration` finds from where on vectors of a model count as
near.
"""
