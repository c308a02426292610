"""Searching what a person said and what is known of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec

from models.facts import Confidence
from models.messages import DEFAULT_TENANT, Identifier, Timestamp
from models.turns import metadata_text
from processors.retrieval.recall.question import LONGEST_QUESTION, InvalidQuestion
from streams.server.api.operations import Call, Parameters, Scope, operation
from streams.server.api.problems import INVALID_REQUEST, Problem
from streams.server.api.usage import usage
from streams.stores.remembered.ports import Search
from streams.stores.search import MINIMUM_CONFIDENCE, MOST_RESULTS, Empty, Result, SearchType, Wanted, kinds_of
from streams.stores.search import Scope as Searched
from streams.stores.search.explaining import Explanation

_Question = Annotated[str, msgspec.Meta(max_length=LONGEST_QUESTION, description="what you want to know")]


class SearchParameters(Parameters, frozen=True, kw_only=True):
    """``from`` is included, ``to`` is not; ``as_of``: what held then; ``kind``: several with commas."""

    q: _Question
    user_id: Identifier
    tenant_id: Identifier = DEFAULT_TENANT
    search_type: SearchType = SearchType.BOTH
    limit: Annotated[int, msgspec.Meta(ge=1, le=MOST_RESULTS)] = 5
    minimum_confidence: Confidence = MINIMUM_CONFIDENCE
    conversation_id: Identifier | None = None
    since: Timestamp | None = msgspec.field(default=None, name="from")
    until: Timestamp | None = msgspec.field(default=None, name="to")
    as_of: Timestamp | None = None
    kind: str = ""


class SearchAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Search results, best first.

    ``known``: whether there is anything of the person at all; ``empty``: why nothing was found; ``unread``:
    then, whether something of theirs is not read yet; ``degraded``: the embedder was down, and only words were
    compared, or the Qdrant server is older than 1.20, and words were compared less well; ``explanation``: how
    it came to this, if that is asked.
    """

    query: str
    user_id: str
    tenant_id: str
    search_type: SearchType
    known: bool
    scope: Searched
    degraded: bool
    empty: Empty | None
    unread: bool
    results: list[Result]
    explanation: Explanation | None = None


@operation("GET", "/v1/search", scope=Scope.READ, example={"q": "coffee", "user_id": "ada"})
async def search(call: Call, wanted: SearchParameters) -> SearchAnswer:
    """Search what a person said and what is known of them, best first.

    By meaning and by words at once. An empty answer says why it is empty, and every answer says in what was
    searched. Facts whose confidence is below `minimum_confidence` (0.3 unless you say another) are left out.
    """
    try:
        return await found(call, wanted)
    except InvalidQuestion as error:
        raise Problem(INVALID_REQUEST, f"{error}. {usage(search)}.") from error


class Question(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """As the parameters of `GET /v1/search`; ``explain``: with the parts of each score.

    ``metadata``: only turns whose messages have these fields with these values (`SWITCHBOARD_METADATA_KEYS`).
    """

    q: _Question
    user_id: Identifier
    tenant_id: Identifier = DEFAULT_TENANT
    search_type: SearchType = SearchType.BOTH
    limit: Annotated[int, msgspec.Meta(ge=1, le=MOST_RESULTS)] = 5
    minimum_confidence: Confidence = MINIMUM_CONFIDENCE
    conversation_id: Identifier | None = None
    since: Timestamp | None = msgspec.field(default=None, name="from")
    until: Timestamp | None = msgspec.field(default=None, name="to")
    as_of: Timestamp | None = None
    kind: str = ""
    explain: bool = True
    metadata: dict[str, str | int | bool] = {}


@operation(
    "POST",
    "/v1/search",
    scope=Scope.READ,
    example_body={"q": "what must she not eat?", "user_id": "ada", "explain": True},
)
async def post_search(call: Call, body: Question) -> SearchAnswer:
    """Search as `GET /v1/search` does, with the question in the body: words of people do not belong into logs.

    With `explain` each result says in `parts` what each feature added to the logarithm of its score, and
    `explanation` how long the parts of the search took, and what was found and left out.
    """
    asked = {name: getattr(body, name) for name in SearchParameters.__struct_fields__}
    try:
        answer = await found(call, SearchParameters(**asked), explain=body.explain, metadata=body.metadata)
    except InvalidQuestion as error:
        raise Problem(INVALID_REQUEST, f"{error}. {usage(post_search)}.") from error
    if body.explain:
        return answer
    plain = [msgspec.structs.replace(each, parts={}) for each in answer.results]
    return msgspec.structs.replace(answer, results=plain)


async def found(
    call: Call,
    wanted: SearchParameters,
    *,
    explain: bool = False,
    metadata: Mapping[str, str | int | bool] | None = None,
) -> SearchAnswer:
    """Return the search results, with ``explain`` with their scores' parts.

    Raises:
        InvalidQuestion: nothing could ever be found this way.
    """
    memory: Search = call.part("search")
    asked = Wanted(
        query=wanted.q,
        user_id=wanted.user_id,
        tenant_id=wanted.tenant_id,
        search_type=wanted.search_type,
        limit=wanted.limit,
        minimum_confidence=wanted.minimum_confidence,
        conversation_id=wanted.conversation_id or "",
        since=wanted.since,
        until=wanted.until,
        as_of=wanted.as_of,
        kinds=kinds_of(wanted.kind),
        metadata=_filtered_by(metadata or {}, call.parts.metadata_keys),
    )
    asked.check()  # here, for not all that can be asked can be sent on
    results = await memory.search(asked)
    known, empty = results.empty is not Empty.UNKNOWN_PERSON, results.empty
    is_unread = empty is not None and await call.is_unread(
        wanted.tenant_id, wanted.user_id, _known_all_along if known else None
    )
    if is_unread and not known:
        empty = Empty.NOT_READ_YET
    return SearchAnswer(
        query=wanted.q,
        user_id=wanted.user_id,
        tenant_id=wanted.tenant_id,
        search_type=wanted.search_type,
        known=known,
        scope=results.scope,
        degraded=results.degraded,
        empty=empty,
        unread=is_unread,
        results=list(results),
        explanation=results.explanation if explain else None,
    )


def _filtered_by(given: Mapping[str, str | int | bool], keys: Sequence[str]) -> dict[str, str]:
    """Return a filter as turns have it.

    Raises:
        InvalidQuestion: a field is not indexed, or a value is none.
    """
    wanted = {}
    for key, value in given.items():
        if key not in keys:
            known = f"it names {', '.join(keys)}" if keys else "it names none"
            raise InvalidQuestion(
                f"metadata.{key[:64]} is not indexed: SWITCHBOARD_METADATA_KEYS says which are, and {known}"
            )
        text = metadata_text(value)
        if text is None:
            raise InvalidQuestion(f"metadata.{key} is no text of 1 to 256 characters, integer or boolean")
        wanted[key] = text
    return wanted


async def _known_all_along() -> bool:
    """Say that nobody became known while it was looked for what is unread of them."""
    return False
