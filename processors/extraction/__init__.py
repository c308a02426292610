"""Which statements about its people a window holds: rules, no model (seed 000).

Begin with :mod:`.statements`, which reads a window; its sentences (:mod:`.own_words`) are cut into
:mod:`.clauses`, judged by :mod:`.rules` and :mod:`.categories`, and turned to the third person by
:mod:`.rewriting`, :mod:`.grammar` and :mod:`.lexicon`.  :mod:`.exchanges` are statements that take two to make.
"""
