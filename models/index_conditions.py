"""Conditions on the fields of an index's items, as a filter states and an engine evaluates them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, Protocol, TypeAlias


class AnyOf(NamedTuple):
    """The field must have one of these values."""

    field: str
    values: tuple[str, ...]


class Within(NamedTuple):
    """The field, a number or a time, must be at least ``start`` and below ``end``; ``None`` bounds nothing.

    ``usual``: every item has the field, and most are within, so that an engine does better to leave out what is
    not than to look up what is.
    """

    field: str
    start: float | datetime | None = None
    end: float | datetime | None = None
    usual: bool = False

    def beyond(self) -> list[Within]:
        """Return the ranges of which an item is in one exactly if it is not in this one."""
        below = [] if self.start is None else [Within(self.field, None, self.start)]
        return below if self.end is None else [*below, Within(self.field, self.end)]


class NoneOf(NamedTuple):
    """An item must not meet all of these conditions."""

    conditions: tuple[AnyOf | Within, ...]


#: A condition on an item's fields.
Condition: TypeAlias = AnyOf | Within | NoneOf


class Where(Protocol):
    """Search filter.  A filter always names a person and a tenant."""

    def conditions(self) -> Sequence[Condition]:
        """Return the conditions on an item's fields; all must hold."""
        ...


def must_and_must_not(where: Where) -> tuple[list[AnyOf | Within], list[Within | NoneOf]]:
    """Split a filter's conditions: those that must all hold, and those of which none may hold.

    A :class:`NoneOf` among the latter: its conditions may not hold together.
    """
    must: list[AnyOf | Within] = []
    must_not: list[Within | NoneOf] = []
    for each in where.conditions():
        if isinstance(each, NoneOf):
            must_not.append(each)
        elif isinstance(each, Within) and each.usual:
            must_not += each.beyond()
        else:
            must.append(each)
    return must, must_not
