"""What a person says again and again becomes a fact, although no reader of windows knows its form.

Begin with :mod:`~processors.recurring.sentences`, which says what of a turn is looked at, and
:mod:`~processors.recurring.clusters`, which finds what was said in several conversations.
"""
