"""Graph of the people and things a person speaks of (requirement 1.5).

:mod:`.reading` takes statements from the turns of an episode ("my sister Anna lives in Berlin"), sentence by
sentence (:mod:`.telling`), by tables of what is said plainly (:mod:`.roles`, :mod:`.wordings`, :mod:`.names`);
:mod:`.resolving` makes entities and relations of all that was said, whatever order it came in, and :mod:`.people`
tells one Anna from the other.
"""
