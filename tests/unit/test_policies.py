"""Policies of tenants: what they may say, what no note may mention, and what a model is shown."""

from __future__ import annotations

import time
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from models.errors import ConfigurationError, DependencyUnavailable
from models.policies import NO_RULES, Category, NeverKept, Policy, Rules, check, lifetimes, rules_hash
from models.statements import Kind
from processors.extraction.policies.never import NeverKeptWords
from processors.prompts import extraction, notes
from streams.clients.policies.known import KnownPolicies
from streams.config.settings import Settings
from streams.server.process.services import open_service
from streams.telemetry.metrics import Metrics
from tests import prompt_examples as examples
from tests.agents.memory_samples import said, window

RULES = Rules(
    instructions="Note travel plans only.",
    categories=(Category(name="trip", description="A journey that is booked."),),
    never_kept=NeverKept(topics=("diabetes",), patterns=(r"\bPX-\d+",)),
)


@pytest.mark.parametrize(
    ("topic", "text"),
    [
        ("diabetes", "DIABETES’s early signs"),
        ("type 2 diabetes", "it is type\n2  diabetes"),
        ("HIV", "HIVの検査を受けた"),
        ("糖尿病", "我有糖尿病很多年"),
        ("मधुमेह", "मुझे मधुमेह है"),
        ("diabetes", "dia\u00adbetes"),
    ],
)
def test_topics_are_found_as_words_of_any_script(topic: str, text: str) -> None:
    assert NeverKeptWords(NeverKept(topics=(topic,))).mentioned([text])


@pytest.mark.parametrize(
    ("topic", "text"),
    [("art", "the start of it"), ("HIV", "an archive"), ("मधु", "मधुमेह"), ("type 2", "type 21"), ("a.c", "abc")],
)
def test_topics_are_not_found_within_words(topic: str, text: str) -> None:
    assert not NeverKeptWords(NeverKept(topics=(topic,))).mentioned([text])


def test_patterns_of_exponential_kind_take_linear_time() -> None:
    words = NeverKeptWords(NeverKept(patterns=(r"(a+)+$", r"(x|x)*y")))
    began = time.process_time()
    assert not words.mentioned(["a" * 60_000 + "!" + "x" * 60_000])
    assert time.process_time() - began < 30  # backtracking would not end at all


@pytest.mark.parametrize(
    ("rules", "wrong"),
    [
        (Rules(never_kept=NeverKept(patterns=("(",))), "no regular expression"),
        (Rules(never_kept=NeverKept(patterns=("x*",))), "matches the empty text"),
        (Rules(never_kept=NeverKept(topics=("--",))), "no letter and no digit"),
        (Rules(categories=(Category(name="pet", description="x"),)), "there already"),
    ],
)
def test_rules_that_cannot_be_followed_are_refused(rules: Rules, wrong: str) -> None:
    with pytest.raises(ConfigurationError, match=wrong):
        check(rules)


def test_the_hash_is_of_the_rules_alone() -> None:
    assert rules_hash(NO_RULES) == ""
    assert rules_hash(RULES) != rules_hash(msgspec.structs.replace(RULES, instructions="Note all."))
    again = msgspec.json.decode(msgspec.json.encode(RULES), type=Rules)
    assert rules_hash(again) == rules_hash(RULES)


def test_lifetimes_are_hours_or_days() -> None:
    found = lifetimes(Rules(expires_after={Kind.EVENT: "90d", Kind.STATE: "36h"}))
    assert found == {Kind.EVENT: timedelta(days=90), Kind.STATE: timedelta(hours=36)}


class TestPrompt:
    def test_rules_stand_behind_the_stable_prefix(self) -> None:
        plain = extraction.prompt([examples.window()])
        shown = extraction.prompt([examples.window()], rules=RULES)
        assert shown.system.startswith(plain.system)
        added = shown.system.removeprefix(plain.system)
        assert "Note travel plans only." in added and "trip: A journey that is booked." in added
        assert "diabetes" in added
        assert shown.user == plain.user
        enum = shown.schema["properties"]["notes"]["items"]["properties"]["attribute"]["enum"]
        assert enum[-1] == "trip"
        assert "trip" not in str(plain.schema) and "trip" not in str(extraction.SCHEMA)

    def test_notes_of_a_category_fill_a_slot_of_its_name(self) -> None:
        read = self.read("trip", ("trip",))
        assert [(each.attribute, each.value, each.kind) for each in read.statements] == [
            ("category/trip", "peanuts", Kind.STATE)
        ]

    def test_a_category_that_nobody_set_is_malformed(self) -> None:
        assert self.read("trip", ()).dropped == ("malformed",)

    @staticmethod
    def read(attribute: str, categories: tuple[str, ...]) -> notes.Reading:
        note: dict[str, Any] = {
            "n": 1, "quote": "I am allergic to peanuts", "note": "The user is allergic to peanuts.",
            "attribute": attribute, "value": "peanuts",
        }  # fmt: skip
        part = msgspec.json.encode({"notes": [note]}).decode()
        return notes.read(part, window(said("I am allergic to peanuts")), categories)


class TestKnown:
    async def test_the_memory_service_needs_them_before_the_first_window(self, tmp_path: Path) -> None:
        settings = Settings(
            bootstrap_servers="127.0.0.1:1", data_dir=tmp_path, request_timeout_seconds=1.0, metrics_port=0
        )
        async with AsyncExitStack() as resources:
            service = await open_service("memory", settings, Metrics(), resources)
            (needed,) = service.needed
            with pytest.raises(DependencyUnavailable, match=r"memory\.policies\.v1 has not been read"):
                await needed()

    def test_a_policy_that_cannot_be_followed_leaves_the_last(self) -> None:
        known = KnownPolicies(Settings())
        good = self.policy(RULES)
        known._set({"default": good})
        known._set({"default": msgspec.structs.replace(good, never_kept=NeverKept(patterns=("(",)))})
        assert known.of("default").hash == rules_hash(RULES)
        known._set({})
        assert known.of("default").hash == ""

    def test_each_tenant_has_its_own(self) -> None:
        known = KnownPolicies(Settings())
        known._set({"clinic": self.policy(RULES)})
        assert known.of("clinic").never_kept.mentioned(["PX-77"])
        assert not known.of("default").never_kept.mentioned(["PX-77"])

    @staticmethod
    def policy(rules: Rules) -> Policy:
        named = {name: getattr(rules, name) for name in Rules.__struct_fields__}
        return msgspec.convert(
            msgspec.to_builtins({**named, "tenant_id": "clinic", "set_at": "2026-03-01T09:15:12Z"}), Policy
        )
