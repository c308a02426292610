"""Decides whether a question must be clarified, how it can be read, what it refers to; begin in ``reading``.

``reading`` puts an understanding together; ``references`` finds what "she" or "there" stands for in recent
turns; ``clarity`` is a small linear model over ``features`` of the question's form; ``questions`` words what to
ask back.
The weights are made by ``make train``.
"""
