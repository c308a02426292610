"""What is read of people, pets, places, organizations and dates, and the graph that it makes."""

from __future__ import annotations

from random import Random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.graph import EntityType, GraphStatement
from processors.conversations.episodes.state import KeptTurn
from processors.extraction.graph.reading import read
from processors.extraction.graph.resolving import Graph, Resolved, resolve


def turn(text: str, number: int = 0, *, user: str = "ada", role: str = "user") -> KeptTurn:
    at = 1_000_000.0 + number
    return KeptTurn(
        "default", 0.0, number, f"t{number}", f"m{number}", user, "", role, text, at, at + 0.5, "log", 0, number
    )


def said(*texts: str) -> list[GraphStatement]:
    return list(read("c", [turn(text, number) for number, text in enumerate(texts)]))


def triples(*texts: str) -> set[tuple[str, str, str]]:
    graph = resolve(said(*texts))
    holding = [each for each in graph.relations.values() if each.valid_to is None]
    return {(each.from_name, each.relation, each.to_name) for each in holding}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("My sister Anna lives in Berlin.", {("user", "sister", "Anna"), ("Anna", "lives_in", "Berlin")}),
        ("We took our cat Minka along.", {("user", "pet", "Minka")}),
        ("Does my sister Anna live in Berlin?", {("user", "sister", "Anna")}),
        ("My dogs are called Rex, Luna and Max.",
         {("user", "pet", "Rex"), ("user", "pet", "Luna"), ("user", "pet", "Max")}),
        ("My sister called. Her name is Anna.", {("user", "sister", "Anna")}),
        ("My sister's husband Tom is nice.", {("user", "sister", "sister"), ("sister", "husband", "Tom")}),
        ("My friend Zoë studies at MIT.", {("user", "friend", "Zoë"), ("Zoë", "studies_at", "MIT")}),
    ],
)  # fmt: skip
def test_what_is_stated_plainly_is_read(text: str, expected: set[tuple[str, str, str]]) -> None:
    assert triples(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Translate this: My sister Anna lives in Berlin.",
        'He said "my sister Anna lives in Rome".',
        "My name is Mike and I sell books.",
        "I don't live in Berlin.",
        "She lives in Berlin.",
        "",
    ],
)
def test_what_is_not_so_or_not_clear_is_passed_over(text: str) -> None:
    assert triples(text) == set()


def test_sister_name_and_pronoun_are_one() -> None:
    graph = resolve(said("My sister Anna lives in Berlin. She works at Siemens.", "Her birthday is on May 5."))
    (anna,) = [each for each in graph.entities.values() if each.name == "Anna"]
    assert anna.type is EntityType.PERSON
    assert anna.aliases == ("my sister",)
    tied = {each.relation for each in graph.relations.values() if each.from_id == anna.entity_id}
    assert tied == {"lives_in", "works_at", "birthday"}


TEXTS = (
    "My sister Anna lives in Berlin.",
    "My sister lives in Rome.",
    "My colleague Anna lives in Paris.",
    "Anna works at Siemens.",
    "I moved to Munich.",
    "I live in Hamburg.",
    "I no longer live in Munich.",
    "I have a dog called Rex.",
    "My brother Tom Becker is married to Eva.",
    "Tom works at Globex.",
)


@given(st.lists(st.sampled_from(TEXTS), max_size=12), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=100)
def test_the_graph_is_always_that_of_what_is_left(texts: list[str], chance: Random) -> None:
    coming, known, resolved = said(*texts), set[GraphStatement](), Resolved()
    chance.shuffle(coming)
    while coming:
        added, coming = coming[:2], coming[2:]
        gone = [each for each in known if chance.random() < 0.3]
        known = known.difference(gone).union(added)
        before = Graph(dict(resolved.graph.entities), dict(resolved.graph.relations))
        done = resolved.change(added, gone)
        assert resolved.graph == resolve(known)
        for was, changed, now in zip(before, done, resolved.graph, strict=True):
            assert {name: each for name, each in {**was, **changed}.items() if each is not None} == now
            assert all(was.get(name) != each for name, each in changed.items())


def test_a_statement_is_of_its_tenant_person_and_turn_alone() -> None:
    own = turn("My sister Anna lives in Berlin.")
    ids = set()
    for changes in ({}, {"tenant_id": "acme"}, {"user_id": "bob"}, {"turn_id": "t9"}):
        changed = msgspec.structs.replace(own, **changes)
        statements = list(read("c7", [changed]))
        assert {(each.tenant_id, each.user_id) for each in statements} == {(changed.tenant_id, changed.user_id)}
        assert {each.source.conversation_id for each in statements} == {"c7"}
        assert {each.source.turn_id for each in statements} == {changed.turn_id}
        ids |= {each.statement_id for each in statements}
    assert len(ids) == 4 * len(list(read("c7", [own])))
