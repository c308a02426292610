"""Turns of tenants: which of the waiting records a stage that calls out takes next.

Records wait by tenant, in the order of the log.  A *turn* takes some of them to one call of the step; a tenant
has one turn at a time, so the order of its records holds, and turns of several tenants go on beside each other.
A tenant with little waiting has its turn at once.  Of those with a backlog a few have theirs at a time, each as
many records as its share of a batch, one tenant after the other (round robin; a record is a call, whatever its
size).  A tenant alone gets whole batches.

The order of a key holds, whatever tenants its records name: while one of them waits, or is at work, those that
follow belong to the same tenant.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import islice
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")

#: What part of a batch a tenant may have waiting, and still counts as one without a backlog.
_LITTLE = 8

#: Turns at once: of tenants with a backlog, and of the others.
BACKLOG_TURNS = 4
LITTLE_TURNS = 4


class _Waiting(NamedTuple, Generic[T]):
    place: int
    key: bytes | None
    item: T
    size: int


class Turn(NamedTuple, Generic[T]):
    """Items that are taken to one call, in the order in which they came, and whose they are."""

    tenants: tuple[str, ...]
    items: Sequence[T]
    keys: Sequence[bytes | None]
    from_backlog: bool


class Turns(Generic[T]):
    """Items that wait, and whose turn it is.

    A turn has at most ``most_items``, and their sizes at most ``most_bytes``; a single one may be larger.
    """

    def __init__(self, most_items: int, most_bytes: int) -> None:
        self._most_items = most_items
        self._most_bytes = most_bytes
        self._little = max(1, most_items // _LITTLE)
        self._places = 0
        self._waiting: dict[str, deque[_Waiting[T]]] = {}
        #: Tenants that wait for a turn, in the order of their turns: those with a backlog, and the others.
        self._backlogs: dict[str, None] = {}
        self._others: dict[str, None] = {}
        self._at_work: dict[str, Turn[T]] = {}
        #: Which tenant the records of a key belong to, and how many of them wait or are at work.
        self._owners: dict[bytes, tuple[str, int]] = {}
        self._turns = {True: 0, False: 0}
        self._taken = {True: 0, False: 0}

    def put(self, tenant: str, key: bytes | None, item: T, size: int) -> None:
        """Have an item wait behind those of its tenant."""
        if key is not None:
            tenant, held = self._owners.get(key, (tenant, 0))
            self._owners[key] = tenant, held + 1
        self._waiting.setdefault(tenant, deque()).append(_Waiting(self._places, key, item, size))
        self._places += 1
        if tenant not in self._at_work:
            self._line_up(tenant)

    def take(self) -> Turn[T] | None:
        """Return the next turn, which is at work until it is :meth:`done`; ``None`` if none may begin now."""
        return self._backlog_turn() or self._little_turn()

    def done(self, turn: Turn[T]) -> None:
        """Let the turn's tenants have another one."""
        self._turns[turn.from_backlog] -= 1
        self._taken[turn.from_backlog] -= len(turn.items)
        for key in turn.keys:
            if key is not None:
                tenant, held = self._owners.pop(key)
                if held > 1:
                    self._owners[key] = tenant, held - 1
        for tenant in turn.tenants:
            del self._at_work[tenant]
            if tenant in self._waiting:
                self._line_up(tenant)

    def first(self) -> T | None:
        """Return an item that waits, ``None`` if none does."""
        return next((waiting[0].item for waiting in self._waiting.values()), None)

    def clear(self) -> list[T]:
        """Take out everything that waits."""
        items = [each.item for waiting in self._waiting.values() for each in waiting]
        for queue in (self._waiting, self._backlogs, self._others):
            queue.clear()
        return items

    # -- whose turn it is -----------------------------------------------------------------------------------

    def _line_up(self, tenant: str) -> None:
        if len(self._waiting[tenant]) > self._little:
            self._others.pop(tenant, None)
            self._backlogs.setdefault(tenant)
        else:
            self._others.setdefault(tenant)

    def _backlog_turn(self) -> Turn[T] | None:
        if not self._backlogs or self._turns[True] == BACKLOG_TURNS:
            return None
        share = self._most_items // (len(self._backlogs) + self._turns[True])
        most = max(self._little, min(share, self._most_items - self._taken[True]))
        tenant = next(iter(self._backlogs))
        del self._backlogs[tenant]
        return self._begin((tenant,), self._cut(tenant, most, self._most_bytes), from_backlog=True)

    def _little_turn(self) -> Turn[T] | None:
        """Take all that some tenants have: of one, or of as many that all get their turns."""
        free = LITTLE_TURNS - self._turns[False]
        room = self._most_items - self._taken[False]
        if not self._others or free == 0 or room <= 0:
            return None
        tenants: list[str] = []
        taken: list[_Waiting[T]] = []
        size = 0
        for tenant in [*islice(self._others, -(-len(self._others) // free))]:
            items = self._waiting[tenant]
            size += sum(each.size for each in items)
            if taken and (len(taken) + len(items) > room or size > self._most_bytes):
                break
            tenants.append(tenant)
            taken += self._cut(tenant, room, self._most_bytes)
        for tenant in tenants:
            del self._others[tenant]
        return self._begin(tuple(tenants), taken, from_backlog=False)

    def _cut(self, tenant: str, most: int, most_bytes: int) -> list[_Waiting[T]]:
        """Take the first items of a tenant, at least one."""
        waiting = self._waiting[tenant]
        taken = [waiting.popleft()]
        size = taken[0].size
        while waiting and len(taken) < most and (size := size + waiting[0].size) <= most_bytes:
            taken.append(waiting.popleft())
        if not waiting:
            del self._waiting[tenant]
        return taken

    def _begin(self, tenants: tuple[str, ...], taken: list[_Waiting[T]], *, from_backlog: bool) -> Turn[T]:
        taken.sort(key=lambda each: each.place)
        turn = Turn(tenants, [each.item for each in taken], [each.key for each in taken], from_backlog)
        self._turns[from_backlog] += 1
        self._taken[from_backlog] += len(taken)
        self._at_work.update(dict.fromkeys(tenants, turn))
        return turn
