"""How much the built-in extractor finds in CarMem's conversations.

``python -m benchmarks.quality.extraction FOLDER [--rules]``.

Each conversation of ``carmem-dev.jsonl`` reveals one preference.  It counts as found when a statement
mentions the revealed attribute: at least half of its words (of its topic's words where the attribute is
only "Yes", "No" or the like), compared by their first five letters.  Printed: that recall by how plainly
the preference was put, statements per conversation, windows per second; ``--rules`` leaves the
embeddings out, ``--misses`` lists the conversations that nothing was found in.  Exits 2 without the file.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from models.messages import Role
from models.ports import ExtractedStatement
from models.windows import Window, WindowMessage, WindowReason, WindowSource
from streams.adapters.builtin_extractor import BuiltinExtractor
from streams.adapters.onnx_embedder import OnnxEmbedder

FILE = "carmem-dev.jsonl"
STEM = 5
STOPWORDS = frozenset(
    (
        *("the", "and", "for", "not", "with", "only", "from", "yes", "first", "degree", "celcius", "price"),
        *("preference", "preferred", "preferences", "favorite", "type", "need", "willingness", "relevant"),
        "considers",
    )
)
_BEGAN = datetime(2025, 1, 1, tzinfo=UTC)


def window(name: str, turns: list[tuple[Role, str]]) -> Window:
    """One window over a whole conversation."""
    messages = tuple(
        WindowMessage(
            message_id=f"{name}-{n}",
            user_id="person",
            role=role,
            content=content,
            sent_at=_BEGAN + timedelta(minutes=n),
            arrived_at=_BEGAN + timedelta(minutes=n),
            index=n,
            offset=n,
        )
        for n, (role, content) in enumerate(turns)
    )
    return Window(
        window_id=name,
        conversation_id=name,
        user_id="person",
        reason=WindowReason.CLOSED,
        message_ids=tuple(message.message_id for message in messages),
        messages=messages,
        from_index=0,
        to_index=len(messages) - 1,
        overlap=0,
        source=WindowSource(topic="carmem", partition=0, first_offset=0, last_offset=len(messages) - 1),
    )


def turns(conversation: dict[str, Any]) -> list[tuple[Role, str]]:
    """The turns of a CarMem conversation."""
    return [
        (Role.USER if speaker == "USER" else Role.ASSISTANT, text)
        for turn in conversation["extraction_conversation"]
        for speaker, text in turn.items()
    ]


def stems(text: str) -> set[str]:
    """The words that count, cut to a stem."""
    words = re.findall(r"[a-z0-9]+", re.sub(r"\(.*?\)", "", text).casefold())
    return {word[:STEM] for word in words if word not in STOPWORDS and (len(word) > 2 or word.isdigit())}


def is_found(preference: str, statements: list[ExtractedStatement]) -> bool:
    """Whether one of the statements mentions what "main; sub; detail; attribute" reveals."""
    *_, detail, attribute = (part.strip() for part in preference.split(";"))
    wanted = stems(attribute) or stems(detail)
    return any(len(wanted & stems(found.statement)) * 2 >= len(wanted) for found in statements)


async def measure(conversations: list[dict[str, Any]], *, rules_only: bool, list_misses: bool) -> None:
    """Extract from all conversations and print the figures."""
    embedder = None if rules_only else OnnxEmbedder()
    extractor = BuiltinExtractor(embedder)
    windows = [window(each["conversation_uuid"], turns(each)) for each in conversations]
    if embedder is not None:
        await embedder.start()
    started = time.perf_counter()
    extracted = await extractor.extract(windows)
    seconds = time.perf_counter() - started
    found: dict[str, list[bool]] = defaultdict(list)
    for each, statements in zip(conversations, extracted, strict=True):
        hit = is_found(each["user_preference"], statements)
        found["all"].append(hit)
        found[each["meta_info"]["preference_strength_modulation"]].append(hit)
        if each["preference_string_in_user_sentences"]:
            found["attribute said by the user"].append(hit)
        if list_misses and not hit:
            print(f"## {each['user_preference']}")
            print("\n".join(f"   {role[0]} {text}" for role, text in turns(each)))
            print("\n".join(f"   -> {statement.statement}" for statement in statements))
    for name, hits in found.items():
        print(f"recall  {name:28} {sum(hits) / len(hits):.3f}  of {len(hits)}")
    print(f"statements per conversation     {sum(map(len, extracted)) / len(extracted):.2f}")
    print(f"windows per second              {len(windows) / seconds:.0f}")
    if embedder is not None:
        await embedder.close()


def main(arguments: list[str]) -> int:
    """Read the folder and measure."""
    options = {argument for argument in arguments if argument.startswith("--")}
    folders = [argument for argument in arguments if argument not in options]
    path = Path(folders[0], FILE) if folders else Path(FILE)
    if len(folders) != 1 or not options <= {"--rules", "--misses"} or not path.is_file():
        print(
            f"usage: python -m benchmarks.quality.extraction FOLDER [--rules] [--misses]   (with {FILE})",
            file=sys.stderr,
        )
        return 2
    people = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    conversations = [conversation for person in people for conversation in person["data"]]
    asyncio.run(measure(conversations, rules_only="--rules" in options, list_misses="--misses" in options))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
