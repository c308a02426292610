"""From the units of a window and their judgements to its statements: quotations, some of which fill a slot."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import groupby

from msgspec.structs import replace

from models.statements import Kind, Precision, Statement, attribute_of
from processors.extraction.affirmations import affirmed_or_denied
from processors.extraction.keeper import KEEP_FROM, Judgement
from processors.extraction.slots import Slot, answered_slot, slots_of
from processors.extraction.units import Unit, leans
from processors.text.dates import find_dates

#: Characters of the sentences that are one quotation.
_LONGEST_QUOTE = 320
#: An answer of fewer words, or without a subject, is shown behind its question.
_SHORT_ANSWER = 8

Judged = tuple[Unit, Judgement]


def statements(judged: Sequence[Judged]) -> list[Statement]:
    """Return the statements of the units that are kept, in their order."""
    found: list[Statement] = []
    for _, of_message in groupby(judged, key=lambda each: each[0].message.message_id):
        for group in quotations([*of_message]):
            found += _statements(group)
    return found


def quotations(judged: Sequence[Judged]) -> list[list[Judged]]:
    """Group the kept units of one message: a sentence with those that lean on it.

    A kept sentence that leans on one that is not kept takes that one along.
    """
    groups: list[list[Judged]] = []
    for at, each in enumerate(judged):
        unit, judgement = each
        if judgement.probability < KEEP_FROM:
            continue
        before = judged[at - 1] if at and leans(unit) else None
        if before is not None and groups and groups[-1][-1] is before and _length(groups[-1]) < _LONGEST_QUOTE:
            groups[-1].append(each)
        elif before is not None and _gives_context(before[0]):
            groups.append([before, each])
        else:
            groups.append([each])
    return groups


def _gives_context(unit: Unit) -> bool:
    return not unit.text.endswith("?") and len(unit.text) < _LONGEST_QUOTE


def _length(group: Sequence[Judged]) -> int:
    return sum(len(unit.text) for unit, _ in group)


def _statements(group: Sequence[Judged]) -> Iterator[Statement]:
    first, last = group[0][0], group[-1][0]
    message = first.message
    best = max((judgement for _, judgement in group), key=lambda each: each.probability)
    importance = max(each.importance for _, each in group if each.probability >= KEEP_FROM)
    text = " ".join(unit.text for unit, _ in group)
    shown = f"{first.asked} – {text}" if needs_question(first) else text
    slots = slots_of(text, message.sent_at) or answered_slot(first.asked, text) or affirmed_or_denied(text)
    event_at, precision = _day(text, message.sent_at) if best.kind is Kind.EVENT and not slots else (None, None)
    base = Statement(
        user_id=message.user_id,
        kind=best.kind,
        statement=shown,
        confidence=round(best.confidence, 3),
        source_message_ids=(message.message_id,),
        quote=message.content[first.start : last.end],
        importance=importance,
        event_at=event_at,
        event_precision=precision,
        why=best.why,
    )
    yield from (_filled(base, slot) for slot in slots) if slots else (base,)


def _filled(base: Statement, slot: Slot) -> Statement:
    attribute = attribute_of(slot.attribute)
    return replace(
        base,
        kind=attribute.kind if attribute is not None else base.kind,
        attribute=slot.attribute,
        value=slot.value,
        polarity=slot.polarity,
        since=slot.since,
        since_precision=slot.since_precision,
    )


def needs_question(unit: Unit) -> bool:
    """Whether a unit answers a question and cannot be understood without it."""
    if not unit.asked:
        return False
    words = len(unit.text.split())
    return words < _SHORT_ANSWER and not (words >= _SHORT_SENTENCE and _STANDS_ALONE.match(unit.text))


#: A sentence of at least so many words that begins like this is understood without its question.
_SHORT_SENTENCE = 4
_STANDS_ALONE = re.compile(
    r"(?:i|i['’]\w+|my|we|we['’]\w+|our|ich|mein\w*|wir|yo|mi|mis|je|j['’]\w+|mon|ma|mes|eu|meu|minha)\b",
    re.IGNORECASE,
)


def _day(text: str, said_at: datetime) -> tuple[datetime | None, Precision | None]:
    found = find_dates(text, said_at)
    return (found[0].at, found[0].precision) if len(found) == 1 else (None, None)
