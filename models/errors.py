"""The exception tree.

::

    SwitchboardError
    ├── ConfigurationError      a setting or the environment is wrong: say what to set, exit 78
    ├── NotFound                what was named (a file, a topic, a conversation) is not there, exit 66
    ├── InvalidRecord           one record cannot be processed as it is: dead-lettered, never retried
    │   └── MissingMessageId    it has no message_id, and where it stands is not known
    ├── DependencyUnavailable   something outside is down or slow: retried in place, never dead-lettered
    │   └── Unanswered          it took a call and did not answer in time
    └── ConsistencyError        going on would lose or invent data: the worker stops
"""

from __future__ import annotations


class SwitchboardError(Exception):
    """Root of all errors that this project raises on purpose."""


class ConfigurationError(SwitchboardError):
    """A setting or the environment is wrong.  The message says what to do."""


class NotFound(SwitchboardError):
    """A named thing (a file, a topic, a conversation) does not exist.  The message says what to do."""


class NotReadYet(NotFound):
    """Something was said in a conversation, and the services have not read it yet."""


class InvalidRecord(SwitchboardError):
    """A record cannot be processed as it is.

    ``reason`` is a short machine-readable slug (``invalid_json``, ``unknown_role``, ...), the message a
    sentence for a person.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class MissingMessageId(InvalidRecord):
    """A message has no ``message_id``.  Where its record stands makes one; else it is refused."""

    def __init__(self) -> None:
        super().__init__(
            "invalid_field", "Object missing required field `message_id`: give it one, text or an integer"
        )


class DependencyUnavailable(SwitchboardError):
    """Something outside (``dependency``: "qdrant", "embedder", "model") is down, slow or throttling."""

    def __init__(self, dependency: str, message: str) -> None:
        super().__init__(f"{dependency}: {message}")
        self.dependency = dependency


class Unanswered(DependencyUnavailable):
    """Something outside took a call and did not answer in time.

    Tried again like the rest; but a record that alone is never answered, while others are, is dead-lettered.
    """


class ConsistencyError(SwitchboardError):
    """Going on would lose or invent data.  The worker stops; the message names the way out."""
