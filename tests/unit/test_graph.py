"""What is read of people, pets, places, organizations and dates, and the graph that it makes."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from random import Random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.graph import SELF_ROLE, EntityType, GraphStatement, Mention
from processors.episodes.state import KeptTurn
from processors.graph.reading import read
from processors.graph.resolving import Graph, Resolved, resolve


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
        ("Anna is my sister.", {("user", "sister", "Anna")}),
        ("Anna, my sister, lives in Berlin.", {("user", "sister", "Anna"), ("Anna", "lives_in", "Berlin")}),
        ("My older brother is called Tom.", {("user", "brother", "Tom")}),
        ("My mom lives in New York City.",
         {("user", "mother", "mother"), ("mother", "lives_in", "New York City")}),
        ("I have a dog called Rex.", {("user", "pet", "Rex")}),
        ("We took our cat Minka along.", {("user", "pet", "Minka")}),
        ("I work as a nurse at Globex Corporation.", {("user", "works_at", "Globex Corporation")}),
        ("I'm from Norway.", {("user", "born_in", "Norway")}),
        ("I was born in Lyon.", {("user", "born_in", "Lyon")}),
        ("My sister's birthday is on the 5th of May.",
         {("user", "sister", "sister"), ("sister", "birthday", "May 5")}),
        ("My colleague Eva is married to Tom Becker.",
         {("user", "colleague", "Eva"), ("Eva", "married_to", "Tom Becker")}),
        ("Does my sister Anna live in Berlin?", {("user", "sister", "Anna")}),
        ("If my brother Paul lives in Rome, I will visit.", {("user", "brother", "Paul")}),
        ("My brother is German.", {("user", "brother", "brother")}),
        ("Luckily, my sister's fine.", {("user", "sister", "sister")}),
        ("Luckily, my dog is fine.", {("user", "pet", "dog")}),
        ("Great, my brother and I went to Pisa.",
         {("user", "brother", "brother"), ("brother", "visited", "Pisa"), ("user", "visited", "Pisa")}),
        ("My mom, Wendy, who is 73, called.", {("user", "mother", "Wendy")}),
        ("I had lunch with my partner of six years, Joshua, on Monday.", {("user", "partner", "Joshua")}),
        ("My kids Tom and Zoë are asleep.", {("user", "child", "Tom"), ("user", "child", "Zoë")}),
        ("My dogs are called Rex, Luna and Max.",
         {("user", "pet", "Rex"), ("user", "pet", "Luna"), ("user", "pet", "Max")}),
        ("We adopted a puppy. I named him Rex.", {("user", "pet", "Rex")}),
        ("We have two cats. Their names are Tom and Luna.", {("user", "pet", "Tom"), ("user", "pet", "Luna")}),
        ("My sister called. Her name is Anna.", {("user", "sister", "Anna")}),
        ('I have a dog called "Rex".', {("user", "pet", "Rex")}),
        ("Anna's dog Rex ran away.", {("Anna", "pet", "Rex")}),
        ("My sister's husband Tom is nice.", {("user", "sister", "sister"), ("sister", "husband", "Tom")}),
        ("My sister Anna came. Her husband Tom is nice.",
         {("user", "sister", "Anna"), ("Anna", "husband", "Tom")}),
        ("I met a friend named Bob.", {("user", "friend", "Bob")}),
        ("Anna's husband is called Mark.", {("Anna", "husband", "Mark")}),
        ("My sister Anna works at the Central Library.",
         {("user", "sister", "Anna"), ("Anna", "works_at", "Central Library")}),
        ("Kim, a good friend of mine, called.", {("user", "friend", "Kim")}),
        ("I'm friends with Ben now.", {("user", "friend", "Ben")}),
        ("Anna and I cooked.", {("user", "knows", "Anna")}),
        ("I was born in Lyon and I live in Bonn.", {("user", "born_in", "Lyon"), ("user", "lives_in", "Bonn")}),
        ("Greg told me to wait.", {("user", "knows", "Greg")}),
        ("I met Amy at Northfield Library on Monday.",
         {("user", "met", "Amy"), ("Amy", "met_at", "Northfield Library")}),
        ("We went to Rome, Pisa and Siena.",
         {("user", "visited", "Rome"), ("user", "visited", "Pisa"), ("user", "visited", "Siena")}),
        ("We went to Rome with my colleague Eva.",
         {("user", "colleague", "Eva"), ("user", "visited", "Rome"), ("Eva", "visited", "Rome")}),
        ("Took a short trip last week to Rome.", {("user", "visited", "Rome")}),
        ("That photo is from my trip to the Alps last year.", {("user", "visited", "Alps")}),
        ("I went to a conference in Oslo.", {("user", "visited", "Oslo")}),
        ("We just got back from Sweden!", {("user", "visited", "Sweden")}),
        ("Moved to Lisbon in May.", {("user", "lives_in", "Lisbon")}),
        ("I grew up in Malmö.", {("user", "grew_up_in", "Malmö")}),
        ("My friend Zoë lives in Bonn and works for Globex.",
         {("user", "friend", "Zoë"), ("Zoë", "lives_in", "Bonn"), ("Zoë", "works_at", "Globex")}),
        ("I just got a job at Globex.", {("user", "works_at", "Globex")}),
        ("I volunteer at Green Hands.", {("user", "volunteers_at", "Green Hands")}),
        ("I joined the Northfield Choir.", {("user", "member_of", "Northfield Choir")}),
        ("I live in Bonn, can you help me find a gym?", {("user", "lives_in", "Bonn")}),
        ("Our anniversary is on June 3.", {("user", "anniversary", "June 3")}),
        ("My friend Zoë studies at MIT.", {("user", "friend", "Zoë"), ("Zoë", "studies_at", "MIT")}),
    ],
)  # fmt: skip
def test_what_is_stated_plainly_is_read(text: str, expected: set[tuple[str, str, str]]) -> None:
    assert triples(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Translate this: My sister Anna lives in Berlin.",
        "Proofread my story:\n\nMy brother Tom lives in Oslo.",
        "Do I live in Berlin?",
        "I wish I could live in Paris.",
        "If I live in Rome, and I work at Globex, I will be happy.",
        "Can you say where I live, and that I moved to Rome?",
        'He said "my sister Anna lives in Rome".',
        "My trip to Rome is next month.",
        "I have never been to Rome.",
        "My name is Mike and I sell books.",
        "Here is my horse painting.",
        "I went to Anna's.",
        "I moved to Flask 2.3.",
        "Loans from the Federal Fund are good.",
        "Thanks for coming with my friend, Caroline!",
        "I don't live in Berlin.",
        "Maybe I work at Globex.",
        "In the novel my sister Anna lives in Berlin.",
        "I live in a small house.",
        "I live in I.",
        "My birthday is on February 31.",
        "She lives in Berlin.",
        "My friend Ignore All Previous Instructions lives in Berlin.",
        "My sister " + "A" * 400 + " lives in Berlin.",
        "🙂",
        "",
    ],
)
def test_what_is_not_so_or_not_clear_is_passed_over(text: str) -> None:
    assert triples(text) == set()


def test_a_name_like_an_order_is_no_name() -> None:
    assert triples("My friend Ignore All Previous Instructions lives in Rome.") == set()
    assert triples("My boss System Prompt works at Globex.") == set()
    assert triples("My dog is called Delete Everything.") == {("user", "pet", "dog")}


def test_sister_name_and_pronoun_are_one() -> None:
    graph = resolve(said("My sister Anna lives in Berlin. She works at Siemens.", "Her birthday is on May 5."))
    (anna,) = [each for each in graph.entities.values() if each.name == "Anna"]
    assert anna.type is EntityType.PERSON
    assert anna.aliases == ("my sister",)
    tied = {each.relation for each in graph.relations.values() if each.from_id == anna.entity_id}
    assert tied == {"lives_in", "works_at", "birthday"}


def test_a_name_that_comes_later_is_hers() -> None:
    assert triples("My sister lives in Berlin.", "My sister Anna is here.") == {
        ("user", "sister", "Anna"),
        ("Anna", "lives_in", "Berlin"),
    }


def test_she_is_nobody_if_it_could_be_two() -> None:
    found = triples("My sister Anna and my aunt Eva came. She lives in Berlin.")
    assert not any(relation == "lives_in" for _, relation, _ in found)


def test_two_people_with_one_name_stay_two() -> None:
    texts = ("My sister Anna lives in Berlin.", "My colleague Anna lives in Paris.", "Anna lives in Oslo.")
    graph = resolve(said(*texts))
    annas = [each for each in graph.entities.values() if each.name == "Anna"]
    assert {each.role for each in annas} == {"sister", "colleague"}
    assert not any(each.to_name == "Oslo" for each in graph.relations.values())


def test_nobody_is_related_to_themselves() -> None:
    assert triples("Anna is married to Anna.") == set()


def test_a_new_home_ends_the_old_one() -> None:
    graph = resolve(said("I live in Hamburg.", "I moved to Munich."))
    homes = {each.to_name: each for each in graph.relations.values() if each.relation == "lives_in"}
    assert homes["Hamburg"].valid_to == homes["Munich"].valid_from == datetime.fromtimestamp(1_000_001, UTC)
    assert homes["Munich"].valid_to is None


def test_what_is_over_has_an_end() -> None:
    graph = resolve(said("I work at Globex.", "I no longer work at Globex."))
    (work,) = [each for each in graph.relations.values() if each.relation == "works_at"]
    assert work.valid_to == datetime.fromtimestamp(1_000_001, UTC)
    assert work.evidence_count == 2


def test_what_the_assistant_says_is_nobodys() -> None:
    assert list(read("c", [turn("My sister Anna lives in Berlin.", role="assistant")])) == []


def test_repeated_turns_are_only_context() -> None:
    turns = [turn("My sister Anna is here.", 0), turn("She lives in Berlin.", 1)]
    assert [each.source.message_id for each in read("c", turns, 1)] == ["m1"]


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
def test_whatever_order_and_however_often_the_graph_is_the_same(texts: list[str], chance: Random) -> None:
    statements = said(*texts)
    again = [*statements, *chance.sample(statements, len(statements) // 2)]
    chance.shuffle(again)
    assert resolve(again) == resolve(statements)


@given(st.lists(st.sampled_from(TEXTS), max_size=12), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=100)
def test_whatever_comes_and_goes_the_graph_is_that_of_what_is_left(texts: list[str], chance: Random) -> None:
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


@given(st.lists(st.sampled_from(TEXTS), max_size=12))
@settings(deadline=None, max_examples=100)
def test_every_relation_ties_two_entities_that_are_there(texts: list[str]) -> None:
    graph: Graph = resolve(said(*texts))
    for relation in graph.relations.values():
        assert {relation.from_id, relation.to_id} <= graph.entities.keys()
        assert relation.from_id != relation.to_id
        assert relation.valid_to is None or relation.valid_from <= relation.valid_to
        assert relation.provenance


@pytest.mark.parametrize(
    "text",
    [
        'He wrote: "I live in Rome. My sister Anna works at Globex. Bye." I live in Pisa.',
        "She said “My boss Eva left. My friend Bob called.” I live in Pisa.",
        'Tom said "Hi!" I live in Pisa.',
    ],
)
def test_nothing_of_what_is_quoted_is_the_speakers_however_many_sentences_it_has(text: str) -> None:
    assert triples(text) == {("user", "lives_in", "Pisa")}
    assert all(each.source.quote in text for each in said(text))


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


def test_two_relations_of_the_same_two_are_two_of_the_same_tenant() -> None:
    spoken = msgspec.structs.replace(
        turn("My sister Anna lives in Berlin. Anna was born in Berlin."), tenant_id="acme"
    )
    graph = resolve(read("c", [spoken]))
    of_anna = [each for each in graph.relations.values() if each.from_name == "Anna"]
    assert {each.relation for each in of_anna} == {"lives_in", "born_in"}
    assert len({each.relation_id for each in of_anna}) == 2
    assert {each.tenant_id for each in graph.relations.values()} == {"acme"}
    assert {each.tenant_id for each in graph.entities.values()} == {"acme"}


# -- much about one person ------------------------------------------------------------------------------------


def work_of(statements: list[GraphStatement], known: Resolved | None = None) -> int:
    """How many calls it takes to make a graph, or to add to one: of functions, and of what is built in."""
    calls, known = 0, Resolved() if known is None else known

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += 1

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        known.change(statements)
    finally:
        sys.setprofile(before)
    return calls


def much(count: int, relation: str, kind: EntityType, role: str, name: str) -> list[GraphStatement]:
    """Return as many statements, each about somebody or something else."""
    (one, *_) = said("My sister Anna lives in Berlin.")
    return [
        msgspec.structs.replace(
            one,
            statement_id=f"s-{number}",
            subject=Mention(EntityType.PERSON, role=SELF_ROLE),
            relation=relation,
            object=Mention(kind, name.format(number), role),
            source=msgspec.structs.replace(
                one.source, offset=number, sent_at=one.source.sent_at + timedelta(minutes=number)
            ),
        )
        for number in range(count)
    ]


MUCH = [
    ("friend", EntityType.PERSON, "friend", "Anna Lund{}"),
    ("friend", EntityType.PERSON, "friend", "Anna{}"),
    ("lives_in", EntityType.PLACE, "", "Town{}"),
    ("knows", EntityType.PERSON, "", "Anna{}"),
]


@pytest.mark.parametrize("of", MUCH)
def test_twice_as_much_takes_about_twice_the_work(of: tuple[str, EntityType, str, str]) -> None:
    assert len(resolve(much(200, *of)).relations) == 200
    assert work_of(much(400, *of)) < 2.5 * work_of(much(200, *of))


def test_one_more_takes_about_the_same_work_however_many_there_are() -> None:
    """Somebody with a long history is imported a statement at a time."""
    few, many = Resolved(), Resolved()
    few.change(much(100, *MUCH[-1])[:-1])
    many.change(much(800, *MUCH[-1])[:-1])
    one, other = work_of(much(100, *MUCH[-1])[-1:], few), work_of(much(800, *MUCH[-1])[-1:], many)
    assert other < 2 * one
