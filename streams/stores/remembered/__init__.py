"""Access to the views, for whoever answers questions.

:mod:`.ports` says what can be read; :mod:`.far` reads it where the recall service has it, over a socket;
:mod:`.opening` decides which it is.
"""
