"""Share of questions whose evidence is in the context prepared for them, and the tokens that it takes.

``python -m benchmarks.quality.context FOLDER [--chats N] [--turns] [--json FILE]``.  ``--turns``: as if no
episodes were known, only turns.

*BEAM* (``beam-dev.jsonl``): each chat is read by the built-in extractor, window by window; then each question
of the kinds ``instruction_following`` and ``preference_following`` is a new turn of another conversation.  It
counts when something in the prompt rests on one of its source messages: as an instruction, and as anything.

*PrefEval* (``prefeval-explicit-dev.json``): the preference is said in a conversation, the question asked in
another, by people who have one, ten, or all of a topic's.  It counts as in the prompt when something rests on
its message.  Exits 2 without the files.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from models import ids
from models.context import Context, ContextRequest, Tier
from models.episodes import Episode
from models.facts import Fact
from models.index import VectorSpace
from models.messages import Role
from models.turns import Turn, TurnSource
from models.vectors import EmbeddingRequest
from models.windows import Window, WindowMessage, WindowReason, WindowSource
from processors.facts.candidates import objection, to_candidate
from processors.retrieval.embedding.wording import EMBEDDED_CHARACTERS
from streams.agents.contexts.making import ContextMaker
from streams.agents.memory.facts import FACTS, Facts
from streams.agents.recall.episodes import EPISODES, Episodes
from streams.agents.recall.punctuations import TURNS as TURNS_TOPIC
from streams.agents.vectors.queue import VectorQueue
from streams.agents.vectors.requests import REQUESTS as EMBEDDING_REQUESTS
from streams.config.settings import Settings
from streams.llm.builtin_extractor import BuiltinExtractor
from streams.llm.onnx_embedder import OnnxEmbedder
from streams.llm.onnx_reader import OnnxReader
from streams.llm.tokenizer import cl100k_counter
from streams.runtime.testing import StageHarness
from streams.stores.index_factory import open_index
from streams.stores.qdrant_kinds import EPISODES as EPISODES_KIND
from streams.stores.qdrant_kinds import FACTS as FACTS_KIND
from streams.stores.qdrant_kinds import TURNS

BEAM, PREFEVAL = "beam-dev.jsonl", "prefeval-explicit-dev.json"
KINDS = ("instruction_following", "preference_following")
WINDOW, OVERLAP = 10, 3
_BEGAN = datetime.now(UTC) - timedelta(days=20)

Said = Sequence[tuple[Role, str]]


class NoLog:
    """A conversation that has no turns before."""

    async def at(self, tenant_id: str, indices: Mapping[str, Sequence[int]]) -> list[Turn]:
        return []


class Memory:
    """One index of facts and of turns, for all who are measured."""

    def __init__(self, resources: AsyncExitStack, folder: Path, *, with_episodes: bool = True) -> None:
        self.embedder = OnnxEmbedder(threads=2, cache_size=20_000)
        resources.push_async_callback(self.embedder.close)
        space = VectorSpace(self.embedder.model, self.embedder.dimensions)
        settings = Settings(data_dir=folder)
        self.facts, self.turns = (open_index(settings, kind, space) for kind in (FACTS_KIND, TURNS))
        self.episodes = open_index(settings, EPISODES_KIND, space) if with_episodes else None
        for index in (self.facts, self.turns, self.episodes):
            if index is not None:
                resources.push_async_callback(index.close)
        vectors = VectorQueue(self.embedder)
        resources.push_async_callback(vectors.close)
        self.maker = ContextMaker(
            self.facts, self.turns, vectors, NoLog(), cl100k_counter(), episodes=self.episodes
        )

    async def learn(self, person: str, said: Said) -> list[Fact]:
        """Store the turns of a conversation, and the facts that are learned of it."""
        turns = [_turn(person, person, number, role, text) for number, (role, text) in enumerate(said)]
        await self.turns.upsert(turns)
        texts = {turn.turn_id: turn.text[:EMBEDDED_CHARACTERS].strip() for turn in turns if turn.text.strip()}
        await self.turns.store_vectors(
            [*texts], await self.embedder.embed([*texts.values()]), self.embedder.model
        )
        await self._remember(turns)
        harness = StageHarness(Facts(Settings()).stage())
        extractor = BuiltinExtractor(OnnxReader())
        for window in _windows(turns):
            (read,) = await extractor.extract([window])
            for each in read.statements:
                if objection(each, window) is None:
                    harness.feed(harness.record(to_candidate(each, window, "rules")))
        facts = [*{fact.fact_id: fact for fact in harness.values(FACTS, Fact)}.values()]
        if facts:
            await self.facts.upsert(facts)
            vectors = await self.embedder.embed([fact.statement for fact in facts])
            await self.facts.store_vectors([fact.fact_id for fact in facts], vectors, self.embedder.model)
        return facts

    async def _remember(self, turns: Sequence[Turn]) -> None:
        """Store the full episodes of a conversation; what is not in one yet is found turn by turn."""
        if self.episodes is None:
            return
        harness = StageHarness(Episodes(Settings()).stage())
        harness.feed(*[harness.record(turn, TURNS_TOPIC, key=turn.turn_id.encode()) for turn in turns])
        if not (found := harness.values(EPISODES, Episode)):
            return
        await self.episodes.upsert(found)
        asked = {each.id: each.text for each in harness.values(EMBEDDING_REQUESTS, EmbeddingRequest)}
        vectors = await self.embedder.embed([*asked.values()])
        await self.episodes.store_vectors([*asked], vectors, self.embedder.model)

    async def context(self, person: str, question: str) -> Context:
        """Return the context after a question in a new conversation."""
        turn = _turn(person, f"{person}-asks", 0, Role.USER, question)
        request = ContextRequest(turns=(turn,), conversation_id=turn.conversation_id)
        (made,) = await self.maker.make([request], 60.0)
        assert made is not None
        return made


def _turn(person: str, conversation: str, number: int, role: Role, text: str) -> Turn:
    at = _BEGAN + timedelta(minutes=number)
    return Turn(
        turn_id=ids.turn_id("default", conversation, f"{conversation}-{number}"),
        message_id=f"{conversation}-{number}",
        conversation_id=conversation,
        user_id=person,
        role=role,
        text=text,
        sent_at=at,
        arrived_at=at,
        began_at=_BEGAN,
        index=number,
        source=TurnSource(topic="chat.messages.v1", partition=0, offset=number),
    )


def _windows(turns: Sequence[Turn]) -> list[Window]:
    found = []
    for first in range(0, max(1, len(turns) - OVERLAP), WINDOW - OVERLAP):
        some = turns[first : first + WINDOW]
        messages = tuple(
            WindowMessage(
                message_id=turn.message_id,
                user_id=turn.user_id,
                role=turn.role,
                content=turn.text,
                sent_at=turn.sent_at,
                arrived_at=turn.arrived_at,
                index=turn.index,
                offset=turn.index,
            )
            for turn in some
        )
        found.append(
            Window(
                window_id=f"{some[0].message_id}-{some[-1].message_id}",
                conversation_id=some[0].conversation_id,
                user_id=some[0].user_id,
                reason=WindowReason.FULL,
                message_ids=tuple(message.message_id for message in messages),
                messages=messages,
                from_index=some[0].index,
                to_index=some[-1].index,
                overlap=OVERLAP if first else 0,
                source=WindowSource(
                    topic="chat.messages.v1",
                    partition=0,
                    first_offset=some[0].index,
                    last_offset=some[-1].index,
                ),
            )
        )
    return found


def rests_on(context: Context, sources: set[str], *tiers: Tier) -> bool:
    """Say whether something in the prompt, of these tiers, rests on one of the messages."""
    return any(
        item.left_out is None and item.tier in tiers and sources.intersection(item.message_ids)
        for item in context.items
    )


class Tally:
    """Hits in the prompt, and their cost."""

    def __init__(self) -> None:
        self.known: list[bool] = []
        self.told: list[bool] = []
        self.any: list[bool] = []
        self.tokens: list[int] = []

    def add(self, context: Context, sources: set[str], facts: Sequence[Fact]) -> None:
        """Count one question; ``facts`` are all that is known of the person."""
        self.known.append(
            any(
                sources.intersection(name for each in fact.provenance for name in each.message_ids)
                for fact in facts
            )
        )
        self.told.append(rests_on(context, sources, Tier.INSTRUCTIONS))
        self.any.append(rests_on(context, sources, Tier.INSTRUCTIONS, Tier.FACTS, Tier.EPISODES))
        self.tokens.append(context.tokens)

    def figures(self) -> dict[str, float]:
        """Return shares, and tokens."""
        return {
            "questions": len(self.any),
            "a fact rests on it": statistics.mean(self.known),
            "in the prompt as an instruction": statistics.mean(self.told),
            "in the prompt": statistics.mean(self.any),
            "tokens, mean": statistics.mean(self.tokens),
            "tokens, most": max(self.tokens),
        }


async def beam(
    memory: Memory, rows: Sequence[dict[str, Any]], chats: int, missed: list[str]
) -> dict[str, Tally]:
    """Measure the questions that an instruction or a preference bears on."""
    tallies: dict[str, Tally] = defaultdict(Tally)
    for row in rows[:chats]:
        person = str(row["chat"])
        said = [(Role(message["role"]), message["content"]) for message in row["messages"]]
        facts = await memory.learn(person, said)
        numbers = {message["id"]: number for number, message in enumerate(row["messages"])}
        for question in row["questions"]:
            if question["kind"] not in KINDS or not question["source_ids"]:
                continue
            sources = {f"{person}-{numbers[each]}" for each in question["source_ids"] if each in numbers}
            made = await memory.context(person, question["question"])
            tallies[question["kind"]].add(made, sources, facts)
            if not rests_on(made, sources, Tier.INSTRUCTIONS, Tier.FACTS, Tier.EPISODES):
                missed.append(f"{person} {question['kind']}: {question['source_ids']}")
    return tallies


async def prefeval(memory: Memory, topics: Mapping[str, Sequence[dict[str, str]]], size: int) -> Tally:
    """Measure the preferences of people who have ``size`` of them each, of one topic."""
    tally = Tally()
    people = {
        f"{topic}-{size}-{first}": rows[first : first + size]
        for topic, rows in topics.items()
        for first in range(0, len(rows), size)
    }
    for topic, rows in people.items():
        said: list[tuple[Role, str]] = []
        for row in rows:
            said += [(Role.USER, row["preference"]), (Role.ASSISTANT, "Thank you, I will keep that in mind.")]
        facts = await memory.learn(topic, said)
        for number, row in enumerate(rows):
            made = await memory.context(topic, row["question"])
            tally.add(made, {f"{topic}-{2 * number}"}, facts)
    return tally


async def measure(
    topics: Mapping[str, Sequence[dict[str, str]]],
    rows: Sequence[dict[str, Any]],
    chats: int,
    *,
    with_episodes: bool,
) -> dict[str, Any]:
    """Return the figures by set."""
    began, missed = time.monotonic(), list[str]()
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="switchboard-context-") as place:
        async with AsyncExitStack() as resources:
            memory = Memory(resources, Path(place), with_episodes=with_episodes)
            for size in (1, 10, 1000):
                name = f"prefeval, {size} of a topic to a person"
                figures[name] = (await prefeval(memory, topics, size)).figures()
            for kind, tally in (await beam(memory, rows, chats, missed)).items():
                figures[f"beam {kind}"] = tally.figures()
    return figures | {"missed": missed, "seconds": round(time.monotonic() - began, 1)}


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.context", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--chats", type=int, default=1000, help="how many of BEAM's chats (default: all)")
    parser.add_argument("--turns", action="store_true", help="without episodes")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    given = parser.parse_args()
    if lacking := [name for name in (BEAM, PREFEVAL) if not (given.folder / name).is_file()]:
        print(f"{given.folder} has no {' and no '.join(lacking)}", file=sys.stderr)
        return 2
    topics = json.loads((given.folder / PREFEVAL).read_text())
    rows = [json.loads(line) for line in (given.folder / BEAM).read_text().splitlines()]
    figures = asyncio.run(measure(topics, rows, given.chats, with_episodes=not given.turns))
    for name, found in figures.items():
        if isinstance(found, dict):
            print(name)
            for what, value in found.items():
                print(
                    f"  {what:<34} {value:>9,.3f}" if isinstance(value, float) else f"  {what:<34} {value:>9,}"
                )
    print(f"not in the prompt: {'; '.join(figures['missed']) or 'none'}\n{figures['seconds']} s")
    if given.json:
        given.json.write_text(json.dumps(figures, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
