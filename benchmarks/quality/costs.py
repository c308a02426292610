"""What a week of conversations costs with Gemini, at list prices: the real prompts, to the scripted model.

``python -m benchmarks.quality.costs [--people 30] [--messages 200] [--chats 3]``.  People and what they say
are made up, and nothing is said twice (:mod:`.week`); each window is asked about alone, as it is while people
talk (a backlog shares calls and costs less).  Tokens are counted in cl100k, which takes about as many as the
vocabulary of Gemini.

Everything that a key can be set to do is counted.  *Memory*: each window is read for facts and for the graph,
summaries, one question about near facts a night (:data:`PAIRS` of them), and vectors of turns and facts.
*Chat*: everything that a person says is understood and answered, from a prompt with eight facts and eight
turns; what a model searches for besides is not counted.  It is three quarters of the calls, so a few of the
people are asked about that way (``--chats``).
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import chain

import msgspec

from benchmarks.quality.week import Talk
from deploy.local.model_server import ModelServer
from models.consolidation import Likeness, MergeCluster
from models.context import FoundBy
from models.messages import Role
from models.statements import Kind
from models.summaries import SummaryRequest
from models.turns import Turn, TurnSource
from models.understanding import QueryUnderstanding, QuestionAsked
from models.windows import Window, WindowMessage, WindowReason, WindowSource
from processors.answering.answering import Ask, Rules, answering
from processors.answering.material import Asked, Found
from processors.context.ranking import Candidate
from processors.prompts import answer, extraction, graph, merging, summary, understanding
from processors.prompts.prompt import Prompt
from processors.recall.question import words_of
from processors.text.tokens import TokenCounter, message_tokens
from streams.adapters.gemini.answers import Said
from streams.adapters.gemini.client import GeminiClient
from streams.adapters.gemini.prices import PRICES, cost
from streams.adapters.tokenizer import cl100k_counter
from streams.settings import Settings

DAYS = 7

#: Pairs of near facts of a person, a night, that no rule decides about.
PAIRS = 5

#: Statements that a question may bear on, turns it may refer to, turns in a prompt, and what a search finds.
_STATEMENTS, _REFERRED_TO, _RECENT, _FOUND = 5, 6, 5, 8

#: Purposes of memory, and of a chat.
MEMORY = ("extraction", "graph", "summary", "merging", "embedding")
CHAT = ("understanding", "answer")


def said(talk: Talk, count: int) -> list[WindowMessage]:
    """Return a week's messages of a person, who and the assistant take turns."""
    began = datetime(2026, 3, 2, 8, tzinfo=UTC)
    found = []
    for n, text in enumerate(talk.texts(count)):
        by_person = n % 2 == 0
        at = began + timedelta(days=DAYS) * n / count
        found.append(
            WindowMessage(
                message_id=f"m-{n}",
                user_id="somebody",
                role=Role.USER if by_person else Role.ASSISTANT,
                content=text,
                sent_at=at,
                arrived_at=at,
                index=n,
                offset=n,
            )
        )
    return found


def windows(messages: list[WindowMessage], settings: Settings) -> Iterator[Window]:
    """Yield the windows over a person's messages."""
    step = settings.window_size - settings.window_overlap
    for at in range(0, max(1, len(messages) - settings.window_overlap), step):
        part = tuple(messages[at : at + settings.window_size])
        yield Window(
            window_id=f"w-{at}",
            conversation_id="c",
            user_id="somebody",
            reason=WindowReason.FULL,
            message_ids=tuple(each.message_id for each in part),
            messages=part,
            from_index=part[0].index,
            to_index=part[-1].index,
            overlap=0,
            source=_SOURCE,
        )


def requests(messages: list[WindowMessage], settings: Settings) -> Iterator[SummaryRequest]:
    """Yield a request whenever the messages since the last one exceed the threshold."""
    count = cl100k_counter()
    part: list[WindowMessage] = []
    tokens = 0
    for each in messages:
        part.append(each)
        tokens += message_tokens(each.role.value, each.content, count)
        if tokens > settings.token_threshold:
            yield SummaryRequest(
                request_id=f"r-{each.index}",
                conversation_id="c",
                user_id="somebody",
                from_index=part[0].index,
                to_index=each.index,
                messages=tuple(part),
                tokens=tokens,
                threshold=settings.token_threshold,
                source=_SOURCE,
                arrived_at=each.arrived_at,
            )
            part, tokens = [], 0


_SOURCE = WindowSource(topic="chat.messages.v1", partition=0, first_offset=0, last_offset=0)


def near_facts(messages: Sequence[WindowMessage]) -> list[MergeCluster]:
    """Return pairs of facts that a night's consolidation may ask about."""
    things = [each for each in messages if each.role is Role.USER][: 2 * PAIRS]
    facts = [
        Likeness(
            fact_id=each.message_id,
            statement=each.content,
            kind=Kind.STATE,
            confidence=0.8,
            last_evidence_at=each.sent_at,
        )
        for each in things
    ]
    return [MergeCluster(cluster_id=f"c-{n}", facts=tuple(facts[n : n + 2])) for n in range(0, len(facts), 2)]


def questions(messages: Sequence[WindowMessage], count: TokenCounter) -> Iterator[tuple[str, Prompt]]:
    """Yield what is asked of a model when all that a person says is understood and answered."""
    rules = Rules(count, Settings().answer_tokens, "scripted")
    for n, each in enumerate(messages):
        if each.role is not Role.USER:
            continue
        before = messages[max(0, n - _REFERRED_TO) : n]
        known = [said for said in messages[:n] if said.role is Role.USER]
        facts = tuple(_candidate(said, "f") for said in known[-_FOUND:])
        asked = QuestionAsked(
            query=each.content,
            user_id=each.user_id,
            tenant_id="default",
            turns=[said.content for said in before],
            remembered=[fact.text for fact in facts[:_STATEMENTS]],
        )
        yield "understanding", understanding.prompt(asked)
        meant = QueryUnderstanding(
            query=each.content, is_ambiguous=False, score=0.0, final_augmented_context=each.content
        )
        said_before = tuple(_candidate(said, "t") for said in known[-3 * _FOUND : -2 * _FOUND])
        material = Asked(
            turn=_turn(each),
            understanding=meant,
            recent=tuple(map(_turn, before[-_RECENT:])),
            found=Found(facts, said_before),
        )
        step = next(step for step in answering(material, rules, each.sent_at) if isinstance(step, Ask))
        made = step.dialogue
        yield "answer", Prompt(made.version, made.system, made.user, dict(made.tool or {}), made.most_tokens)


def _turn(message: WindowMessage) -> Turn:
    return Turn(
        turn_id=f"t-{message.index}",
        message_id=message.message_id,
        conversation_id="c",
        user_id=message.user_id,
        role=message.role,
        text=message.content,
        sent_at=message.sent_at,
        arrived_at=message.arrived_at,
        began_at=message.arrived_at,
        index=message.index,
        source=TurnSource(topic="chat.messages.v1", partition=0, offset=message.offset),
    )


def _candidate(message: WindowMessage, kind: str) -> Candidate:
    return Candidate(
        id=f"{kind}-{message.index}",
        text=message.content,
        found_by=FoundBy.MEANING,
        similarity=0.8,
        at=message.sent_at,
        words=tuple(words_of(message.content)),
        message_ids=(message.message_id,),
        conversation_id="earlier",
    )


class Row(msgspec.Struct):
    """Calls and tokens of a purpose."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


VERSIONS = {
    "extraction": extraction.VERSION,
    "graph": graph.VERSION,
    "summary": summary.VERSION,
    "merging": merging.VERSION,
    "understanding": understanding.VERSION,
    "answer": answer.VERSION,
}


async def measure(people: int, per_day: int, chats: int, seed: int) -> dict[str, Row]:
    """Ask about everybody's week, and of some about all that they say; return what it took, by purpose."""
    count, talk = cl100k_counter(), Talk(seed)
    rows = {purpose: Row() for purpose in (*MEMORY, *CHAT)}
    async with ModelServer() as server:
        settings = Settings.model_validate({"gemini_url": server.url, "GEMINI_API_KEY": "scripted"})
        client = GeminiClient(settings)
        for person in range(people):
            messages = said(talk, per_day * DAYS)
            asked = [_asked(messages, settings, count)]
            if person < chats:
                asked.append(questions(messages, count))
            for purpose, prompt in chain.from_iterable(asked):
                found = await client.generate(settings.gemini_model, prompt)
                assert isinstance(found, Said)
                row = rows[purpose]
                row.input_tokens += count(prompt.system) + count(prompt.user) + count(str(prompt.schema))
                row.output_tokens += count(found.text)
            # A turn each, and of what a person says a fact.
            row, texts = rows["embedding"], [each.content for each in messages]
            texts += [each.content for each in messages if each.role is Role.USER]
            row.input_tokens += sum(map(count, texts))
            row.calls += -(-len(texts) // settings.call_batch_records)
            # What is counted are the calls that came; what they said is not kept for thirty people.
            for call in server.calls:
                task = str(call.body.get("systemInstruction"))
                for purpose, version in VERSIONS.items():
                    rows[purpose].calls += f"Task {version}:" in task
            server.calls.clear()
        await client.close()
    return rows


def _asked(
    messages: list[WindowMessage], settings: Settings, count: TokenCounter
) -> Iterator[tuple[str, Prompt]]:
    """Yield what is asked of a model to remember a person's week."""
    for each in windows(messages, settings):
        yield "extraction", extraction.prompt([each])
        yield "graph", graph.prompt(each)
    for request in requests(messages, settings):
        yield "summary", summary.prompt(request)
    day = len(messages) // DAYS
    for night in range(DAYS):
        yield "merging", merging.prompt(near_facts(messages[night * day :]))


def costs(rows: Mapping[str, Row], model: str, people: int, chats: int) -> dict[str, float]:
    """Return what a person's week costs, by purpose (US$)."""
    found = {}
    for purpose, row in rows.items():
        price = PRICES["gemini-embedding-001" if purpose == "embedding" else model]
        asked_about = chats if purpose in CHAT else people
        found[purpose] = cost(price, row.input_tokens, row.output_tokens) / max(1, asked_about)
    return found


def main() -> None:
    """Entry point of ``python -m benchmarks.quality.costs``."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--people", type=int, default=30)
    parser.add_argument("--messages", type=int, default=200, help="a day, of each")
    parser.add_argument("--chats", type=int, default=3, help="people of whom all is understood and answered")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chats = min(options.chats, options.people)
    rows = asyncio.run(measure(options.people, options.messages, chats, options.seed))
    print(
        f"{options.people} people (chat: {chats}), {options.messages} messages a day of each, {DAYS} days; "
        "US$ a person"
    )
    for model in ("gemini-2.5-flash-lite", "gemini-2.5-flash"):
        spent = costs(rows, model, options.people, chats)
        for purpose, row in rows.items():
            print(
                f"  {model:22} {purpose:13} {row.calls:7,} calls {row.input_tokens:11,} tokens in "
                f"{row.output_tokens:10,} out  {spent[purpose]:.4f}"
            )
        memory, chat = (sum(spent[each] for each in part) for part in (MEMORY, CHAT))
        print(f"  {model:22} memory {memory:.4f}  chat {chat:.4f}")


if __name__ == "__main__":
    main()
