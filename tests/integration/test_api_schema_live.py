"""Requests at random against a running serve: no 5xx, and no answer that the description lacks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from serve_rig import ServeRig

from streams.server.api.catalog import OPERATIONS
from streams.server.api.openapi import openapi

# What runs here makes requests; who answers runs elsewhere.
pytestmark = [pytest.mark.kafka, pytest.mark.uncounted, pytest.mark.long]

#: Without an end of their own (tests/unit/test_api_schema.py has what they refuse), or seconds long.
ENDLESS = {"get_events", "get_turn_events", "post_turn"}

#: These read whole topics, for what they erase.
SLOW = {"delete_person", "delete_conversation"}

CHECKS = [not_a_server_error, content_type_conformance, response_schema_conformance, status_code_conformance]

_ANSWER_SECONDS = 60


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


# Few: what answers reads whole topics for some of them.  With a token, each is asked three times more.
@pytest.mark.parametrize("examples", [2])
def test_every_answer_is_described_and_none_is_our_mistake(serving: ServeRig, examples: int) -> None:
    try_each(serving.url, {}, examples, 1)


def test_with_a_token_of_one_person_and_with_none(serving: ServeRig, token: str) -> None:
    try_each(serving.url, {"authorization": f"Bearer {token}"}, 2, 2)
    try_each(serving.url, {}, 1, 3)
