"""What is remembered, as whoever answers questions reads it.

:mod:`.ports` says what can be read; :mod:`.far` reads it where the recall service has it, over a socket;
:mod:`.opening` decides which it is.
"""
