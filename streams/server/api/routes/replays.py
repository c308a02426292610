"""Replays beside the live generation: which there are, and how each compares."""

from __future__ import annotations

import msgspec

from models.errors import NotFound
from streams.server.api.operations import Call, Parameters, Scope, operation
from streams.server.api.problems import UNKNOWN_REPLAY, Problem
from streams.server.replays.beside import Replays, ReplayState
from streams.server.replays.comparison import Comparison


class ReplayParameters(Parameters, frozen=True, kw_only=True):
    """Name of a replay."""

    generation: str


class ReplayList(msgspec.Struct, frozen=True, kw_only=True):
    """The replays on the broker, by name."""

    replays: list[ReplayState]


@operation(
    "GET",
    "/v1/replays",
    scope=Scope.OPERATE,
    links={"compare_replay": {"generation": "/replays/0/generation"}},
)
async def list_replays(call: Call) -> ReplayList:
    """Replays beside the live generation, with their progress, as in `switchboard replay status`."""
    replays: Replays = call.part("replays")
    return ReplayList(replays=await replays.states())


@operation(
    "GET",
    "/v1/replays/{generation}",
    scope=Scope.OPERATE,
    example={"generation": "b"},
    problems=[UNKNOWN_REPLAY],
)
async def compare_replay(call: Call, wanted: ReplayParameters) -> Comparison:
    """A replay beside the live generation: facts, summaries, contexts, costs.

    The same as `switchboard replay compare`. It reads topics from end to end, in a process of its own, and
    answers when that is done. One that is compared already is waited for, and what was found counts for a
    minute (`compared_at`). Examples are of people of all tenants.
    """
    replays: Replays = call.part("replays")
    try:
        return await replays.compare(wanted.generation)
    except NotFound as error:
        raise Problem(UNKNOWN_REPLAY, f"{error}.") from error
