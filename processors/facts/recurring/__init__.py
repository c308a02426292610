"""Facts from recurring sentences, in forms that no window reader knows.

Begin with :mod:`~processors.facts.recurring.sentences`, which says what of a turn is looked at, and
:mod:`~processors.facts.recurring.clusters`, which finds what was said in several conversations.
"""
