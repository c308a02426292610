"""Cost of a week of conversations with Gemini, at list prices: the real prompts, to the scripted model.

``python -m benchmarks.quality.costs [--people 30] [--messages 200] [--chats 3] [--lengths short]``.  People and
what they say are made up (:mod:`.week`); they talk in ten sittings a day, and the stages of conversations and
of summaries themselves say what becomes a window and a request.  Each window is asked about alone, as it is
while people talk (a backlog shares calls and costs less).  Tokens are counted in cl100k, which takes about as
many as the vocabulary of Gemini.

Everything that a key can be set to do is counted.  *Memory*: each window is read for facts and for the graph,
summaries, one question about near facts a night (:data:`PAIRS` of them), and vectors of turns, episodes and
facts.  *Chat*: everything that a person says is understood and answered, from a prompt with eight facts and
eight turns; what a model searches for besides is not counted.  It is three quarters of the calls, so a few of
the people are asked about that way (``--chats``).
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from statistics import fmean
from typing import Any, NamedTuple

import msgspec

from benchmarks.quality.chat_questions import Remembered, questions
from benchmarks.quality.week import Chat, Talk
from deploy.local.model_server import ModelServer
from models.consolidation import Likeness, MergeCluster
from models.messages import ChatMessage, Role
from models.ports import Summarized
from models.statements import Statement
from models.summaries import Summary, SummaryRequest
from models.turns import Turn, TurnSource
from models.windows import Window
from processors.conversations.episodes.state import kept
from processors.conversations.episodes.wording import embedded_text
from processors.prompts import answer, extraction, merging, notes, summary, understanding
from processors.prompts.prompt import Prompt
from processors.retrieval.embedding.wording import EMBEDDED_CHARACTERS, text_of
from processors.text.tokens import TokenCounter
from streams.agents.ingest.conversations import REQUESTS, Conversations
from streams.agents.memory.summaries import Summaries
from streams.clients.topics import SUMMARIES, WINDOWS
from streams.config.settings import Settings
from streams.llm.factory import provider
from streams.llm.port import Answer, Provider, Usage
from streams.llm.prices import cost, listed
from streams.llm.tokenizer import cl100k_counter
from streams.runtime.testing import StageHarness

DAYS = 7

#: Pairs of near facts of a person, a night, that no rule decides about.
PAIRS = 5

#: Times a day at which somebody talks, between two messages then, and from the first of a day to the last.
SITTINGS, BETWEEN, AWAKE = 10, timedelta(seconds=40), timedelta(hours=14)

#: Purposes of memory, and of a chat.
MEMORY = ("extraction", "summary", "merging", "embedding")
CHAT = ("understanding", "answer")

VERSIONS = {
    "extraction": extraction.WITH_GRAPH,
    "summary": summary.VERSION,
    "merging": merging.VERSION,
    "understanding": understanding.VERSION,
    "answer": answer.VERSION,
}

_BEGAN = datetime(2026, 3, 2, 8, tzinfo=UTC)


class Row(msgspec.Struct):
    """Calls and tokens of a purpose."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


class Measured(NamedTuple):
    """Calls and tokens by purpose, and the mean length of messages (tokens) by role."""

    rows: dict[str, Row]
    lengths: dict[Role, float]


def said(talk: Talk, per_day: int) -> list[ChatMessage]:
    """Return a week's messages of a person, who and the assistant take turns, in sittings."""
    found = list[ChatMessage]()
    each, apart = -(-per_day // SITTINGS), AWAKE / SITTINGS
    for day in range(DAYS):
        for number, text in enumerate(talk.texts(per_day)):
            after = number // each * apart + number % each * BETWEEN
            found.append(
                ChatMessage(
                    message_id=f"m-{len(found)}",
                    conversation_id="c",
                    user_id="somebody",
                    role=Role.USER if number % 2 == 0 else Role.ASSISTANT,
                    content=text,
                    sent_at=_BEGAN + timedelta(days=day) + after,
                )
            )
    return found


class Model:
    """Asks the scripted model, and counts what that takes."""

    name = "scripted"

    def __init__(self, client: Provider, rows: dict[str, Row], count: TokenCounter) -> None:
        self._client = client
        self.rows = rows
        self._count = count

    async def ask(self, purpose: str, prompt: Prompt) -> str:
        """Return the scripted model's answer."""
        found = await self._client.generate(prompt)
        assert isinstance(found, Answer)
        row, count = self.rows[purpose], self._count
        row.input_tokens += count(prompt.system) + count(prompt.user) + count(json.dumps(prompt.schema))
        row.output_tokens += count(found.text)
        return found.text

    async def summarize(self, request: SummaryRequest) -> Summarized:
        """Implements :class:`models.ports.Summarizer`."""
        return Summarized(summary.read(await self.ask("summary", summary.prompt(request)), request))

    def embed(self, texts: Sequence[str], per_call: int) -> None:
        """Count the vectors of texts."""
        row = self.rows["embedding"]
        row.input_tokens += sum(map(self._count, texts))
        row.calls += -(-len(texts) // per_call)


async def remember(messages: Sequence[ChatMessage], model: Model, settings: Settings) -> Remembered:
    """Let the stages make windows and requests of a week, and ask the model about them."""
    count = cl100k_counter()
    ingest = StageHarness(Conversations(settings, count).stage())
    summaries = StageHarness(Summaries(settings, model, count).stage())
    turns, statements, seen = list[Turn](), list[tuple[datetime, Statement]](), 0
    for message in messages:
        ingest.arrived = message.sent_at
        ingest.feed(ingest.record(message))
        turns.append(_turn(message, len(turns)))
        while seen < len(ingest.outputs):
            output = ingest.outputs[seen]
            seen += 1
            if output.topic == WINDOWS:
                window = msgspec.json.decode(output.value or b"", type=Window)
                statements += [(message.sent_at, each) for each in await _read(window, model)]
            elif output.topic == REQUESTS:
                await summaries.call(summaries.record(output.value, key=output.key))
                ingest.feed(ingest.record(summaries.values(SUMMARIES, Summary)[-1], SUMMARIES))
    step = settings.episode_size - settings.episode_overlap
    episodes = [turns[at : at + settings.episode_size] for at in range(0, len(turns), step)]
    texts = [each.text[:EMBEDDED_CHARACTERS] for each in turns]
    texts += [embedded_text([*map(kept, each)]) for each in episodes]
    texts += [text_of(each.statement) for _, each in statements]
    model.embed(texts, settings.call_batch_records)
    return Remembered(turns, statements)


async def _read(window: Window, model: Model) -> Iterable[Statement]:
    """Ask about a window alone; return what is stated that the one before did not."""
    prompt = extraction.prompt([window], with_graph=True)
    (part,) = extraction.parts(await model.ask("extraction", prompt), [window])
    new = {*window.message_ids[window.overlap :]}
    return [each for each in notes.read(part, window).statements if new & {*each.source_message_ids}]


def nights(found: Remembered) -> Iterator[Prompt]:
    """Yield what a night's consolidation may ask about the facts of its day."""
    for day in range(DAYS):
        begins = _BEGAN + timedelta(days=day)
        told = [each for at, each in found.statements if begins <= at < begins + timedelta(days=1)]
        facts = [
            Likeness(
                fact_id=f"f-{n}",
                statement=each.statement,
                kind=each.kind,
                confidence=each.confidence,
                last_evidence_at=begins,
            )
            for n, each in enumerate(told[: 2 * PAIRS])
        ]
        pairs = [tuple(facts[n : n + 2]) for n in range(0, len(facts) - 1, 2)]
        if pairs:
            yield merging.prompt(
                [MergeCluster(cluster_id=f"c-{n}", facts=each) for n, each in enumerate(pairs)]
            )


def _turn(message: ChatMessage, index: int) -> Turn:
    return Turn(
        turn_id=f"t-{index}",
        message_id=message.message_id,
        conversation_id=message.conversation_id,
        user_id=message.user_id,
        role=message.role,
        text=message.content,
        sent_at=message.sent_at,
        arrived_at=message.sent_at,
        began_at=_BEGAN,
        index=index,
        source=TurnSource(topic="chat.messages.v1", partition=0, offset=index),
    )


async def measure(people: int, per_day: int, chats: int, seed: int, chat: Chat = Chat.SHORT) -> Measured:
    """Ask about everybody's week, and of some about all that they say; return what it took, by purpose."""
    count, talk = cl100k_counter(), Talk(seed, chat)
    rows = {purpose: Row() for purpose in (*MEMORY, *CHAT)}
    lengths: dict[Role, list[int]] = {Role.USER: [], Role.ASSISTANT: []}
    async with ModelServer() as server:
        settings = Settings.model_validate({"model_url": server.url, "GEMINI_API_KEY": "scripted"})
        client = provider(settings.model_endpoint)
        model = Model(client, rows, count)
        for person in range(people):
            messages = said(talk, per_day)
            for each in messages:
                lengths[each.role].append(count(each.content))
            found = await remember(messages, model, settings)
            for prompt in nights(found):
                await model.ask("merging", prompt)
            if person < chats:
                for purpose, prompt in questions(found, count):
                    await model.ask(purpose, prompt)
            # What is counted are the calls that came; what they said is not kept for thirty people.
            for call in server.calls:
                task = str(call.body.get("systemInstruction"))
                for purpose, version in VERSIONS.items():
                    rows[purpose].calls += f"Task {version}:" in task
            server.calls.clear()
        await client.close()
    return Measured(rows, {role: fmean(tokens) for role, tokens in lengths.items()})


def costs(rows: Mapping[str, Row], model: str, people: int, chats: int) -> dict[str, float]:
    """Return the cost of a person's week by purpose (US$)."""
    found = {}
    for purpose, row in rows.items():
        name = "gemini-embedding-001" if purpose == "embedding" else model
        price = listed(Settings(model_name=name).model_endpoint)
        asked_about = chats if purpose in CHAT else people
        found[purpose] = cost(price, Usage(row.input_tokens, row.output_tokens)) / max(1, asked_about)
    return found


def main() -> None:
    """Entry point of ``python -m benchmarks.quality.costs``."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--people", type=int, default=30)
    parser.add_argument("--messages", type=int, default=200, help="a day, of each")
    parser.add_argument("--chats", type=int, default=3, help="people of whom all is understood and answered")
    parser.add_argument(
        "--lengths", type=Chat, choices=[*Chat], default=Chat.SHORT, help="of what kind of chat"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="one line, of the cheaper model")
    options = parser.parse_args()
    chats = min(options.chats, options.people)
    rows, lengths = asyncio.run(measure(options.people, options.messages, chats, options.seed, options.lengths))
    if options.json:
        print(json.dumps(_figures(rows, "gemini-2.5-flash-lite", options.people, chats)))
        return
    print(
        f"{options.people} people (chat: {chats}), {options.messages} messages a day of each, {DAYS} days; "
        f"of a person {lengths[Role.USER]:.1f} tokens each, of the assistant {lengths[Role.ASSISTANT]:.1f}; "
        "US$ a person"
    )
    for model in ("gemini-2.5-flash-lite", "gemini-2.5-flash"):
        figures = _figures(rows, model, options.people, chats)
        for purpose, row in rows.items():
            print(
                f"  {model:22} {purpose:13} {row.calls:7,} calls {row.input_tokens:11,} tokens in "
                f"{row.output_tokens:10,} out  {figures['purposes'][purpose]['usd']:.4f}"
            )
        print(f"  {model:22} memory {figures['memory']:.4f}  chat {figures['chat']:.4f}")


def _figures(rows: Mapping[str, Row], model: str, people: int, chats: int) -> dict[str, Any]:
    spent = costs(rows, model, people, chats)
    return {
        "memory": sum(spent[each] for each in MEMORY),
        "chat": sum(spent[each] for each in CHAT),
        "people": people,
        "purposes": {
            purpose: {**msgspec.structs.asdict(row), "usd": spent[purpose]} for purpose, row in rows.items()
        },
    }


if __name__ == "__main__":
    main()
