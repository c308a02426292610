"""Topic files of ``schemas/topics`` (:mod:`.catalog`), topics of the broker (:mod:`.cluster`,
:mod:`.admin`).
"""
