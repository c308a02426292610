"""Correction of a fact by hand: the new text as a candidate for the slot of the fact.

The text may be the value ("Munich") or a sentence ("I live in Munich now").  The table of slots reads a
sentence; one that negates the value denies the fact; any other text fills the slot as it is written.  The
candidate goes through the same checks as one that an extractor finds.
"""

from __future__ import annotations

import re
from datetime import timedelta

import msgspec

from models import ids
from models.consolidation import Correction
from models.errors import InvalidRecord
from models.facts import Fact, FactCandidate, FactStatus
from models.messages import Role, Timestamp
from models.statements import SELF, Assertion, Kind, Polarity, Statement
from models.windows import Window, WindowMessage, WindowReason, WindowSource
from processors.extraction.slots import slots_of
from processors.facts.candidates import objection, to_candidate
from processors.facts.claims import claim_of, normalized_attribute, normalized_subject
from processors.facts.merged import is_kept_whole, unmerged
from processors.text.dates import find_dates

#: Who extracted what was said by hand.
EXTRACTOR = "correction"

#: Somebody took the trouble to say it.
_CERTAIN = 1.0

_LEAD = re.compile(r"(?:(?:no|sorry|actually|wait|i mean|it's|it is|that's|rather)\b[\s,:]*)+", re.IGNORECASE)
_ANSWER = re.compile(r"\s*(?:(?:no|sorry|actually|wait)\s*[,.:!]\s*)+", re.IGNORECASE)
#: A text that only says that the fact does not hold any more.
_ENDS = re.compile(r"\b(?:no longer|any ?more|nicht mehr|ya no|ne \w+ plus|não \w+ mais)\b", re.IGNORECASE)
#: A word that denies a value.  "No I like tea" only answers; "not only tea" and "without tea" deny nothing.
_NEGATION = re.compile(
    r"\b(?:(?:ca|wo|do|does|did|is|are|was|have|has)n['’]?t|cannot|not|never|nicht|nie|kein\w*|pas|jamais|não|nunca"
    r"|no(?!\s*[,.:;!]|\s+(?:i|it|my|we|our|he|she|they)\b))\b",
    re.IGNORECASE,
)
_NOT_DENIED = re.compile(
    r"[,.:;!?–—]|\b(?:only|just|nur|seulement|solo|sólo|só|without|ohne|sans|sin|sem|but|aber|sondern|mais|pero|mas)\b",
    re.IGNORECASE,
)
_AFTER_VALUE = re.compile(r"(?:\W|\b(?:at all|either|gar|überhaupt|nicht|pas|du tout)\b)*", re.IGNORECASE)
_SENTENCE = re.compile(r"(?:i|i'\w+|my|we|our|he|she|they|there|the user)\b", re.IGNORECASE)


def window_id_of(tenant_id: str, correction: Correction) -> str:
    """Return the window that what is said by hand stands in, alone."""
    return ids.deterministic_id("correction", tenant_id, correction.command_id)


def corrected(fact: Fact, correction: Correction, at: Timestamp, by: str) -> tuple[FactCandidate, ...]:
    """Return the candidates that replace a fact, all in its slot: most often one candidate.

    The first names the fact that it corrects, unless it only ends it.  ``at``: when it was said; it counts
    as said after whatever the fact rests on, for it is about that.  A fact that consolidation merged into
    another is to be taken out of that one first.

    Raises:
        InvalidRecord: ``not_current``, ``same_value``, ``not_about_it``, or what is wrong with any statement
            (:func:`processors.facts.candidates.objection`).
    """
    if is_kept_whole(fact):
        fact = unmerged(fact)
    if fact.status is not FactStatus.ACTIVE:
        after = fact.superseded_by or fact.merged_into_id
        raise InvalidRecord(
            "not_current",
            f"fact {fact.fact_id} does not hold any more ({fact.status}): correct "
            + (f"{after}, which took its place" if after else "one that does"),
        )
    last = max((fact.valid_from, *(each.said_at for each in fact.provenance)))
    said_at = at if at > last else last + timedelta(microseconds=1)
    window = _window(fact, correction, at)
    candidates: list[FactCandidate] = []
    for found in _read(fact, window) or (_as_written(fact, window),):
        wrong = objection(found, window)
        # Who corrects a fact says so themselves, also with words that they quote.
        if wrong is not None and wrong != "not_own_words":
            raise InvalidRecord(wrong, f"what is said instead of fact {fact.fact_id} is no statement: {wrong}")
        candidate = to_candidate(found, window, EXTRACTOR)
        ends = found.assertion is Assertion.ENDED
        evidence = msgspec.structs.replace(candidate.provenance, sent_at=said_at, corrected_by=by)
        candidate = msgspec.structs.replace(candidate, provenance=evidence)
        if not ends:
            # The first takes the fact's place; the others are told beside it.
            candidate = msgspec.structs.replace(
                candidate,
                assertion=Assertion.HOLDS if candidates else Assertion.CORRECTED,
                corrects="" if candidates else fact.fact_id,
            )
        candidates.append(candidate)
    _check(fact, candidates)
    return tuple(candidates)


def _check(fact: Fact, candidates: list[FactCandidate]) -> None:
    for candidate in candidates:
        is_same = claim_of(candidate).fact_id == claim_of(fact).fact_id
        if candidate.assertion is Assertion.ENDED:
            if not is_same and candidate.value:
                raise InvalidRecord(
                    "not_about_it", f"what is said ends something else than fact {fact.fact_id}"
                )
        elif is_same:
            raise InvalidRecord(
                "same_value", f"fact {fact.fact_id} says that already: say what holds instead of it"
            )


def _window(fact: Fact, correction: Correction, at: Timestamp) -> Window:
    """The correction as a message of the person, in a window of its own."""
    message = WindowMessage(
        message_id=correction.command_id,
        user_id=fact.user_id,
        role=Role.USER,
        content=correction.text,
        sent_at=at,
        arrived_at=correction.arrived_at,
        index=0,
        offset=correction.offset,
    )
    return Window(
        window_id=window_id_of(fact.tenant_id, correction),
        conversation_id=correction.conversation_id,
        user_id=fact.user_id,
        tenant_id=fact.tenant_id,
        reason=WindowReason.CLOSED,
        message_ids=(message.message_id,),
        messages=(message,),
        from_index=0,
        to_index=0,
        overlap=0,
        source=WindowSource(
            topic=correction.topic,
            partition=correction.partition,
            first_offset=correction.offset,
            last_offset=correction.offset,
        ),
    )


def _read(fact: Fact, window: Window) -> tuple[Statement, ...]:
    """Return the statement that fills the slot of the fact, if the text has one: "I live in Munich now"."""
    message = window.messages[0]
    whole = _as_written(fact, window)
    if fact.value and _ENDS.search(message.content):
        if fact.value.casefold() not in message.content.casefold():
            raise InvalidRecord("not_about_it", f"what is said ends something else than fact {fact.fact_id}")
        return (
            msgspec.structs.replace(
                whole, statement=message.content.strip(), value=fact.value, assertion=Assertion.ENDED
            ),
        )
    filled = tuple(
        msgspec.structs.replace(
            whole,
            statement=message.content.strip(),
            value=slot.value,
            polarity=slot.polarity,
            since=slot.since,
            since_precision=slot.since_precision,
        )
        for slot in slots_of(message.content, message.sent_at)
        if fact.attribute
        and normalized_attribute(slot.attribute) == normalized_attribute(fact.attribute)
        and normalized_subject(fact.subject) == SELF
    )
    if not filled and (denial := _denial(fact.value, message.content)):
        # "Not tea" alone is read in the sentence of the fact.
        told = denial if _LEAD.sub("", denial).count(" ") > fact.value.count(" ") + 1 else whole.statement
        return (msgspec.structs.replace(whole, statement=told, value=fact.value, polarity=Polarity.NEGATED),)
    return filled


def _denial(value: str, text: str) -> str:
    """Return the only clause of a text if it negates a value at its end ("I don't like tea"), else ``""``."""
    lead = _ANSWER.match(text)
    clause = text[lead.end() if lead else 0 :].strip().rstrip(".!").rstrip()
    found = re.search(rf"(?<!\w){re.escape(value)}(?!\w)", clause, re.IGNORECASE) if value else None
    if found is None or not _AFTER_VALUE.fullmatch(clause, found.end()):
        return ""
    around = clause[: found.start()] + clause[found.end() :]
    negates = _NOT_DENIED.search(around) is None and len(_NEGATION.findall(around)) == 1
    return clause if negates else ""


def _as_written(fact: Fact, window: Window) -> Statement:
    """Return the correction as a value, alone or inside the fact's sentence, or as a whole statement."""
    text = window.messages[0].content
    value = told = text.strip().rstrip(".!").rstrip()
    if not told:
        raise InvalidRecord("no_text", f"nothing is said instead of fact {fact.fact_id}")
    dates = find_dates(told, window.messages[0].sent_at) if fact.kind is Kind.EVENT else []
    before, after = _frame(fact)
    if not fact.attribute:
        value = ""
    elif before.strip() and told.casefold().startswith(before.casefold()):
        value = told[len(before) :].removesuffix(after) or told
    elif not _SENTENCE.match(told):
        value = told[match.end() :] if (match := _LEAD.match(told)) and match.end() < len(told) else told
        told = f"{before}{value}{after}"
    return Statement(
        user_id=fact.user_id,
        kind=fact.kind,
        statement=told,
        confidence=_CERTAIN,
        source_message_ids=window.message_ids,
        quote=text,
        subject=fact.subject,
        attribute=fact.attribute,
        value=value,
        polarity=fact.polarity,
        event_at=dates[0].at if len(dates) == 1 else fact.event_at,
        event_precision=dates[0].precision if len(dates) == 1 else fact.event_precision,
    )


def _frame(fact: Fact) -> tuple[str, str]:
    """Return the fact's sentence before and after the value; ``("", "")`` if the value is not in it."""
    at = fact.statement.casefold().find(fact.value.casefold()) if fact.value else -1
    if at < 0:
        return "", ""
    return fact.statement[:at], fact.statement[at + len(fact.value) :]
