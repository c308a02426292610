"""What is embedded of a fact: its words without the person, whom all facts have in common."""

from __future__ import annotations

import msgspec
import pytest
from told_facts import evidence, told

from processors.retrieval.embedding.wording import request_for_fact


@pytest.mark.parametrize(
    ("statement", "embedded"),
    [
        ("User likes rye bread", "likes rye bread"),
        ("User's sister lives in Rome", "sister lives in Rome"),
        ("Userland is where they work", "Userland is where they work"),
        ("Helps a User group", "Helps a User group"),
    ],
)
def test_the_person_is_no_part_of_it(statement: str, embedded: str) -> None:
    fact = msgspec.structs.replace(told(evidence(1)), statement=statement)
    assert request_for_fact(fact).text == embedded
