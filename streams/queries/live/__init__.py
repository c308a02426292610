"""Live events: topics are read only while somebody watches.

* ``interest``: what somebody wants to see, and in which partitions it can be (:class:`.interest.Interest`)
* ``records``: which records are events, of what kind, and whom they concern
* ``channel``: the last events of one interest, bounded; everybody reads it at their own pace
* ``hub``: who watches what, and to whom an event goes (pure: no broker, no clock but the one passed in)
* ``reader``: the one consumer of this process, without a group
* ``sse``: how an event looks on the wire

Begin with :mod:`.hub`.
"""
