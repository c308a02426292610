"""Clients of Kafka and Valkey, the topic catalog, and records: the ground that all other rooms stand on.

Begin with :mod:`.catalog` (the topics and their files) and :mod:`~streams.clients.kafka` (connections);
:mod:`.records` is a record as a stage sees it, :mod:`.erasures` how an erasure is written into a topic.
"""
