"""The service ``recall``: what is known becomes findable.  It keeps views, which the topics fill again.

:mod:`.index` keeps the facts, found by their words; :mod:`.embedding` gives them vectors.
"""
