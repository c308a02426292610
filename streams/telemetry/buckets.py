"""Upper bounds of the histograms' buckets, in seconds."""

#: A confirm is a round trip to the broker (1 ms on one machine), or a broker that is gone for minutes.
CONFIRM_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)

#: A pure step over a batch takes some ms, one that calls a language model many seconds.
STEP_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)

#: One sentence against fifty remembered ones: the aim is 2 ms at the 99th percentile.
DETECTION_BUCKETS = (0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0015, 0.002, 0.003, 0.005, 0.01, 0.05)

#: A message is found by its words within a second; the aim is five seconds for 99 of a hundred.
SEARCHABLE_BUCKETS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3600)

#: Text is held for a few chunks, and never longer than the hold times (500 ms; a passage that repeats: 10 s).
HOLD_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 10.0)

#: A context is made some ms after its turn arrived; behind a backlog it takes as long as that lasts.
CONTEXT_BUCKETS = (0.0025, 0.005, 0.01, 0.015, 0.02, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60)

#: HTTP itself takes a millisecond, a search some forty; `wait` of progress up to half a minute.
HTTP_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.04, 0.06, 0.1, 0.25, 0.5, 1, 2.5, 10, 30)
