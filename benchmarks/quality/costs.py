"""What a week of conversations costs with Gemini, at list prices: the real prompts, to the scripted model.

``python -m benchmarks.quality.costs [--people 30] [--messages 200]``.  People and what they say are made up;
each window is asked about alone, as it is when a conversation goes on live (a backlog shares calls and costs
less).  Tokens are counted in cl100k, which takes about as many as Gemini's own vocabulary.
"""

from __future__ import annotations

import argparse
import asyncio
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import msgspec

from deploy.local.model_server import ModelServer
from models.messages import Role
from models.summaries import SummaryRequest
from models.windows import Window, WindowMessage, WindowReason, WindowSource
from processors.prompts import extraction, summary
from processors.prompts.prompt import Prompt
from processors.text.tokens import message_tokens
from streams.adapters.gemini.answers import Said
from streams.adapters.gemini.client import GeminiClient
from streams.adapters.gemini.prices import PRICES, cost
from streams.adapters.tokenizer import cl100k_counter
from streams.settings import Settings

DAYS = 7

_OPENINGS = ("By the way,", "You know,", "Honestly,", "So,", "Well,", "Today", "This week", "Last night")
_THINGS = (
    "I tried the new bakery near the station and the rye bread was better than I had expected",
    "my sister called and we talked about the trip to the lake that we have put off since spring",
    "I like to run before work, but my knee has been hurting for two weeks",
    "I need to finish the slides for Thursday and I have no idea how to begin",
    "I moved my desk to the window and it is much easier to concentrate now",
    "the landlord wants to raise the rent again, so I am looking at other flats",
    "please keep it short, I am on the train",
    "I am allergic to hazelnuts, so the cake was out of the question",
    "we adopted an old cat and she sleeps on the keyboard",
    "what would you cook for six people who do not eat meat?",
)
_ANSWERS = (
    "That sounds good. Would you like some suggestions for how to go on, or shall we leave it at that?",
    "Here is what I would do: begin with the part that worries you most, write three lines about it, and stop.",
    "Noted. I will keep that in mind for the next time that we plan something like it.",
    "There are a few ways to look at it. The simplest is to ask them directly and see what they say.",
)


def said(rng: random.Random, count: int) -> list[WindowMessage]:
    """Return a week's messages of a person, who and the assistant take turns."""
    began = datetime(2026, 3, 2, 8, tzinfo=UTC)
    found = []
    for n in range(count):
        by_person = n % 2 == 0
        at = began + timedelta(days=DAYS) * n / count
        text = f"{rng.choice(_OPENINGS)} {rng.choice(_THINGS)}." if by_person else rng.choice(_ANSWERS)
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


class Row(msgspec.Struct):
    """Calls and tokens of a purpose."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


async def measure(people: int, per_day: int, seed: int) -> dict[str, Row]:
    """Ask about everybody's week and return what it took, by purpose."""
    count, rng = cl100k_counter(), random.Random(seed)
    rows = {"extraction": Row(), "summary": Row()}
    async with ModelServer() as server:
        settings = Settings(gemini_url=server.url, GEMINI_API_KEY="scripted")
        client = GeminiClient(settings)
        for _ in range(people):
            messages = said(rng, per_day * DAYS)
            asked: list[tuple[str, Prompt]] = [
                ("extraction", extraction.prompt([each])) for each in windows(messages, settings)
            ]
            asked += [("summary", summary.prompt(each)) for each in requests(messages, settings)]
            for purpose, prompt in asked:
                answer = await client.generate(settings.gemini_model, prompt)
                assert isinstance(answer, Said)
                row = rows[purpose]
                row.input_tokens += count(prompt.system) + count(prompt.user) + count(str(prompt.schema))
                row.output_tokens += count(answer.text)
        for purpose, row in rows.items():
            version = {"extraction": extraction.VERSION, "summary": summary.VERSION}[purpose]
            row.calls = sum(f"Task {version}:" in str(call.body["systemInstruction"]) for call in server.calls)
        await client.close()
    return rows


def main() -> None:
    """Entry point of ``python -m benchmarks.quality.costs``."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--people", type=int, default=30)
    parser.add_argument("--messages", type=int, default=200, help="a day, of each")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rows = asyncio.run(measure(options.people, options.messages, options.seed))
    print(f"{options.people} people, {options.messages} messages a day of each, {DAYS} days; US$ a person")
    for model in ("gemini-2.5-flash-lite", "gemini-2.5-flash"):
        total = 0.0
        for purpose, row in rows.items():
            each = cost(PRICES[model], row.input_tokens, row.output_tokens) / options.people
            total += each
            print(
                f"  {model:22} {purpose:10} {row.calls:6,} calls {row.input_tokens:10,} tokens in "
                f"{row.output_tokens:9,} out  {each:.4f}"
            )
        print(f"  {model:22} all {total:.4f}")


if __name__ == "__main__":
    main()
