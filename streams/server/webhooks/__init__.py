"""Facts and summaries over HTTP, for those without Kafka: ``switchboard webhook deliver``.

::

    webhooks.endpoints.v1 ─► Fleet ─┬─► Delivery (consumer group of its own) ─► Sender ─► POST, signed
                                    └─► Delivery ...                            └─► webhooks.undelivered.v1

:mod:`.endpoints` keeps who is told, :mod:`.delivering` what they get and when it is tried again,
:mod:`.sending` one call, :mod:`.addresses` where none goes.  It is a process of its own and no stage: a stage
commits one prefix of a partition for all that it does, so one slow endpoint would hold up the others.  Here
each has a group, and an offset is committed after its record was taken or given up.
"""
