"""Structured logs on stderr: ids and counts, never contents.

Everything goes one way: our own events, and the ``logging`` records of Faust, mode, aiokafka and the rest,
which are let through from WARNING on (aiokafka tells every heartbeat at INFO), and not over and over again
(it tells each of a hundred attempts to reach a broker that is down).  Stdout stays free for data.

Contents cannot slip in by accident: the fields that hold them on the wire are replaced by their length,
and tracebacks are shown without the values of local variables.  Nor can secrets, or what controls a terminal:
every text of a line passes through :mod:`streams.config.redaction` and :mod:`streams.config.printing`.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Literal, TextIO

import structlog
from structlog.typing import EventDict, Processor

from streams.config.printing import printable, printable_lines
from streams.config.redaction import redacted

Level = Literal["debug", "info", "warning", "error"]

#: Fields that are shown as the lines that they are.
_LINES = frozenset({"exception", "stack", "error"})

#: Fields of the wire types that hold what people said.
CONTENT_FIELDS = frozenset(
    {
        "body",
        "content",
        "duplicate_sentence",
        "key_facts",
        "messages",
        "query",
        "quote",
        "similar_sentence",
        "statement",
        "summary",
        "text",
        "value",
    }
)

#: Loggers of our own packages, whose level is the one that was asked for.
_OURS = ("deploy", "models", "processors", "schemas", "streams", "switchboard")

#: How mode begins what it tells of the starting and stopping of each of its parts.
_MACHINERY = "[^"

_REPEAT_SECONDS = 10.0
_REMEMBERED_LINES = 1000


def configure_logging(
    level: Level = "info",
    form: Literal["console", "json"] = "console",
    stream: TextIO | None = None,
    **ids: str,
) -> None:
    """Send all logs of this process to ``stream`` (stderr), ours from ``level`` on, with ``ids`` in each line.

    To be called once, before anything logs; a second call replaces the first.
    """

    def identify(logger: object, method: str, event: EventDict) -> EventDict:
        for name, value in ids.items():
            event.setdefault(name, value)
        return event

    out = stream if stream is not None else sys.stderr
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        identify,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _without_contents,
    ]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.stdlib.add_logger_name,
            structlog.stdlib.PositionalArgumentsFormatter(),
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(out)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.add_logger_name, structlog.stdlib.ExtraAdder(), *shared],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *_renderers(form, out)],
        )
    )
    handler.addFilter(Calm())
    _route(handler, level)


class Calm(logging.Filter):
    """Lets a library's line through once in ten seconds, then with how often it came meanwhile.

    What mode tells of its parts (``[^--Consumer]: Starting...``) is let through from WARNING on, even where
    it speaks through a logger of ours, because we subclass its services.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._seen: dict[tuple[str, str], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        text = str(record.msg)
        if text.startswith(_MACHINERY) and record.levelno < logging.WARNING:
            return False
        if record.name.split(".")[0] in _OURS:
            return True
        if len(self._seen) > _REMEMBERED_LINES:
            self._seen.clear()
        now, line = self._clock(), (record.name, text)
        since, times = self._seen.get(line, (-_REPEAT_SECONDS, 0))
        if now - since < _REPEAT_SECONDS:
            self._seen[line] = (since, times + 1)
            return False
        self._seen[line] = (now, 0)
        if times:
            record.msg = f"{text} (and {times} times before)"
        return True


def get_logger(name: str, **ids: str | int) -> structlog.stdlib.BoundLogger:
    """Return the logger of a module, with ``ids`` in every line that it writes."""
    logger: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(name, **ids)
    return logger


def _renderers(form: str, out: TextIO) -> list[Processor]:
    # plain tracebacks: structlog's default shows local variables, and those hold messages
    shown: list[Processor] = [structlog.processors.format_exc_info, _fit_to_be_seen]
    if form == "json":
        return [*shown, structlog.processors.JSONRenderer()]
    return [
        *shown,
        structlog.dev.ConsoleRenderer(
            colors=out.isatty(), exception_formatter=structlog.dev.plain_traceback, pad_event_to=0
        ),
    ]


def _fit_to_be_seen(logger: object, method: str, event: EventDict) -> MutableMapping[str, Any]:
    return {key: _seen(value, key in _LINES) for key, value in event.items()}


def _seen(value: Any, lines: bool = False) -> Any:
    """Return a value without secrets and without what controls a terminal; ``lines``: keep line ends."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(key): _seen(each) for key, each in value.items()}
    if isinstance(value, Sequence | AbstractSet) and not isinstance(value, str | bytes):
        return [_seen(each) for each in value]
    text = redacted(value if isinstance(value, str) else repr(value))
    return printable_lines(text) if lines else printable(text)


def _route(handler: logging.Handler, level: Level) -> None:
    root = logging.getLogger()
    for old in list(root.handlers):
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    for name in _OURS:
        logging.getLogger(name).setLevel(level.upper())
    for name, logger in logging.root.manager.loggerDict.items():
        if isinstance(logger, logging.Logger) and name.split(".")[0] not in _OURS:
            _defer_to_root(logger)
    logging.captureWarnings(True)


def _defer_to_root(logger: logging.Logger) -> None:
    """Undo what a library set up for itself, so that its records meet the root's handler and level."""
    logger.handlers.clear()
    logger.propagate = True
    logger.setLevel(logging.NOTSET)


def _without_contents(logger: object, method: str, event: EventDict) -> MutableMapping[str, Any]:
    for field in CONTENT_FIELDS & event.keys():
        value = event[field]
        if value is not None and not isinstance(value, bool | int | float):
            event[field] = f"<{len(value)} long>" if hasattr(value, "__len__") else f"<{type(value).__name__}>"
    return event
