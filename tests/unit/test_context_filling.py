"""What of what was found is in a context: which is relevant, which stand for others, what has room."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import numpy as np
import pytest
import samples

from models.context import Context, FoundBy, LeftOut, Tier
from models.messages import Role
from models.turns import Turn
from processors.retrieval.context.adding import lacks, with_notes
from processors.retrieval.context.packing import Budget, Packed, Packer
from processors.retrieval.context.ranking import ALIKE, Candidate, Ranked, diverse, ranked
from processors.retrieval.context.remembering import offered
from processors.retrieval.context.removal import without

NOW = datetime(2026, 3, 1, 10, 0, tzinfo=UTC)


def candidate(name: str, similarity: float = 0.5, **other: object) -> Candidate:
    made = Candidate(id=name, text=f"about {name}", found_by=FoundBy.MEANING, similarity=similarity, at=NOW)
    return msgspec.structs.replace(made, **{"words": (name,), **other})


def names(found: list[Ranked]) -> list[str]:
    return [each.candidate.id for each in found]


class TestWhatIsAlike:
    def test_the_surest_stands_for_it(self) -> None:
        one, other = candidate("a", 0.9, confidence=0.5), candidate("b", 0.6, confidence=0.9, words=("a",))
        kept, instead = diverse(ranked([one, other, candidate("c", 0.7)], NOW))
        assert (names(kept), instead) == (["c", "b"], {"a": "b"})

    def test_vectors_decide_where_both_exist_and_words_otherwise(self) -> None:
        near = np.array([ALIKE, 0.6], np.float32), np.array([1.0, 0.0], np.float32)
        one, other = candidate("a", vector=near[0]), candidate("b", vector=near[1])
        assert names(diverse(ranked([one, other], NOW))[0]) == ["b"]
        far = candidate("b", vector=np.array([0.0, 1.0], np.float32), words=("a",))
        assert names(diverse(ranked([one, far], NOW))[0]) == ["a", "b"]
        for some in (
            [one, candidate("b", words=("a",))],
            [candidate("a"), candidate("b", words=("a",), vector=near[1])],
        ):
            assert names(diverse(ranked(some, NOW))[0]) == ["b"]


class TestWhatWasSaidBefore:
    def offered(self, *texts: str, facts: str = "", question: str = "", role: Role = Role.USER) -> list[str]:
        turns = [candidate(f"t{n}", text=text, role=role) for n, text in enumerate(texts)]
        known = [candidate("f", text=facts)] if facts else []
        return [each.text for each in offered(turns, known, {"t0": question} if question else {})]

    def test_a_short_answer_is_shown_with_question_or_not(self) -> None:
        assert self.offered("Blueberries.") == []
        shown = self.offered("Blueberries.", question="What do you like best?")
        assert shown == ["What do you like best? – Blueberries."]
        assert self.offered("Great choice!", role=Role.ASSISTANT) == []

    def test_a_sentence_that_is_a_fact_is_not_shown_again(self) -> None:
        fact = "I can't eat gluten, I have coeliac disease."
        assert self.offered(fact, facts=fact) == []
        said = f"{fact} The bakery at the corner sells rice bread."
        assert self.offered(said, facts=fact) == ["The bakery at the corner sells rice bread."]
        assert (
            self.offered("Penicillin.", facts="Any allergies? – Penicillin.", question="Any allergies?") == []
        )


def turn(index: int, text: str = "hello there", speaker: str = "") -> Turn:
    return samples.turn(index, text, at=NOW, arrived_at=NOW, speaker=speaker)


def pack(budget: Budget, *recent: Turn, **found: list[Candidate]) -> Packed:
    """A token is a word."""
    given = {name: ranked(some, NOW) for name, some in found.items()}
    return Packer(budget, lambda text: len(text.split())).pack(recent, **given)


def inside(packed: Packed, tier: Tier) -> list[str]:
    return [item.id for item in packed.items if item.tier is tier and item.left_out is None]


def outside(packed: Packed, tier: Tier) -> dict[str, LeftOut | None]:
    return {item.id: item.left_out for item in packed.items if item.tier is tier and item.left_out}


class TestTiers:
    def test_facts_fill_the_budget_and_unrelated_episodes_do_not(self) -> None:
        facts = [candidate(f"f{n:02}", 0.1, text="word " * 18) for n in range(99)]
        packed = pack(Budget(total=1000), facts=facts, episodes=[candidate("e", 0.1)])
        assert packed.tokens > 970
        assert set(outside(packed, Tier.FACTS).values()) == {LeftOut.NO_ROOM}
        assert outside(packed, Tier.EPISODES) == {"e": LeftOut.UNLIKE}

    def test_facts_leave_the_best_episodes_their_least_share(self) -> None:
        facts = [candidate(f"f{n:02}", 0.9, text="word " * 18) for n in range(99)]
        packed = pack(Budget(total=500), facts=facts, episodes=[candidate("e", 0.4)])
        assert inside(packed, Tier.EPISODES) == ["e"]

    def test_standing_notes_come_first_however_little_they_bear_on(self) -> None:
        packed = pack(
            Budget(),
            facts=[candidate("near", 0.3)],
            lasting=[candidate("allergy", 0.1, found_by=FoundBy.KIND)],
            instructions=[candidate("brief", 0.0, found_by=FoundBy.KIND)],
        )
        shown = [item.id for item in packed.items if item.left_out is None]
        assert shown == ["brief", "allergy", "near"]

    def test_the_last_message_is_cut_to_its_room(self) -> None:
        packed = pack(Budget(recent=20, recent_turns=2), turn(0, "one"), turn(1, "two " * 60), turn(2, "three"))
        assert inside(packed, Tier.RECENT) == [turn(2).turn_id]
        assert outside(packed, Tier.RECENT) == {
            turn(1).turn_id: LeftOut.TOO_LARGE,
            turn(0).turn_id: LeftOut.ENOUGH,
        }
        packed = pack(Budget(recent=20), turn(2, "word " * 60))
        (item,) = packed.items
        assert item.cut and item.left_out is None and item.text.startswith("word word")


class TestWhatIsGoneSince:
    def context(self) -> Context:
        packed = pack(Budget(), turn(0, "hello"), facts=[candidate("a", speaker="Ada"), candidate("b")])
        shown = {"tokens": packed.tokens, "tiers": packed.tiers, "items": packed.items}
        return samples.context(turn(0), **shown)

    @pytest.mark.parametrize("why", [LeftOut.ERASED, LeftOut.ENOUGH])
    def test_it_takes_no_room_and_tells_nothing_erased(self, why: LeftOut) -> None:
        before = self.context()
        after = without(before, {"a": why})
        gone = after.items[-1]
        assert (gone.id, gone.left_out) == ("a", why)
        told = (gone.text, gone.speaker)
        assert told == (("", "") if why is LeftOut.ERASED else ("about a", "Ada"))
        cost = next(item.tokens for item in before.items if item.id == "a")
        assert after.tokens == before.tokens - cost
        facts = next(use for use in after.tiers if use.tier is Tier.FACTS)
        assert (facts.items, facts.left_out) == (1, 1)


class TestWhatStandsSince:
    def note(self, name: str = "n", text: str = "Peanuts make me ill.") -> Candidate:
        return candidate(name, 0.0, text=text, found_by=FoundBy.KIND, lasting=True)

    def context(self, **found: list[Candidate]) -> Context:
        packed = pack(Budget(), turn(0, "hello"), **found)
        return samples.context(turn(0), tokens=packed.tokens, tiers=packed.tiers, items=packed.items)

    def read(self, context: Context, *notes: Candidate) -> Packed:
        after = with_notes(context, notes, NOW, lambda text: len(text.split()))
        assert after.tokens == sum(use.tokens for use in after.tiers)
        return Packed(after.items, after.tiers, after.tokens)

    def test_a_note_is_lacking_unless_it_was_known_as_such(self) -> None:
        alike = [candidate(name, words=("same",), confidence=sure) for name, sure in (("a", 0.9), ("b", 0.5))]
        context = self.context(facts=alike, lasting=[self.note()])
        assert not lacks(context, ["n", "a"])
        assert lacks(context, ["n", "new"])
        assert lacks(context, ["b"]), "it is out, and stands by now"
        out = without(context, {"n": LeftOut.ENDED})
        assert not lacks(out, ["n"])

    def test_a_fact_that_stands_by_now_is_in_once(self) -> None:
        alike = [candidate(name, words=("same",), confidence=sure) for name, sure in (("a", 0.9), ("b", 0.5))]
        packed = self.read(self.context(facts=alike), self.note("b"), self.note("a"))
        assert sorted(inside(packed, Tier.FACTS)) == ["a", "b"]
        assert outside(packed, Tier.FACTS) == {}
        assert {item.found_by for item in packed.items if item.tier is Tier.FACTS} == {FoundBy.KIND}

    @pytest.mark.parametrize("why", [LeftOut.ERASED, LeftOut.ENDED])
    def test_a_note_found_gone_meanwhile_stays_out(self, why: LeftOut) -> None:
        context = without(self.context(lasting=[self.note()]), {"n": why})
        packed = self.read(context, self.note(), self.note("new"))
        assert (inside(packed, Tier.FACTS), outside(packed, Tier.FACTS)) == (["new"], {"n": why})

    def test_all_else_that_is_in_or_out_stays_so(self) -> None:
        context = self.context(
            instructions=[candidate("brief", found_by=FoundBy.KIND)],
            facts=[candidate("a"), candidate("b", words=("a",), confidence=0.5)],
            lasting=[self.note()],
            episodes=[candidate("e"), candidate("far", 0.1)],
        )
        packed = self.read(context, self.note("new"))
        assert inside(packed, Tier.INSTRUCTIONS) == ["brief"]
        assert inside(packed, Tier.FACTS) == ["a", "n", "new"]
        assert inside(packed, Tier.EPISODES) == ["e"]
        assert outside(packed, Tier.FACTS) == {"b": LeftOut.LIKE_ANOTHER}
        assert outside(packed, Tier.EPISODES) == {"far": LeftOut.UNLIKE}
        before = {item.id: item for item in context.items}
        assert [item for item in packed.items if item.id != "new" and item != before[item.id]] == []

    @pytest.mark.parametrize(
        ("said", "role", "shown"),
        [
            ("Peanuts make me ill.", Role.USER, None),
            ("user: Peanuts make me ill. … assistant: Noted, no nuts at all then.", None,
             "assistant: Noted, no nuts at all then."),
            ("user: Peanuts make me ill. I like plums at breakfast. … assistant: Noted.", None,
             "user: I like plums at breakfast. … assistant: Noted."),
            ("Peanuts make me ill. … I like plums at breakfast.", Role.USER, "I like plums at breakfast."),
            ("Peanuts make me ill. I know it.", Role.USER, None),
            ("Plums … and more of them.", None, "Plums … and more of them."),
        ],
    )  # fmt: skip
    def test_a_sentence_that_a_new_note_quotes_is_not_shown_again(
        self, said: str, role: Role | None, shown: str | None
    ) -> None:
        context = self.context(episodes=[candidate("e", text=said, role=role)])
        packed = self.read(context, self.note())
        told = [item.text for item in packed.items if item.tier is Tier.EPISODES]
        assert told == ([] if shown is None else [shown])
        assert all(item.cut is (item.text != said) for item in packed.items if item.tier is Tier.EPISODES)
