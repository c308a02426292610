"""Whatever is sent to a serve that runs, step by step or at random: no 5xx, and no answer that is undescribed.

``SWITCHBOARD_TEST_SCHEMA_SECONDS``: for how long (``make soak``: an hour), each round with another seed.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import FlakyStrategyDefinition
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from serve_rig import ServeRig

from streams.api.catalog import OPERATIONS
from streams.api.openapi import openapi

# What runs here makes requests; who answers runs elsewhere.
pytestmark = [pytest.mark.kafka, pytest.mark.uncounted, pytest.mark.long]

#: Without an end of their own (tests/unit/test_api_schema.py has what they refuse), or seconds long.
ENDLESS = {"get_events", "get_turn_events", "post_turn"}

#: These read whole topics, for what they erase.
SLOW = {"delete_person", "delete_conversation"}

CHECKS = [not_a_server_error, content_type_conformance, response_schema_conformance, status_code_conformance]

_ANSWER_SECONDS = 60

#: How often at least it is tried to ask on.
_ROUNDS = 6

schema = schemathesis.openapi.from_dict(openapi([each for each in OPERATIONS if each.name not in ENDLESS]))


def at_random(examples: int) -> settings:
    return settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


@pytest.fixture(scope="module")
def serving(deployment: ServeRig) -> ServeRig:
    deployment.need("ingest", "memory", "recall")
    return deployment


@pytest.fixture
def token(serving: ServeRig) -> Iterator[str]:
    """A token of one person, while everybody needs one."""
    with serving.token("ada", "read", "write", "chat", "operate") as text:
        yield text


def try_each(url: str, headers: dict[str, str], examples: int, number: int) -> None:
    """Send to each operation what is right and what is wrong."""
    for found in schema.get_all_operations():
        operation = found.ok()
        slow = operation.definition.raw["operationId"] in SLOW
        try_one(operation, url, headers, at_random(1 if slow else examples), number)


def try_one(operation: Any, url: str, headers: dict[str, str], often: settings, number: int) -> None:
    @seed(number)
    @often
    @given(made=operation.as_strategy())
    def tried(made: schemathesis.Case) -> None:
        answer = made.call(base_url=url, headers=headers, timeout=_ANSWER_SECONDS)
        made.validate_response(answer, checks=CHECKS)

    tried()


def follow_links(url: str, headers: dict[str, str], examples: int, number: int) -> None:
    """Ask on with what was answered, at least ``examples`` times.

    Hypothesis wants the same steps to lead to the same answers.  A server that lives answers otherwise once
    something was written, read or erased meanwhile: such a round ends, with all that it asked checked, and the
    next one has another seed.
    """
    answered = 0
    for attempt in range(max(examples, _ROUNDS)):
        answered += follow(url, headers, examples, number + 1_000_000 * attempt)
        if answered >= examples:
            return
    raise AssertionError(f"only {answered} of {examples} answers in many rounds, the first of seed {number}")


def follow(url: str, headers: dict[str, str], examples: int, number: int) -> int:
    """Go one round; return how many answers were checked."""
    answers: list[int] = []
    failures: list[BaseException] = []

    class Followed(schema.as_state_machine()):  # type: ignore[misc]  # made at run time
        def get_call_kwargs(self, case: schemathesis.Case) -> dict[str, Any]:
            return {"base_url": url, "headers": headers, "timeout": _ANSWER_SECONDS}

        def validate_response(self, response: Any, case: schemathesis.Case, **_: Any) -> None:
            try:
                case.validate_response(response, checks=CHECKS)
            except BaseException as failure:
                failures.append(failure)
                raise
            answers.append(response.status_code)

    asked = settings(at_random(examples), stateful_step_count=6)
    with contextlib.suppress(FlakyStrategyDefinition):
        seed(number)(Followed).run(settings=asked)
    if failures:  # shown again or not: it was seen
        raise failures[0]
    return len(answers)


# Few: what answers reads whole topics for some of them.  With a token, each is asked three times more.
@pytest.mark.parametrize("examples", [2])
def test_every_answer_is_described_and_none_is_our_mistake(serving: ServeRig, examples: int) -> None:
    try_each(serving.url, {}, examples, 1)


def test_what_is_answered_can_be_asked_on_with(serving: ServeRig) -> None:
    follow_links(serving.url, {}, 2, 1)


def test_with_a_token_of_one_person_and_with_none(serving: ServeRig, token: str) -> None:
    try_each(serving.url, {"authorization": f"Bearer {token}"}, 2, 2)
    try_each(serving.url, {}, 1, 3)


@pytest.mark.parametrize("name", ["from", "to", "as_of"])
@pytest.mark.parametrize("at", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00"])
def test_a_time_that_is_no_date_in_utc(serving: ServeRig, name: str, at: str) -> None:
    with serving.client() as client:
        asked = {"q": "tea", "user_id": "ada", name: at}
        for answer in (client.get("/v1/search", params=asked), client.post("/v1/search", json=asked)):
            assert (answer.status_code, name in answer.json()["detail"]) == (400, True), answer.text


@pytest.mark.soak
def test_for_as_long_as_one_likes(serving: ServeRig) -> None:
    until = time.monotonic() + float(os.environ.get("SWITCHBOARD_TEST_SCHEMA_SECONDS", "3600"))
    number = 10
    while time.monotonic() < until:
        number += 1
        try_each(serving.url, {}, 50, number)
        follow_links(serving.url, {}, 50, number)
