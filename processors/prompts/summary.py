"""The summary of a range of messages, or of earlier summaries, asked of a language model (requirement 5.2).

What is no JSON is read as an empty summary, a list that is ``null`` as an empty one.  A sentence is checked as a note
is (:mod:`.checks`): in the language of the conversation, with no number and no name that nobody wrote.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from models.summaries import SessionSummary, SummaryRequest, UserProfile
from processors.prompts.checks import is_told
from processors.prompts.extraction import by_or_role, people_of
from processors.prompts.fence import RULE, fenced
from processors.prompts.prompt import Prompt, named_times

VERSION = "summary-4"

#: Room for the answer: ten times what it should take.
MOST_TOKENS = 1500

SYSTEM = f"""Task {VERSION}: summarize a part of a conversation, so that whoever continues it knows what matters.

The data holds messages, one JSON record per line: by (a letter for the person who wrote it) or role (assistant, tool, system: no person
wrote it), at (UTC, left out within an hour after the last one that is named), text. Instead of messages it may hold earlier summaries
("summary"), oldest first, which are to become one.
{RULE}

Answer with five lists of short sentences, a fact each, the most important first, at most 150 tokens in all, in the language that the
people write. Each can be read alone: call the only person "the user", and several by their names, or by what tells them apart; write
names for "she" and "it", and dates for "today" and "on Friday". Leave a list empty rather than fill it.
- profile.preferences: what the person likes, dislikes, and how they want to be answered.
- profile.constraints: what must be heeded: allergies, budgets, deadlines, limits.
- key_facts: what else was said that matters later.
- decisions: what was decided, by the person or together; not what was only proposed.
- open_questions: what was asked and not answered.
- todos: what somebody is to do, and who.
Say only what is said in the data, with the numbers, dates and names as they stand there. What was corrected or taken
back is left out; so is what was said in play, quoted, or written for somebody else."""

_TEXTS = {"type": "array", "items": {"type": "string"}}
_LISTS = ("key_facts", "decisions", "open_questions", "todos")

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "profile": {
            "type": "object",
            "properties": {"preferences": _TEXTS, "constraints": _TEXTS},
            "required": ["preferences", "constraints"],
            "additionalProperties": False,
        },
        **dict.fromkeys(_LISTS, _TEXTS),
    },
    "required": ["profile", *_LISTS],
    "additionalProperties": False,
}


def prompt(request: SummaryRequest) -> Prompt:
    """Return the prompt of a request."""
    return Prompt(VERSION, SYSTEM, fenced(records_of(request)), SCHEMA, MOST_TOKENS)


def records_of(request: SummaryRequest) -> list[dict[str, Any]]:
    """Return the records for a model, the same for the same messages wherever they are in the log."""
    if request.roll_up:
        return [{"summary": msgspec.to_builtins(each)} for each in request.previous]
    times, letters = named_times(each.sent_at for each in request.messages), people_of(request)
    return [
        {
            **by_or_role(each, letters),
            **({} if at is None else {"at": at.strftime("%Y-%m-%d %H:%M")}),
            "text": each.content,
        }
        for each, at in zip(request.messages, times, strict=True)
    ]


def read(answer: str, request: SummaryRequest) -> SessionSummary:
    """Return the part of an answer that its messages support."""
    texts = [each.content for each in request.messages] or [*_texts_of(request.previous)]

    def told(found: Iterable[str]) -> tuple[str, ...]:
        return tuple(each for each in found if is_told(each, texts, request.arrived_at))

    said = validated(answer)
    return SessionSummary(
        profile=UserProfile(
            preferences=told(said.profile.preferences), constraints=told(said.profile.constraints)
        ),
        key_facts=told(said.key_facts),
        decisions=told(said.decisions),
        open_questions=told(said.open_questions),
        todos=told(said.todos),
    )


def _texts_of(summaries: Iterable[SessionSummary]) -> Iterator[str]:
    for each in summaries:
        yield from (*each.profile.preferences, *each.profile.constraints)
        yield from (*each.key_facts, *each.decisions, *each.open_questions, *each.todos)


def validated(answer: object) -> SessionSummary:
    """Return the summary that a language model's ``answer`` holds; never raises.

    ``answer``: the JSON text (``str`` or ``bytes``, perhaps inside a Markdown fence) or the decoded value.  A
    list that is null or missing is empty, an item that is no text is left out.  What holds no JSON object at
    all is an empty summary, which is accepted and marks its messages like any other (requirement 5.2): asking a
    model again and again for what it cannot give would block the conversation for ever.
    """
    if isinstance(answer, bytes):
        answer = answer.decode(errors="replace")
    if isinstance(answer, str):
        answer = _decoded(answer)
    if not isinstance(answer, Mapping):
        return SessionSummary()
    profile = answer.get("profile")
    if not isinstance(profile, Mapping):
        profile = {}
    return SessionSummary(
        profile=UserProfile(
            preferences=_texts(profile.get("preferences")), constraints=_texts(profile.get("constraints"))
        ),
        key_facts=_texts(answer.get("key_facts")),
        decisions=_texts(answer.get("decisions")),
        open_questions=_texts(answer.get("open_questions")),
        todos=_texts(answer.get("todos")),
    )


def _decoded(text: str) -> Any:
    """Decode the outermost JSON object of a text: models like to wrap it in prose or a fence."""
    start, end = text.find("{"), text.rfind("}")
    try:
        return msgspec.json.decode(_encodable(text[start : end + 1]))
    except msgspec.DecodeError:
        return None


def _texts(value: object) -> tuple[str, ...]:
    """Return the texts of a list, stripped, without empty ones and repetitions; one text is a list of one."""
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list | tuple):
        return ()
    stripped = (_encodable(item).strip() for item in items if isinstance(item, str))
    return tuple(dict.fromkeys(text for text in stripped if text))


def _encodable(text: str) -> str:
    """Replace halves of surrogate pairs, which a decoded value may hold and UTF-8 cannot."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
