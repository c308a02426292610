"""Errors of Qdrant Edge, by what a caller can do about them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from models.errors import ConsistencyError, DependencyUnavailable


@contextmanager
def named_errors(folder: Path) -> Iterator[None]:
    """Give the errors of the engine, on the index in ``folder``, their names.

    Raises:
        DependencyUnavailable: the engine fails: the call can be tried again.
        ConsistencyError: it broke off in the middle of the call: the worker stops.
    """
    try:
        yield
    except Exception as error:
        # The engine raises plain Exception; any other class is a mistake of ours, and must be seen.
        if type(error) is not Exception:
            raise
        message = f"the embedded index in {folder} failed: {error}"
        raise DependencyUnavailable("qdrant", message) from error
    except BaseException as error:  # a panic of the engine is no Exception
        if type(error).__name__ != "PanicException":
            raise
        raise ConsistencyError(
            f"the embedded index in {folder} broke off in the middle of a call: {error}. "
            "Start the worker again: it replays its log."
        ) from error
