"""The runtime: Faust's apps, agents, tables and assignment, with a hot path and a recovery of its own.

How a record travels
--------------------

::

    Kafka ─► BatchConsumerThread ─► BatchConsumer ─► BatchScheduler ─► Faust's conductor and stream
             (aiokafka, own thread)                   batches per         │ one event = one RecordBatch
    ┌─ Epoch ────────────────────────────────────┐    partition           ▼
    │ progress, ledger, lanes with their unconfirmed state and timers ─► Lane (one per stage and partition)
    └───── commit ◄── ledger ◄── ack ◄───────────┘                        │ Stepper: the pure step
                                                                          ▼
                                     Publisher: outputs ─► confirmed ─► changelog ─► confirmed ─► table, ack

An assignment makes an epoch.  Before its first record is delivered, ``perform_seek`` reads the changelogs to
their ends (``recovery.py``), mends them, and seeks.  A revoke, a seek and a stop end it and drop it whole.

``service.py`` puts the parts together; ``ports.py`` says what they may ask of it; ``stage.py`` and
``effects.py`` are what a stage sees of them.  Imports point one way:
``pyproject.toml`` has the layers.

Writing a stage
---------------

A stage says how a record is decoded and what it does to the state of its key.  ``keyed.py`` groups records,
skips those that come again, dead-letters bad ones alone and stores; ``work.py`` is what a stage tells it.  A
test runs the stage without a broker by ``testing.py``, with crashes by ``trial.py``::

    class Tally(msgspec.Struct, frozen=True):
        messages: int = 0

    TALLY = Codec("tally", Tally)

    def decode(record):
        return msgspec.json.decode(record.value or b"")  # raise InvalidRecord for what is none

    def fold(before, run, work):
        after = Tally((before or Tally()).messages + len(run.items))
        work.emit("memory.windows.v1", run.key, msgspec.json.encode(after))
        return after

    messages = Source(decode=decode, fold=fold)
    stage = keyed_stage(name="tally", table="tally", codec=TALLY, sources={"chat.messages.v1": messages})

    harness = StageHarness(stage)
    records = [harness.record(b"{}", key=key) for key in (b"c-1", b"c-2", b"c-1")]
    harness.feed(*records)
    harness.feed(*records)  # read again after a crash
    assert harness.stored(TALLY) == {b"c-1": Tally(2), b"c-2": Tally(1)}
    assert len(harness.outputs) == 2

A stage that calls a model names the tenant of a record (``Stage.tenant_of``).  Its lane (``fair_lane.py``)
serves tenants in turn (``turns.py``) among the records that were read ahead, and acks as rule 4 says.

Where it can fail, and what then happens
----------------------------------------

=================================================  ==========================================================
a record cannot be decoded or is invalid           the step dead-letters it (``Effects.dead_letter``)
stored state cannot be decoded, or was written by  the worker stops and names the key: no record is to blame
a later release (``codec.py``)
the step raises                                    the batch is halved until what fails stands alone and is
                                                   dead-lettered; 100 in a row, over all batches and
                                                   partitions of the stage, stop the worker
an output, or state, is larger than its topic      the same, for the record that caused it
takes
a compressed batch is huge or damaged              it is not unpacked; one dead letter keeps it as it is
a dead letter does not fit into its queue          it is split; beyond 16 MiB its beginning is kept
state cannot be decoded                            the worker stops
the step raises ``DependencyUnavailable``          it waits in place with jittered backoff; nothing is lost,
or a call hangs                                    reordered or dead-lettered, and metrics show the wait
a call hangs for one record, not for others        that record is dead-lettered (``no_answer``)
the step hangs without awaiting                    the watchdog ends the process; another worker takes over
a confirmation fails for good                      the worker stops; nothing after it is acked
a changelog does not come                          it is waited for while it goes on, however slowly; the worker
                                                   stops when nothing came for ``request_timeout_seconds``
state outgrows memory, and the disk is full or     the worker stops and says what to do; nothing is lost, for
cannot be written                                  the changelogs hold all of it
the process is killed                              what was not acked is read again; the same ids are written
partitions are revoked, or it is told to stop      no new batch starts; what is in flight is awaited, then
                                                   committed; the rest is given up and read again
the process stood still and lost its partitions    what still waits in its producer is not written (the lease),
(SIGSTOP, a suspended machine), or it was cut off  and the worker stops; what was under way carries the same
                                                   ids; state of a lower term or mark is ignored at recovery,
                                                   and what it stands behind is written again
another worker runs under the same name            the one that was there first stops and says so
workers of the service read other topics           those that have the partitions keep them until the last
                                                   of them ends; the others wait, and say so
a removed key is written late                      a removal stays, with its mark, for an hour; then it goes
a stage's sources change                           marks are found by the names of their sources; one that was
                                                   read and is not any more stops the worker
a batch is lost between consumer and stage         the lane sees a position that does not fit; worker stops
the topic was deleted and made again               a commit or mark beyond its end; the worker stops and names
                                                   the command that resets the state
=================================================  ==========================================================

The eleven rules, and where they live
-------------------------------------

1. batched delivery, bounded by records and bytes, as is what is in flight: ``scheduler.py``, ``consumer.py``;
   changelogs too: ``recovery.py``
2. pure steps: ``stage.py``, ``effects.py``
3. outputs, then state, then ack, in order: ``lane.py``, ``publisher.py``
4. commit the longest acked prefix: ``ledger.py``
5. epochs: ``epoch.py``; made and ended in ``consumer.py``; the overlay of unconfirmed state: ``table.py``;
   state larger than memory: ``state_memory.py``, ``state_file.py``
6. no gaps: ``continuity.py``, ``lane.py`` (``_check_position``),
   ``service.py`` (``check_end``)
7. state carries its high-water mark, its owner's term and the names of its sources: ``marks.py``; what a
   changelog says: ``stored.py``; late writes: ``lease.py``, mended by ``recovery.py``
8. bad input never blocks and is never lost: ``stepping.py``, ``deadletters.py``, ``unpacking.py``; waiting:
   ``retry_policy.py``, ``stage_status.py``
9. fencing: ``lease.py``; timeouts, bounded shutdown: ``streams/server/process/worker.py``
10. our own aiokafka consumer, Kafka's hash, misplaced records: ``consumer.py``, ``partitioner.py``,
    ``quarantine.py``; partitions only with members that read the same topics: ``assignor.py``
11. what is never used of Faust: ``exactly_once``, ``take()``, windowed tables, models on ingress, concurrency
    above 1, its web server and its monitor

What a stage made says what made it (``stamp.py``): headers that name the code and the settings that decided.

Timers (``timers.py``) are wall-clock times by key, derived from state, for what must happen although no
record arrives.
"""
