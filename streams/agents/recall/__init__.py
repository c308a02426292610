"""The service ``recall``: what is known becomes findable.  It keeps views, which the topics fill again.

:mod:`.turns` makes a turn of every message, :mod:`.turn_log` keeps those, by conversation and found by their
words; :mod:`.episodes` makes episodes of turns, and :mod:`.episode_index` keeps those; :mod:`.index` keeps
the facts, found by their words; :mod:`.embedding` makes the vectors that were asked for, which go into the
log; :mod:`.vectors` keeps those, found by their meaning.
"""
