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

    ``usual``: every item has the field, and most are within.  An engine then excludes the others, which is
    cheaper than looking up those within.
    """

    field: str
    start: float | datetime | None = None
    end: float | datetime | None = None
    usual: bool = False

    def beyond(self) -> list[Within]:
        """Return the complement of this range, as at most two ranges."""
        below = [] if self.start is None else [Within(self.field, None, self.start)]
        return below if self.end is None else [*below, Within(self.field, self.end)]


class NoneOf(NamedTuple):
    """The conditions must not all hold for an item."""

    conditions: tuple[AnyOf | Within, ...]


#: A condition on an item's fields.
Condition: TypeAlias = AnyOf | Within | NoneOf


class Where(Protocol):
    """Search filter.  A filter always names a person and a tenant."""

    def conditions(self) -> Sequence[Condition]:
        """Return the conditions on an item's fields; all must hold."""
        ...


def must_and_must_not(where: Where) -> tuple[list[AnyOf | Within], list[Within | NoneOf]]:
    """Split a filter's conditions into those that must all hold and those that must each fail.

    A :class:`NoneOf` fails if any of its conditions does.
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
