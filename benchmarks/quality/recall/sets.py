"""The data sets as what a memory sees: the messages of each person, and questions with the messages that
answer.

*LoCoMo* (``locomo-dev.json``): one speaker of each conversation is the user, the other the assistant;
categories 1 to 4 are answered by their ``evidence``, 5 asks for what nobody said.  *BEAM* (``beam-dev.jsonl``):
a person and an assistant; ``source_ids`` are the messages that bear on a question, ``updated_ids`` hold the
newest value; questions of the kind ``abstention`` have no answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from models.messages import ChatMessage, Role

LOCOMO, BEAM = "locomo-dev.json", "beam-dev.jsonl"
CORRECTIONS = "locomo-dev-errors.json"

_CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_TURN = re.compile(r"D\d+:\d+")
_BEGAN = datetime(2025, 1, 1, tzinfo=UTC)


class Asked(NamedTuple):
    """A question; ``evidence``: ids of the messages that bear on it, none if nothing answers it.

    ``newest``: those of them that hold the newest value, if there is an older one.
    """

    name: str
    kind: str
    query: str
    evidence: tuple[str, ...]
    newest: tuple[str, ...] = ()


class Person(NamedTuple):
    """Messages of one person's conversations in order, and the questions about them."""

    name: str
    messages: list[ChatMessage]
    questions: list[Asked]


def locomo(path: Path, corrected: bool = False) -> list[Person]:
    """Return the conversations; ``corrected``: with the evidence of ``locomo-dev-errors.json`` beside it."""
    corrections: dict[str, list[str]] = {}
    if corrected:
        errors = json.loads(path.with_name(CORRECTIONS).read_text(encoding="utf-8"))
        corrections = {each["question_id"]: each["correct_evidence"] for each in errors}
    people = []
    for number, sample in enumerate(json.loads(path.read_text(encoding="utf-8"))):
        messages = _locomo_messages(sample)
        known = {message.message_id for message in messages}
        questions = []
        for at, each in enumerate(sample["qa"]):
            said = corrections.get(f"locomo_{number}_qa{at}", each.get("evidence", []))
            found = dict.fromkeys(turn for text in said for turn in _TURN.findall(text))
            evidence = tuple(f"{sample['sample_id']}/{turn}" for turn in found)
            kind = _CATEGORIES[each["category"]]
            kept = () if kind == "adversarial" else tuple(turn for turn in evidence if turn in known)
            if kept or kind == "adversarial":
                questions.append(Asked(f"{sample['sample_id']}/q{at}", kind, each["question"], kept))
        people.append(Person(sample["sample_id"], messages, questions))
    return people


def _locomo_messages(sample: Mapping[str, Any]) -> list[ChatMessage]:
    talk, name, messages = sample["conversation"], sample["sample_id"], []
    for session in range(1, len(talk)):
        turns, date = talk.get(f"session_{session}"), talk.get(f"session_{session}_date_time")
        if turns is None or date is None:
            continue
        at = datetime.strptime(date, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        for number, turn in enumerate(turns):
            role = Role.USER if turn["speaker"] == talk["speaker_a"] else Role.ASSISTANT
            sent_at = at + timedelta(seconds=30 * number)
            found = _message(
                f"{name}/{turn['dia_id']}", name, name, role, turn["text"], sent_at, name=turn["speaker"]
            )
            messages.append(found)
    return messages


def beam(path: Path) -> list[Person]:
    """Return the chats."""
    people = []
    for line in path.read_text(encoding="utf-8").splitlines():
        chat = json.loads(line)
        name = f"beam-{chat['chat']}"
        # the first day that is named is the day on which it begins
        days = (_anchor(each.get("time_anchor") or "") for each in chat["messages"])
        messages, at = [], next((day for day in days if day is not None), _BEGAN)
        for each in chat["messages"]:
            day = _anchor(each.get("time_anchor") or "")
            at = max(at + timedelta(minutes=1), day or at)
            messages.append(
                _message(f"{name}/{each['id']}", name, name, Role(each["role"]), each["content"], at)
            )
        questions = []
        for number, each in enumerate(chat["questions"]):
            evidence = tuple(f"{name}/{source}" for source in dict.fromkeys(each["source_ids"]))
            newest = tuple(f"{name}/{source}" for source in each.get("updated_ids", ()))
            if each["kind"] == "abstention":
                evidence = ()
            elif not evidence:
                continue
            questions.append(Asked(f"{name}/q{number}", each["kind"], each["question"], evidence, newest))
        people.append(Person(name, messages, questions))
    return people


def _anchor(text: str) -> datetime | None:
    """Return the day that ``March-15-2024`` names, if it names one."""
    try:
        return datetime.strptime(text, "%B-%d-%Y").replace(tzinfo=UTC)
    except ValueError:
        return None


#: The file of each set, and what reads it.
SETS: Mapping[str, tuple[str, Callable[[Path], list[Person]]]] = {
    "locomo": (LOCOMO, locomo),
    "beam": (BEAM, beam),
}


def load(folder: Path, names: Iterable[str]) -> dict[str, list[Person]]:
    """Return the sets that are there."""
    found = {}
    for name in names:
        file, read = SETS[name]
        if (folder / file).is_file():
            found[name] = read(folder / file)
    return found


def _message(
    message_id: str,
    conversation: str,
    person: str,
    role: Role,
    text: str,
    sent_at: datetime,
    **metadata: str,
) -> ChatMessage:
    return ChatMessage(
        message_id=message_id,
        conversation_id=conversation,
        user_id=person,
        role=role,
        content=text,
        sent_at=sent_at,
        metadata=metadata,
    )
