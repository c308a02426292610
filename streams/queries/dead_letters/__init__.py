"""Handling of dead letters: listed, shown, tried again, dropped.

A queue is a topic, so nothing in it is ever changed.  A letter that was tried again or dropped gets a *mark*
behind
it in its own partition (a record without value, with the headers ``dlq_settled``: ``retried`` or ``dropped``,
and
``dlq_of``: the offset of the letter); who lists the letters leaves out those that are marked.  A record that is
refused again makes a new letter; how often that was, is told by what it holds.

A record that is tried again has its own key, value and headers and goes to the partition of its key.  Of its
headers
only ``dlq_*`` are taken off, and those of a copy that was sent to another partition: it is no copy any more.
"""

from streams.queries.dead_letters.letters import SETTLED, Group, Letter, Place, Whole
from streams.queries.dead_letters.reading import groups_of, letters_of, queue_named, queues, read_letters
from streams.queries.dead_letters.settling import drop, retry

__all__ = [
    "SETTLED",
    "Group",
    "Letter",
    "Place",
    "Whole",
    "drop",
    "groups_of",
    "letters_of",
    "queue_named",
    "queues",
    "read_letters",
    "retry",
]
