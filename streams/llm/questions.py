"""Questions to a language model, and the common parts of a purpose."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from models.windows import WindowMessage
from processors.prompts.prompt import Prompt


class Question(NamedTuple):
    """Question about a person: ``asked`` is everything that the answer depends on, besides prompt and model.

    ``said``: who said what it is about, and when that arrived.
    """

    tenant_id: str
    user_id: str
    conversation_id: str
    asked: str
    said: tuple[tuple[str, datetime], ...] = ()


class Purpose(Protocol):
    """Common parts of a purpose's questions.

    ``compose`` writes the prompt about some questions of one person, given by their numbers, and may look
    things up for it that the answer's key does not hold; ``divide`` cuts its answer into one for each of them,
    "" where there is none.
    """

    name: str
    version: str
    per_call: int

    async def compose(self, numbers: Sequence[int]) -> Prompt: ...
    def divide(self, answer: str, numbers: Sequence[int]) -> Sequence[str]: ...


def said_in(messages: Iterable[WindowMessage]) -> tuple[tuple[str, datetime], ...]:
    """Return the speakers of messages, and the arrival times."""
    return tuple((each.user_id, each.arrived_at) for each in messages)


def groups_of(numbers: Sequence[int], questions: Sequence[Question], size: int) -> list[list[int]]:
    """Put together what may be asked in one call: questions about one person, in their order."""
    by_person: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for number in numbers:
        by_person[questions[number].tenant_id, questions[number].user_id].append(number)
    return [own[at : at + size] for own in by_person.values() for at in range(0, len(own), size)]
