"""What a model decides about near facts: only about what is in front of it, and once."""

from __future__ import annotations

import json
from typing import Any

import pytest
from injections import ATTEMPTS

from models.consolidation import Decision
from models.ports import MergeVerdict
from processors.prompts import fence, merging
from tests import prompt_examples as examples

CLUSTERS = [
    examples.near("a", "Likes coffee", "Drinks coffee daily", "Likes tea"),
    examples.near("b", "Is vegan", "Eats meat"),
]


def answer(*decisions: Any) -> str:
    return json.dumps({"clusters": list(decisions)})


def one(number: Any = 1, decision: Any = "MERGE", facts: Any = (1, 2)) -> dict[str, Any]:
    return {"cluster": number, "decision": decision, "facts": facts}


def test_it_decides_about_what_it_names() -> None:
    found = merging.read(answer(one(), one(2, "CONTRADICTION")), CLUSTERS)
    assert found == (
        MergeVerdict("a", Decision.MERGE, ("a-1", "a-2")),
        MergeVerdict("b", Decision.CONTRADICTION, ("b-1", "b-2")),
    )


@pytest.mark.parametrize(
    "said",
    [
        one(3),
        one("1"),
        one(decision="merge"),
        one(facts=[1, 4]),
        one(facts=[1, 1]),
        one(facts=["a-1", "a-2"]),
        None,
    ],
)
def test_what_is_malformed_or_names_others_decides_nothing(said: Any) -> None:
    assert merging.read(answer(said), CLUSTERS) == ()


def test_what_holds_now_is_named_first() -> None:
    (verdict,) = merging.read(answer(one(decision="SUPERSEDES", facts=[2, 1])), CLUSTERS)
    assert verdict.decision is Decision.SUPERSEDES
    assert verdict.fact_ids == (CLUSTERS[0].facts[1].fact_id, CLUSTERS[0].facts[0].fact_id)


def test_two_words_about_one_cluster_are_none() -> None:
    assert merging.read(answer(one(), one(decision="KEEP_BOTH")), CLUSTERS) == ()


@pytest.mark.parametrize(
    "text", ["", "no", "[]", '{"clusters": null}', '{"clusters": [{"cluster": 1, "decision": "MER']
)
def test_no_answer_decides_nothing(text: str) -> None:
    assert merging.read(text, CLUSTERS) == ()


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_what_was_said_stays_inside_the_data(attempt: str) -> None:
    prompt = merging.prompt([examples.near("a", attempt, "Likes tea")])
    assert prompt.system == merging.SYSTEM
    assert [each["text"] for each in fence.opened(prompt.user)] == [attempt, "Likes tea"]
    assert len(prompt.user.splitlines()) == 4
    assert "a-1" not in prompt.user, "no ids are shown"
