"""The runtime: Faust's apps, agents, tables, assignment and recovery, with a hot path of its own.

How a record travels
--------------------

::

    Kafka ─► BatchConsumerThread ─► BatchConsumer ─► BatchScheduler ─► Faust's conductor and stream
             (aiokafka, own thread)  epoch, ledger,   batches per         │ one event = one RecordBatch
                                     positions        partition           ▼
                     commit ◄── ledger ◄── ack ◄──────────────────────── Lane (one per stage and partition)
                                                                          │ Stepper: the pure step
                                                                          ▼
                                     Publisher: outputs ─► confirmed ─► changelog ─► confirmed ─► table, ack

``service.py`` puts the parts together; ``stage.py`` and ``effects.py`` are what a stage sees of them.

Where it can fail, and what then happens
----------------------------------------

=================================================  ==========================================================
a record cannot be decoded or is invalid           the step dead-letters it (``Effects.dead_letter``)
the step raises                                    the batch is run again record by record; what fails alone
                                                   is dead-lettered; if everything fails, the worker stops
an output is larger than its topic takes           the same, for the record that caused it
the step raises ``DependencyUnavailable``          it waits in place with jittered backoff; nothing is lost,
or hangs in a call                                 reordered or dead-lettered, and metrics show the wait
the step hangs without awaiting                    the watchdog ends the process; another worker takes over
a confirmation fails for good                      the worker stops; nothing after it is acked
the process is killed                              what was not acked is read again; the same ids are written
partitions are revoked, or it is told to stop      no new batch starts; what is in flight is awaited, then
                                                   committed; the rest is given up and read again
the process stood still and lost its partitions    what still waits in its producer is not written (the lease),
(SIGSTOP, a suspended machine), or it was cut off  and the worker stops; what was under way carries the same
                                                   ids, and state with a lower mark is ignored at recovery
another worker runs under the same name            the one that was there first stops and says so
a batch is lost between consumer and stage         the lane sees a position that does not fit; worker stops
the topic was deleted and made again               a commit or mark beyond its end; the worker stops and names
                                                   the command that resets the state
=================================================  ==========================================================

The eleven rules, and where they live
-------------------------------------

1. batched delivery: ``scheduler.py``, ``consumer.py``; changelogs too: ``table.py``
2. pure steps: ``stage.py``, ``effects.py``
3. outputs, then state, then ack, in order: ``lane.py``, ``publisher.py``
4. commit the longest acked prefix: ``ledger.py``
5. epochs: ``consumer.py`` (``new_epoch``), ``lane.py``, ``table.py`` (the overlay)
6. no gaps: ``continuity.py``, ``lane.py`` (``_check_position``),
   ``service.py`` (``check_end``)
7. state carries its high-water mark: ``marks.py``, ``table.py``; late writes: ``lease.py``
8. bad input never blocks and is never lost: ``stepping.py``, ``deadletters.py``
9. fencing: ``lease.py``; timeouts, bounded shutdown: ``streams/worker.py``
10. our own aiokafka consumer, Kafka's hash, misplaced records: ``consumer.py``, ``partitioner.py``,
    ``stepping.py``
11. what is never used of Faust: ``exactly_once``, ``take()``, windowed tables, models on ingress, concurrency
    above 1, its web server and its monitor

Timers (``timers.py``) are wall-clock times by key, derived from state, for what must happen although no
record arrives.
"""
