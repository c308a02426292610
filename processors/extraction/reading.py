"""From the units of a window and their judgements to its statements: quotations, some of which fill a slot."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import groupby

from msgspec.structs import replace

from models.statements import Kind, Precision, Statement, attribute_of
from processors.extraction.affirmations import affirmed_or_denied
from processors.extraction.keeper import KEEP_FROM, Judgement, why
from processors.extraction.slots import Slot, answered_slot, slots_of
from processors.extraction.units import Unit, is_question, leans
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
        if at and groups and groups[-1][-1] is judged[at - 1] and correction_in(unit.text):
            groups[-1].append(each)
            continue
        if judgement.probability < KEEP_FROM or _is_empty(unit, judgement):
            continue
        before = judged[at - 1] if at and leans(unit) else None
        if before is not None and groups and groups[-1][-1] is before and _length(groups[-1]) < _LONGEST_QUOTE:
            groups[-1].append(each)
        elif before is not None and _gives_context(before[0]):
            groups.append([before, each])
        else:
            groups.append([each])
    return groups


def correction_in(text: str) -> str:
    """Return the replacement that a correcting sentence gives ("Sorry, I meant Lille."), or ``""``."""
    found = _CORRECTS.fullmatch(text)
    return found[1] if found else ""


#: Words that announce a correction, and its short rest.
_CORRECTS = re.compile(
    r"(?:(?:oh|oops|ups|no|nein|non|não|sorry|pardon|perd[oó]n|desculpa|entschuldigung|quatsch|wait|sorry)[,.!:]? )*"
    r"(?:i (?:meant|mean)|correction|make that|ich (?:meinte|meine)|quise decir|digo|je voulais dire|"
    r"quis dizer|quero dizer)[,:]? (?!to\b)((?:\S+ ){0,3}?\S+?)[.!]*",
    re.IGNORECASE,
)

_FIRST_PERSON = re.compile(
    r"\b(?:i|i['’]\w+|im|ive|ill|id|my|me|mine|we|we['’]\w+|our|us|ich|mein\w*|mir|mich|wir|uns\w*|yo|mis?|me|nos\w*|"
    r"je|j['’]\w+|mon|ma|mes|moi|nous|notre|eu|meus?|minhas?|nós|nosso)\b",
    re.IGNORECASE,
)


#: A greeting or a word of thanks that answers nothing.
_GREETS = re.compile(
    r"(?:hi|hello|hey|hallo|hola|salut|bonjour|oi|olá|good (?:morning|evening|afternoon)|guten (?:morgen|tag|abend)|"
    r"bom dia|buen[oa]s \w+|thanks?(?: you)?|danke|gracias|merci|obrigad[oa]|ha(?:ha)?|ok(?:ay)?|good|great|right)\W*",
    re.IGNORECASE,
)


def _is_empty(unit: Unit, judgement: Judgement) -> bool:
    """Return whether a unit greets, asks about others, or announces a text of theirs."""
    announces = unit.is_partial and unit.text.endswith((":", "："))
    if announces or (not unit.asked and _GREETS.fullmatch(unit.text)):
        return True
    is_wish = judgement.kind is Kind.INSTRUCTION or _FIRST_PERSON.search(unit.text) is not None
    return is_question(unit.text) and not is_wish


def _gives_context(unit: Unit) -> bool:
    return not unit.text.endswith("?") and len(unit.text) < _LONGEST_QUOTE


def _length(group: Sequence[Judged]) -> int:
    return sum(len(unit.text) for unit, _ in group)


def _statements(group: Sequence[Judged]) -> Iterator[Statement]:
    first, last = group[0][0], group[-1][0]
    message = first.message
    unit, best = max(group, key=lambda each: each[1].probability)
    before = [0.0] * len(message.content[first.start : unit.start].split())
    importance = max(each.importance for _, each in group if each.probability >= KEEP_FROM)
    text = " ".join(unit.text for unit, _ in group)
    shown = f"{first.asked} – {text}" if needs_question(first) else text
    slots = _slots(group, text)
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
        why=why([*before, *best.words], best.around),
    )
    yield from (_filled(base, slot) for slot in slots) if slots else (base,)


def _slots(group: Sequence[Judged], text: str) -> Sequence[Slot]:
    first, said_at = group[0][0], group[0][0].message.sent_at
    if len(group) > 1 and (meant := correction_in(group[-1][0].text)):
        wrong = slots_of(first.text, said_at)
        return slots_of(first.text.replace(wrong[0].value, meant), said_at) if len(wrong) == 1 else ()
    return slots_of(text, said_at) or answered_slot(first.asked, text) or affirmed_or_denied(text)


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
    """Return whether a unit answers a question and cannot be understood without it."""
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
