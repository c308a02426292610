"""Answers of the scripted model: no model at all, but the built-in rules, in the words of the prompts.

A prompt is known by the version that its task begins with.  The text of the conversation is read out of the
block of data, and nothing in it is obeyed.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from hashlib import blake2b
from typing import Any

import msgspec
import numpy as np

from models.consolidation import Decision
from models.messages import Role
from models.statements import Assertion, Polarity, Statement
from models.windows import Window, WindowMessage, WindowReason, WindowSource
from processors.extraction.graph.telling import Reader
from processors.extraction.keeper import judge
from processors.extraction.reading import statements
from processors.extraction.units import units_of
from processors.facts.merging.guards import excludes
from processors.prompts import answer, extraction, fence, merging, summary, understanding
from processors.retrieval.recall.question import words_of
from processors.retrieval.understanding.reading import understand
from processors.summaries.extractive import Scored, roll_up, summarize_messages
from processors.summaries.reading import read as sentences_of
from streams.llm.onnx_model import BuiltIn, Loaded
from streams.llm.onnx_reader import ReaderModel

_CHARACTERS_PER_TOKEN = 4
_SUMMARY_TOKENS = 100


#: Begins an answer that is a call of a tool.
_CALL = "\x00call "


def calling(name: str, arguments: Mapping[str, Any]) -> str:
    """Return an answer that calls a tool."""
    return _CALL + json.dumps({"name": name, "args": dict(arguments)})


def call_in(text: str) -> dict[str, Any] | None:
    """Return the tool call in an answer, ``None`` if it is text."""
    return json.loads(text.removeprefix(_CALL)) if text.startswith(_CALL) else None


def said(body: Mapping[str, Any]) -> str:
    """Return the answer to the body of a request of ``generateContent``."""
    system, user = texts(body)
    if system.startswith(f"Task {answer.VERSION}:"):
        return _answered(body, fence.opened(user))
    for version, read in _ANSWERS.items():
        if system.startswith(f"Task {version}:"):
            return read(fence.opened(user))
    return "This is a scripted model: it answers the prompts of Switchboard."


def texts(body: Mapping[str, Any]) -> tuple[str, str]:
    """Return the task and the material of a request."""
    user = "\n".join(map(_text, body.get("contents", ())))
    return _text(body.get("systemInstruction", {})), user


def _text(content: Mapping[str, Any]) -> str:
    return "".join(part.get("text", "") for part in content.get("parts", ()))


def _answered(body: Mapping[str, Any], records: list[dict[str, Any]]) -> str:
    """Quote what bears on the question; search for it once if nothing that is shown does."""
    question = next((each["text"] for each in records if each["is"] == "question"), "")
    wanted = set(words_of(question))
    shown = [each for each in records if each["is"] in ("standing", "fact", "said before")]
    told = list(_told(body))
    known = [each for each in (*told, *shown) if wanted & set(words_of(each["text"]))] or told
    if not known and body.get("tools") and not _was_told(body):
        return calling(answer.TOOL_NAME, {"query": question[:500], "limit": 3})
    if not known:
        return "I do not know that: nobody has told me."
    return "Here is what I know. " + " ".join(f"“{each['text']}” [{each['n']}]." for each in known[:3])


def _results(body: Mapping[str, Any]) -> list[str]:
    parts = [part for content in body.get("contents", ()) for part in content.get("parts", ())]
    return [
        str(part["functionResponse"].get("response", {}).get("result", ""))
        for part in parts
        if "functionResponse" in part
    ]


def _was_told(body: Mapping[str, Any]) -> bool:
    return bool(_results(body))


def _told(body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the records of what searches found."""
    for result in _results(body):
        if result.startswith("<data"):
            yield from fence.opened(result)


def _extracted(records: list[dict[str, Any]]) -> str:
    return json.dumps({"notes": _notes(records)}, ensure_ascii=False)


def _extracted_and_related(records: list[dict[str, Any]]) -> str:
    said = [each for each in records if "by" in each and "n" in each]
    return json.dumps({"notes": _notes(records), "relations": _related(said)}, ensure_ascii=False)


def _notes(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    by_window: defaultdict[int, list[dict[str, Any]]] = defaultdict(list)
    for record in records:
        if "n" in record:
            by_window[record.get("window", 1)].append(record)
    return [_note(each) for lines in by_window.values() for each in _kept(_window(lines))]


def _kept(window: Window) -> list[Statement]:
    units = units_of(window)
    if not units:
        return []
    judgements = judge(_reader().read([unit.sentence for unit in units]))
    return statements([*zip(units, judgements, strict=True)])


@cache
def _reader() -> ReaderModel:
    return ReaderModel()


@cache
def _embedder() -> Loaded:
    return BuiltIn().load(threads=1)


def _window(records: list[dict[str, Any]]) -> Window:
    """Return a window of the records' messages, whose ids are their numbers; of a summary's, their places."""
    at, said = datetime.min.replace(tzinfo=UTC), list[WindowMessage]()
    people = [record["by"] for record in records if "by" in record]
    for number, record in enumerate(records, 1):
        if "at" in record:  # else: soon after the one before
            at = datetime.strptime(record["at"].partition(",")[0], "%Y-%m-%dT%H:%MZ").replace(tzinfo=UTC)
        said.append(
            WindowMessage(
                message_id=str(record.get("n", number)),
                # Who is spoken to is not told of what no person wrote.
                user_id=record.get("by") or next(iter(people), "A"),
                role=Role(record.get("role", Role.USER)),
                content=record["text"],
                sent_at=at,
                arrived_at=at,
                index=number - 1,
                offset=number - 1,
            )
        )
    messages = tuple(said)
    return Window(
        window_id="-",
        conversation_id="-",
        user_id=messages[0].user_id,
        reason=WindowReason.FULL,
        message_ids=tuple(each.message_id for each in messages),
        messages=messages,
        from_index=0,
        to_index=len(messages) - 1,
        overlap=0,
        source=WindowSource(topic="-", partition=0, first_offset=0, last_offset=len(messages) - 1),
    )


def _note(found: Statement) -> dict[str, Any]:
    """Return a statement as a note; rules write no sentence, so that it is the quotation itself."""
    attribute, _, kind = found.attribute.partition("/")
    date = found.event_at or found.since
    return {
        "n": int(found.source_message_ids[-1]),
        "quote": found.quote.splitlines()[-1],
        "note": found.quote.splitlines()[-1],
        "change": "ends" if found.assertion is Assertion.ENDED else "new",
        "k": 0,
        "about": found.subject,
        "attribute": {"relationship": "partner", "": "other"}.get(attribute, attribute),
        "value": f"{kind}: {found.value}" if kind else found.value,
        "denied": found.polarity is Polarity.NEGATED,
        "date": "" if date is None else date.date().isoformat(),
        "importance": found.importance,
        "sure": "high",
    }


def _summarized(records: list[dict[str, Any]]) -> str:
    if any("summary" in record for record in records):
        earlier = tuple(summary.validated(record.get("summary")) for record in records)
        return msgspec.json.encode(roll_up(earlier, _SUMMARY_TOKENS, tokens)).decode()
    shown = [
        record | ({"at": record["at"].replace(" ", "T") + "Z"} if "at" in record else {}) for record in records
    ]
    messages = _window(shown).messages
    units = sentences_of(messages)
    readings = _reader().read([unit.sentence for unit in units])
    vectors = _embedder().embed([unit.text for unit in units]) if units else ()
    scored = [*map(Scored, units, readings, vectors)]
    return msgspec.json.encode(summarize_messages(messages, scored, _SUMMARY_TOKENS, tokens)).decode()


def _related(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the relations that the tables read, message by message."""
    nobody = {"name": "", "role": ""}
    return [
        {
            "n": record["n"],
            **{name: nobody | msgspec.to_builtins(getattr(found, name)) for name in ("subject", "object")},
            "relation": found.relation,
            "ended": found.ended,
            "quote": found.quote,
        }
        for record in records
        for found in Reader(None).read(record["text"])
    ]


def _understood(records: list[dict[str, Any]]) -> str:
    texts = {
        what: [each["text"] for each in records if each["is"] == what]
        for what in ("message", "known", "question")
    }
    known = texts["known"]
    found = understand(texts["question"][0], texts["message"], known)
    told = {
        "is_ambiguous": found.is_ambiguous,
        "score": round(found.score, 2),
        "reasons": list(found.reasons),
        "possible_interpretations": list(found.possible_interpretations),
        "clarifying_questions": list(found.clarifying_questions),
        "rewritten_query": found.rewritten_query or "",
        "references": [{"words": each.words, "meanings": list(each.meanings)} for each in found.references],
        "needed": [len(texts["message"]) + n for n, _ in enumerate(known, 1)],
    }
    return json.dumps(told, ensure_ascii=False)


def _merged(records: list[dict[str, Any]]) -> str:
    """Say of facts whose words do not exclude each other that they are one; a contradiction stays one."""
    clusters: defaultdict[int, list[dict[str, Any]]] = defaultdict(list)
    for record in records:
        clusters[record["cluster"]].append(record)
    answer = []
    for number, facts in clusters.items():
        first, *others = [each["text"] for each in facts]
        differ = any(excludes(first, other) for other in others)
        kind = Decision.KEEP_BOTH if differ else Decision.MERGE
        kind = Decision.CONTRADICTION if facts[0].get("denied") else kind
        answer.append({"cluster": number, "decision": kind, "facts": [each["n"] for each in facts]})
    return json.dumps({"clusters": answer})


_ANSWERS: dict[str, Callable[[list[dict[str, Any]]], str]] = {
    extraction.VERSION: _extracted,
    extraction.WITH_GRAPH: _extracted_and_related,
    merging.VERSION: _merged,
    summary.VERSION: _summarized,
    understanding.VERSION: _understood,
}


def tokens(content: object) -> int:
    """Return about how many tokens a text is, or the texts of a request."""
    text = content if isinstance(content, str) else "".join(texts(content)) if isinstance(content, dict) else ""
    return max(1, len(text) // _CHARACTERS_PER_TOKEN)


def embedding(body: Mapping[str, Any]) -> dict[str, list[float]]:
    """Return a vector of the words of a request of ``embedContent``: texts that share words are near."""
    dimensions = int(body.get("outputDimensionality", 3072))
    vector = np.zeros(dimensions)
    for word in _text(body.get("content", {})).casefold().split() or [""]:
        digest = blake2b(word.strip(".,;:!?\"'").encode(), digest_size=8).digest()
        place = int.from_bytes(digest, "big")
        vector[place % dimensions] += 1.0 if place >> 63 else -1.0
    norm = float(np.linalg.norm(vector))
    return {"values": [round(float(each), 6) for each in vector / (norm or 1.0)]}
