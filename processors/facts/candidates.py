"""Candidates from an extractor's statements: only those supported by the window.

An extractor is not trusted, whether it is made of rules or a language model: :func:`objection` says what is
wrong with a statement, and the others of its window are kept.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from unicodedata import normalize

from msgspec.structs import replace

from models.facts import FactCandidate, Provenance
from models.ids import candidate_id
from models.messages import Role
from models.statements import Assertion, Statement, attribute_of
from models.windows import Window, WindowMessage
from processors.facts.claims import claim_of, normalized_attribute, normalized_value
from processors.text.authorship import letters_of, own_words

#: What people speak of lies in between: nobody's life began earlier, and no plan goes further.
EARLIEST_EVENT = datetime(1850, 1, 1, tzinfo=UTC)
LATEST_AHEAD = timedelta(days=100 * 366)

_SPACES = re.compile(r"\s+")
#: How many characters of each a fact may keep.
_LIMITS = {"quote": 4096, "statement": 4096, "subject": 256, "attribute": 128, "value": 1024}


def fresh(statements: Iterable[Statement], extracted_ids: Collection[str]) -> list[Statement]:
    """Keep the statements that rest on at least one message that nothing was extracted from before
    (requirement 1.3).
    """
    return [
        each
        for each in statements
        if any(message_id not in extracted_ids for message_id in each.source_message_ids)
    ]


def objection(found: Statement, window: Window) -> str | None:
    """Return why a statement is not taken, as a slug; ``None`` if the window bears it out."""
    messages = {message.message_id: message for message in window.messages}
    if not found.source_message_ids:
        return "no_source"
    if any(message_id not in messages for message_id in found.source_message_ids):
        return "unknown_source"
    if not any(each.role is Role.USER and each.user_id == found.user_id for each in messages.values()):
        return "not_a_speaker"
    if not is_quoted(found.quote, [messages[message_id] for message_id in found.source_message_ids]):
        return "not_quoted"
    if not 0.0 <= found.confidence <= 1.0:
        return "confidence"
    if not found.statement.strip() or not found.subject.strip():
        return "no_text"
    if any(len(getattr(found, name)) > limit for name, limit in _LIMITS.items()):
        return "too_long"
    sources = [messages[message_id] for message_id in found.source_message_ids]
    wrong = _slot_objection(found) or _date_objection(found, messages)
    return wrong or (None if _is_own(found.quote, sources) else "not_own_words")


def _slot_objection(found: Statement) -> str | None:
    if not found.attribute:
        return None
    name = normalized_attribute(found.attribute)
    attribute = attribute_of(name)
    if attribute is None:
        return "unknown_attribute"
    if attribute.kind is not found.kind:
        return "wrong_kind"
    return None if normalized_value(name, found.value) else "empty_value"


def _date_objection(found: Statement, messages: Mapping[str, WindowMessage]) -> str | None:
    said = max(messages[message_id].sent_at for message_id in found.source_message_ids)
    for date, latest in ((found.event_at, said + LATEST_AHEAD), (found.since, said)):
        if date is not None and not EARLIEST_EVENT <= date <= latest:
            return "absurd_date"
    return None


def is_quoted(quote: str, messages: Sequence[WindowMessage]) -> bool:
    """Return whether a quote is in one of the messages, or its lines are, in order, each in one of them."""
    texts = [_folded(message.content) for message in messages]
    if not (whole := _folded(quote)):
        return False
    if any(whole in text for text in texts):
        return True
    joined = "\n".join(texts)
    at = 0
    for line in filter(None, map(_folded, quote.splitlines())):
        found = joined.find(line, at)
        if found < 0:
            return False
        at = found + len(line)
    return True


def _is_own(quote: str, messages: Sequence[WindowMessage]) -> bool:
    """Return whether most of a quote is its authors' own words; the assistant's lines only give the
    question.
    """
    texts = [normalize("NFKC", each.content) for each in messages if each.role is Role.USER]
    owned = [(text, own_words(text)) for text in texts]
    own = total = 0
    for line in filter(None, map(_folded, quote.splitlines())):
        pattern = re.compile(r"\s+".join(map(re.escape, line.split())))
        places = [words[slice(*match.span())] for text, words in owned for match in pattern.finditer(text)]
        if places:
            own += max(map(letters_of, places))
            total += letters_of(line)
    if total:
        return 2 * own > total
    # Only the question is quoted: then the answer counts, which may be an emoji.
    return bool(owned) and 2 * sum(letters_of(words) for _, words in owned) >= sum(map(letters_of, texts))


def _folded(text: str) -> str:
    return _SPACES.sub(" ", normalize("NFKC", text)).strip()


def to_candidate(found: Statement, window: Window, extractor: str) -> FactCandidate:
    """Give a statement that nothing is objected to its ids and its provenance.

    Raises:
        InvalidRecord: it claims nothing that there is a slot for.
    """
    sources = {message.message_id: message for message in window.messages}
    messages = [sources[message_id] for message_id in found.source_message_ids]
    began = None if found.assertion is Assertion.ENDED else found.since
    candidate = FactCandidate(
        candidate_id="-",
        tenant_id=window.tenant_id,
        user_id=found.user_id,
        kind=found.kind,
        subject=found.subject,
        attribute=normalized_attribute(found.attribute),
        value=found.value,
        polarity=found.polarity,
        assertion=found.assertion,
        event_at=found.event_at,
        event_precision=found.event_precision,
        statement=found.statement,
        confidence=found.confidence,
        importance=found.importance,
        why=found.why,
        change=found.change,
        known=found.known,
        source_message_ids=found.source_message_ids,
        provenance=Provenance(
            conversation_id=window.conversation_id,
            window_id=window.window_id,
            window_end_id=window.message_ids[-1],
            message_ids=found.source_message_ids,
            quote=found.quote,
            topic=window.source.topic,
            partition=window.source.partition,
            offsets=tuple(message.offset for message in messages),
            sent_at=max(message.sent_at for message in messages),
            arrived_at=max(message.arrived_at for message in messages),
            since=began,
            since_precision=None if began is None else found.since_precision,
        ),
        extractor=extractor,
    )
    about = claim_of(candidate).fact_id
    return replace(
        candidate,
        candidate_id=candidate_id(
            about, window.conversation_id, (*found.source_message_ids, found.assertion.value)
        ),
    )
