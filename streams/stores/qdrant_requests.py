"""Requests to a Qdrant server: conditions, conditional writes, indexes."""

from __future__ import annotations

from datetime import datetime
from typing import Any, TypeVar

import msgspec
from qdrant_client import models as q

from models.index_conditions import AnyOf, NoneOf, Where, Within, must_and_must_not
from streams.stores import qdrant_payload as stored
from streams.stores.qdrant_kinds import Kind

Item = TypeVar("Item", bound=msgspec.Struct)

#: Met by what belongs to nobody, such as the seal of a collection.
NOBODYS = q.IsEmptyCondition(is_empty=q.PayloadField(key=stored.OWNER_FIELD))


#: Met by nothing.  Points that are there and do not meet the filter of an upsert stay as they are.
NOTHING = q.Filter(must=[NOBODYS], must_not=[NOBODYS])


def replace_if(versions: q.Range, name: str, payload: dict[str, Any]) -> q.OverwritePayloadOperation:
    """Replace a payload whose version is in a range; its vector is kept."""
    condition = q.FieldCondition(key=stored.VERSION_FIELD, range=versions)
    where = q.Filter(must=[q.HasIdCondition(has_id=[name]), condition])
    return q.OverwritePayloadOperation(overwrite_payload=q.SetPayload(payload=payload, filter=where))


def filter_of(where: Where) -> q.Filter:
    """Return the filter for the points that meet all conditions."""
    must, must_not = must_and_must_not(where)
    none: list[q.Filter | q.FieldCondition] = [
        q.Filter(must=[*map(condition_of, each.conditions)]) if isinstance(each, NoneOf) else condition_of(each)
        for each in must_not
    ]
    return q.Filter(must=[*map(condition_of, must)], must_not=[*none])


def condition_of(wanted: AnyOf | Within) -> q.FieldCondition:
    """Return the filter condition for one field."""
    if isinstance(wanted, AnyOf):
        return q.FieldCondition(key=wanted.field, match=q.MatchAny(any=[*wanted.values]))
    start, end = wanted.start, wanted.end
    since, until = (each if isinstance(each, datetime) else None for each in (start, end))
    if since is not None or until is not None:
        return q.FieldCondition(key=wanted.field, range=q.DatetimeRange(gte=since, lt=until))
    low, high = (None if isinstance(each, datetime) else each for each in (start, end))
    return q.FieldCondition(key=wanted.field, range=q.Range(gte=low, lt=high))


def payload_indexes(
    kind: Kind[Item], local: bool, ranks_words: bool = True
) -> dict[str, q.PayloadSchemaParams]:
    """Return the indexes that a collection of ``kind`` needs, by field.  ``local``: the client's local mode;
    ``ranks_words``: whether the server has a text query.
    """
    if local:
        # Local mode has no indexes, and ranks text by plain words only: no stems, no stop words.
        return {kind.text_field: q.TextIndexParams(type=q.TextIndexType.TEXT, scoring=True)}
    text = q.TextIndexParams(
        type=q.TextIndexType.TEXT,
        tokenizer=q.TokenizerType.MULTILINGUAL,
        lowercase=True,
        ascii_folding=True,
        stopwords=q.Language.ENGLISH,
        stemmer=q.SnowballParams(type=q.Snowball.SNOWBALL, language=q.SnowballLanguage.ENGLISH),
        scoring=ranks_words or None,
    )
    indexes: dict[str, q.PayloadSchemaParams] = {
        stored.OWNER_FIELD: q.KeywordIndexParams(type=q.KeywordIndexType.KEYWORD, is_tenant=True),
        stored.VERSION_FIELD: q.IntegerIndexParams(type=q.IntegerIndexType.INTEGER),
        stored.ERASED_FIELD: q.DatetimeIndexParams(type=q.DatetimeIndexType.DATETIME),
        kind.text_field: text,
    }
    indexes |= {field: q.FloatIndexParams(type=q.FloatIndexType.FLOAT) for field in kind.numbers}
    indexes |= {field: q.DatetimeIndexParams(type=q.DatetimeIndexType.DATETIME) for field in kind.times}
    keyword = q.KeywordIndexParams(type=q.KeywordIndexType.KEYWORD)
    return indexes | dict.fromkeys(kind.keyword_fields, keyword)
