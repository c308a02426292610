"""Contexts for the next turn, made and kept with a real Valkey and the embedded indexes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from context_rig import NOW, Rig, fact, inside, open_rig, outside, turn

from models.context import Context, ContextRequest, FoundBy, LeftOut, Tier
from models.errors import ConsistencyError, DependencyUnavailable, NotFound
from models.facts import FactStatus
from models.messages import Role
from models.statements import Kind
from streams.agents.recall.context import ERASED, MOST_ATTEMPTS
from streams.contexts.reading import ContextStatus
from streams.contexts.requests import CONTEXTS
from streams.erasure.erasures import TENANT_HEADER, Erasing
from streams.runtime.testing import START
from streams.settings import Settings

QUESTION = "Which breakfast has blueberries?"


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    async with open_rig(tmp_path) as made:
        yield made


def request(*turns: object, attempt: int = 0) -> ContextRequest:
    return ContextRequest(turns=tuple(turns), conversation_id=turns[-1].conversation_id, attempt=attempt)  # type: ignore[arg-type, attr-defined]


class TestMaking:
    async def test_what_bears_on_the_last_turns_is_in_and_says_why(self, rig: Rig) -> None:
        await rig.know(
            fact("Likes blueberries for breakfast"),
            fact("Write answers in French", kind=Kind.INSTRUCTION),
            fact("Owns a red bicycle"),
            fact("Sails on Sundays"),
            fact("Plays the cello"),
        )
        await rig.hear(
            turn(0, "Blueberries with porridge are my breakfast.", "old"), turn(1, "Rain all week.", "old")
        )
        made = await rig.say(turn(0, "Good morning."), turn(1, "Hello."), turn(2, QUESTION))
        assert inside(made, Tier.RECENT) == ["Good morning.", "Hello.", QUESTION]
        assert inside(made, Tier.INSTRUCTIONS) == ["Write answers in French"]
        facts = inside(made, Tier.FACTS)
        assert (facts[0], len(facts)) == ("Likes blueberries for breakfast", 3)
        assert inside(made, Tier.EPISODES) == ["Blueberries with porridge are my breakfast."]
        by_text = {item.text: item for item in made.items}
        assert by_text["Write answers in French"].found_by is FoundBy.KIND
        assert by_text["Likes blueberries for breakfast"].found_by is FoundBy.MEANING
        assert by_text["Rain all week."].left_out is LeftOut.UNLIKE
        assert [turn(1).turn_id, turn(2).turn_id] == [*made.made_from]
        assert (made.after_index, made.by_meaning, made.budget) == (2, True, 1500)
        assert made.said_at == turn(2).arrived_at

    async def test_what_is_not_sure_enough_or_faded_is_not_offered(self, rig: Rig) -> None:
        await rig.know(
            fact("Likes blueberries", confidence=0.45),
            fact("Hates blueberries", status=FactStatus.CONTRADICTED),
            fact("Eats blueberries", last_evidence_at=NOW - timedelta(days=90), confidence=0.8),
            fact("Is allergic to blueberries", attribute="allergy", last_evidence_at=NOW - timedelta(days=900)),
            fact("Never praise blueberries", kind=Kind.INSTRUCTION, last_evidence_at=NOW - timedelta(days=900)),
        )
        made = await rig.say(turn(0, QUESTION))
        assert inside(made, Tier.FACTS) == ["Is allergic to blueberries"]
        assert inside(made, Tier.INSTRUCTIONS) == ["Never praise blueberries"]

    async def test_of_facts_that_say_the_same_the_surest_is_in(self, rig: Rig) -> None:
        await rig.know(
            fact("Likes fresh blueberries a lot", confidence=0.7),
            fact("Likes fresh blueberries a lot indeed", confidence=0.9),
        )
        made = await rig.say(turn(0, QUESTION))
        assert inside(made, Tier.FACTS) == ["Likes fresh blueberries a lot indeed"]
        left = outside(made)["Likes fresh blueberries a lot"]
        stands = next(item for item in made.items if item.text == "Likes fresh blueberries a lot indeed")
        assert (left.left_out, left.like) == (LeftOut.LIKE_ANOTHER, stands.id)

    async def test_a_person_without_facts_has_the_last_messages(self, rig: Rig) -> None:
        made = await rig.say(turn(0, QUESTION))
        assert [(item.tier, item.text) for item in made.items] == [(Tier.RECENT, QUESTION)]
        assert (await rig.read()).status is ContextStatus.NOTHING

    async def test_a_turn_of_white_space_is_looked_up_with_nothing_and_not_again(self, rig: Rig) -> None:
        await rig.know(fact("Plays the cello"))
        made = await rig.say(turn(0, " \n"))
        assert (made.made_from, inside(made, Tier.FACTS)) == ((), ["Plays the cello"])
        assert rig.again() == []

    async def test_a_fact_too_large_for_its_tier_keeps_nobody_else_out(self, rig: Rig) -> None:
        large = "Knows breakfast blueberries " + "and so on " * 700
        await rig.know(fact(large), fact("Likes blueberries"))
        made = await rig.say(turn(0, QUESTION))
        assert inside(made, Tier.FACTS) == ["Likes blueberries"]
        (left,) = outside(made).values()
        assert (left.left_out, left.cut, len(left.text), left.tokens > 2_000) == (
            LeftOut.TOO_LARGE,
            True,
            240,
            True,
        )

    async def test_a_message_too_large_for_its_tier_is_cut(self, rig: Rig) -> None:
        made = await rig.say(turn(0, "A word before."), turn(1, "and so on " * 900))
        recent = [item for item in made.items if item.tier is Tier.RECENT]
        assert [(item.cut, item.left_out) for item in recent] == [(True, None), (False, LeftOut.NO_ROOM)]
        assert recent[0].text.startswith("and so on and") and recent[0].text.endswith(" …")
        assert made.tiers[0].tokens <= 500

    @pytest.mark.parametrize("budget", [0, 3])
    async def test_a_budget_for_less_than_one_item_leaves_all_out(self, tmp_path: Path, budget: int) -> None:
        async with open_rig(tmp_path, context_tokens=budget) as rig:
            await rig.know(fact("Likes blueberries"), fact("Be brief", kind=Kind.INSTRUCTION))
            made = await rig.say(turn(0, QUESTION))
            assert (made.tokens, made.budget, len(made.items)) == (0, budget, 3)
            assert all(item.left_out is not None for item in made.items)
            assert (await rig.read()).prompt == ""

    async def test_an_earlier_life_of_the_conversation_is_no_part_of_it(self, rig: Rig) -> None:
        await rig.hear(turn(0, "Before."), turn(1, "Long ago."))
        again = START + timedelta(days=100)
        made = await rig.ask((turn(1, QUESTION, began_at=again),))
        assert inside(made[0], Tier.RECENT) == [QUESTION]

    async def test_an_episode_shows_its_turns_that_bear_on_what_was_said(self, rig: Rig) -> None:
        told = turn(0, "Blueberries with porridge are my breakfast.", "old")
        known = await rig.remember(told, turn(1, "Noted.", "old"), turn(2, "Rain all week.", "old"))
        other = await rig.remember(turn(0, "The tram was late again.", "older"))
        await rig.hear(turn(0, "For breakfast I had blueberries.", "open"))
        made = await rig.say(turn(0, QUESTION))
        by_id = {item.id: item for item in made.items if item.tier is Tier.EPISODES}
        assert {key for key, item in by_id.items() if item.left_out is None} == {
            known.episode_id,
            turn(0, conversation="open").turn_id,
        }
        shown = by_id[known.episode_id]
        assert (shown.text, shown.message_ids, shown.role) == (told.text, ("m0",), Role.USER)
        assert (shown.found_by, shown.tokens > 0, shown.score > 0) == (FoundBy.MEANING, True, True)
        assert by_id[other.episode_id].left_out is LeftOut.UNLIKE
        assert told.turn_id not in by_id

    async def test_what_is_going_on_is_no_episode_of_the_past(self, rig: Rig) -> None:
        said = turn(0, "Blueberries for breakfast."), turn(1, "Noted."), turn(2, QUESTION)
        await rig.remember(*said)
        made = await rig.say(*said)
        assert inside(made, Tier.EPISODES) == []
        assert inside(made, Tier.RECENT) == [each.text for each in said]

    async def test_allergies_and_constraints_are_in_whatever_is_spoken_of(self, rig: Rig) -> None:
        sure = [fact("Is allergic to wasps", attribute="allergy", kind=Kind.STATE)]
        sure += [fact("Cannot climb stairs", attribute="constraint", kind=Kind.STATE)]
        await rig.know(*sure, *[fact(f"Likes blueberries number {n} for breakfast") for n in range(30)])
        made = await rig.say(turn(0, QUESTION))
        facts = [item for item in made.items if item.tier is Tier.FACTS and item.left_out is None]
        assert {item.text for item in facts if item.found_by is FoundBy.KIND} == {
            each.statement for each in sure
        }
        assert [item for item in facts if item.found_by is not FoundBy.KIND]


class TestOthersMemory:
    async def test_no_context_holds_what_is_of_another_person_or_tenant(self, rig: Rig) -> None:
        for user, tenant in (("bob", "default"), ("ada", "acme")):
            await rig.know(
                fact(f"Likes blueberries ({user}, {tenant})", user=user, tenant=tenant),
                fact(f"Say blueberries ({user}, {tenant})", user=user, tenant=tenant, kind=Kind.INSTRUCTION),
            )
            await rig.hear(
                turn(
                    0, f"My breakfast has blueberries ({user}, {tenant})", "old", user_id=user, tenant_id=tenant
                )
            )
        made = await rig.say(turn(0, QUESTION))
        assert [item.text for item in made.items] == [QUESTION]

    async def test_a_conversation_of_the_same_name_in_another_tenant_is_another(self, rig: Rig) -> None:
        await rig.hear(turn(0, "Theirs.", tenant_id="acme"), turn(1, "Theirs, too.", tenant_id="acme"))
        made = await rig.ask((turn(2, QUESTION),))
        assert inside(made[0], Tier.RECENT) == [QUESTION]
        await rig.keep(*made)
        with pytest.raises(NotFound):
            await rig.read(user="ada", tenant="other")

    async def test_nobody_reads_the_context_of_another(self, rig: Rig) -> None:
        await rig.know(fact("Likes blueberries"))
        await rig.say(turn(0, QUESTION))
        assert "blueberries" in (await rig.read()).prompt
        for user, conversation, tenant in (
            ("bob", "c", "default"),
            ("ada", "c", "acme"),
            ("ada", "d", "default"),
            ("c", "ada", "default"),
            ("ada", "default:c", "7"),
        ):
            with pytest.raises(NotFound, match="takes part in no conversation"):
                await rig.read(user, conversation, tenant)

    async def test_a_context_that_lies_under_another_name_is_not_shown(self, rig: Rig) -> None:
        made = await rig.say(turn(0, QUESTION))
        await rig.hear(turn(0, "Hello.", "d"))
        client = rig.valkey.client()
        space = Settings().namespace
        mine, theirs = (space.redis_key("context", "7", "default", name) for name in ("c", "d"))
        await client.hset(theirs, "ada", await client.hget(mine, "ada"))
        await client.aclose()
        assert (await rig.read()).context == made
        assert (await rig.read(conversation="d")).status is ContextStatus.NOT_MADE_YET

    async def test_a_request_with_turns_of_two_conversations_is_dead_lettered(self, rig: Rig) -> None:
        mixed = [(turn(0), turn(1, conversation="d")), (turn(0, tenant_id="acme"), turn(1))]
        for turns in mixed:
            assert await rig.ask(turns) == []
        assert [each.reason for each in rig.stage.dead_letters] == ["invalid_turns", "invalid_turns"]


class TestLoad:
    async def test_only_the_latest_turn_of_each_conversation_counts(self, rig: Rig) -> None:
        made = await rig.ask(*[(turn(index),) for index in range(5)], (turn(0, conversation="d"),), (turn(3),))
        assert [(each.conversation_id, each.after_index) for each in made] == [("c", 4), ("d", 0)]
        assert rig.stage.last.counts["skipped_records_total", ("context", "overtaken")] == 5

    async def test_without_a_vector_in_time_words_are_first_and_vectors_follow(self, tmp_path: Path) -> None:
        async with open_rig(tmp_path) as rig:
            rig.stage = rig.stage_with_patience(0)
            await rig.know(fact("Likes blueberries"), fact("Sails"), fact("Plays chess"), fact("Knits"))
            rig.embedder.free.clear()
            (made,) = await rig.ask((turn(0, QUESTION),))
            assert (made.by_meaning, inside(made, Tier.FACTS)[0]) == (False, "Likes blueberries")
            (again,) = rig.again()
            assert (again.attempt, again.turns) == (1, (turn(0, QUESTION),))
            rig.embedder.free.set()
            (better,) = await rig.ask(again)
            assert (better.by_meaning, rig.again()) == (True, [])
            await rig.keep(better)
            await rig.keep(made)  # comes late
            assert (await rig.read()).context == better

    async def test_what_is_asked_again_does_not_undo_what_came_since(self, rig: Rig) -> None:
        await rig.ask((turn(2, QUESTION),))
        assert await rig.ask(request(turn(0), attempt=1)) == []
        assert rig.stage.last.counts["skipped_records_total", ("context", "overtaken")] == 1

    async def test_nothing_is_looked_up_for_what_is_asked_again_while_its_vector_is_not_there(
        self, rig: Rig, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Or a busy time would be made busier by contexts that nobody gets."""
        looked_up: list[str] = []
        search_text = rig.facts.search_text

        async def search(query: str, *others: Any) -> Any:
            looked_up.append(query)
            return await search_text(query, *others)

        monkeypatch.setattr(rig.facts, "search_text", search)
        rig.embedder.free.clear()
        rig.hurry()
        assert await rig.ask(request(turn(0, QUESTION), attempt=1)) == []
        assert [each.attempt for each in rig.again()] == [2]
        assert looked_up == []
        rig.embedder.free.set()

    async def test_what_was_erased_is_not_made_when_it_is_asked_again(self, rig: Rig) -> None:
        await rig.ask((turn(0, QUESTION),))
        erasure = Erasing("default", "c", "", turn(1).arrived_at)
        kept, later = request(turn(0, conversation="d"), attempt=1), request(turn(2))
        effects = await rig.stage.call(
            rig.stage.record(request(turn(0, QUESTION))),
            rig.stage.record(None, headers=erasure.headers()),
            *[rig.stage.record(each) for each in (request(turn(0, QUESTION), attempt=1), kept, later)],
        )
        first, *made = [each for each in effects.outputs if each.topic == CONTEXTS]
        assert (first.key, first.value, dict(first.headers)[TENANT_HEADER]) == (b"c", None, b"default")
        assert [msgspec.json.decode(each.value or b"", type=Context).after_index for each in made] == [0, 2]
        assert [each.key for each in made] == [b"d", b"c"]
        assert rig.stage.last.counts["skipped_records_total", ("context", "erased")] == 1

    async def test_what_was_erased_before_a_restart_is_not_made_when_it_is_asked_again(self, rig: Rig) -> None:
        erasures = [
            Erasing("default", "c", "", turn(0).arrived_at),
            Erasing("acme", "d", "ada", turn(0).arrived_at),
        ]
        for each in erasures:
            await rig.stage.call(rig.stage.record(None, headers=each.headers()))
        restarted = rig.stage_with_patience(0)
        restarted.changelog = [*rig.stage.changelog]
        restarted.recover()
        of_acme = turn(0, QUESTION, conversation="d", tenant_id="acme")
        asked = [(turn(0, QUESTION),), (of_acme,), (turn(0, QUESTION, conversation="d"),), (turn(2),)]
        effects = await restarted.call(*[restarted.record(request(*each, attempt=1)) for each in asked])
        made = [msgspec.json.decode(each.value or b"", type=Context) for each in effects.outputs]
        assert [(each.conversation_id, each.after_index) for each in made] == [("d", 0), ("c", 2)]
        assert effects.counts["skipped_records_total", ("context", "erased")] == 2

    async def test_an_erasure_is_remembered_until_no_request_from_before_it_is_kept(self, rig: Rig) -> None:
        erasure = Erasing("default", "c", "", turn(0).arrived_at)
        stage = rig.stage
        await stage.call(stage.record(None, headers=erasure.headers()))
        (key,) = stage.stored(ERASED)
        stage.recover()
        stage.wait(timedelta(days=2))
        assert [*stage.stored(ERASED)] == [key], "requests are kept for a day, and so are those behind it"
        stage.tick(stage.arrived + timedelta(days=2), key, caught_up=False)
        assert [*stage.stored(ERASED)] == [key]
        stage.wait(timedelta(days=3))
        assert stage.stored(ERASED) == {}

    async def test_it_is_not_asked_for_ever(self, tmp_path: Path) -> None:
        async with open_rig(tmp_path) as rig:
            rig.stage = rig.stage_with_patience(0)
            rig.embedder.free.clear()
            rig.hurry()
            asked = request(turn(0, QUESTION))
            published = []
            for attempt in range(MOST_ATTEMPTS):
                published += await rig.ask(asked)
                (asked,) = rig.again()
                assert asked.attempt == attempt + 1
            published += await rig.ask(asked)
            assert (len(published), rig.again()) == (1, [])
            rig.embedder.free.set()


class TestReading:
    async def test_unknown_nothing_and_not_made_yet_are_told_apart(self, rig: Rig) -> None:
        with pytest.raises(NotFound, match="ada takes part in no conversation c of tenant default"):
            await rig.read()
        await rig.hear(turn(0))
        assert (await rig.read()).status is ContextStatus.NOT_MADE_YET
        await rig.say(turn(0))
        assert (await rig.read()).status is ContextStatus.NOTHING
        await rig.know(fact("Likes blueberries"))
        await rig.say(turn(1))
        answer = await rig.read()
        assert (answer.status, answer.behind) == (ContextStatus.MADE, 0)
        await rig.hear(turn(2), turn(3))
        assert (await rig.read()).behind == 2

    async def test_what_was_erased_or_ended_since_is_out(self, rig: Rig) -> None:
        erased, ended, stays = fact("Likes blueberries"), fact("Has breakfast late"), fact("Plays the cello")
        await rig.know(erased, ended, stays)
        await rig.hear(turn(0, "Blueberries for breakfast are best.", "old"))
        before = await rig.say(turn(0, QUESTION), turn(1, "Muesli."))
        await rig.facts.erase({erased.fact_id: 1})
        await rig.facts.upsert([msgspec.structs.replace(ended, status=FactStatus.ENDED, version=2)])
        later = int((NOW + timedelta(hours=1)).timestamp() * 1000)
        await rig.log.erase_turns("default", "old", {turn(0, conversation="old").turn_id: later})
        await rig.log.erase_turns("default", "c", {turn(1).turn_id: later})
        answer = await rig.read()
        assert answer.context is not None
        assert inside(answer.context, Tier.FACTS) == ["Plays the cello"]
        assert inside(answer.context, Tier.EPISODES) == []
        assert inside(answer.context, Tier.RECENT) == [QUESTION]
        assert answer.context.tokens < before.tokens
        said = {item.id: (item.left_out, item.text) for item in answer.context.items}
        assert said[erased.fact_id] == (LeftOut.ERASED, "")
        assert said[ended.fact_id] == (LeftOut.ENDED, "Has breakfast late")
        assert "Muesli" not in answer.prompt and "best" not in answer.prompt

    async def test_an_episode_goes_with_a_turn_that_it_shows(self, rig: Rig) -> None:
        told = turn(0, "Blueberries for breakfast are best.", "old")
        await rig.remember(told, turn(1, "Noted.", "old"))
        assert inside(await rig.say(turn(0, QUESTION)), Tier.EPISODES) == [told.text]
        later = int((NOW + timedelta(hours=1)).timestamp() * 1000)
        await rig.log.erase_turns("default", "old", {told.turn_id: later})
        answer = await rig.read()
        assert answer.context is not None
        assert inside(answer.context, Tier.EPISODES) == []
        assert "best" not in answer.prompt

    async def test_what_was_said_again_since_is_in_however_long_ago_it_was_sent(self, rig: Rig) -> None:
        """As when an export is imported once more: messages with the same ids, of years ago."""
        until = START + timedelta(minutes=20)
        anew = dict.fromkeys(("began_at", "arrived_at"), until + timedelta(minutes=20))
        told = turn(0, "Blueberries for breakfast are best.", "old", **anew)
        said = turn(0, QUESTION, **anew)
        for each in (told, said):
            gone = round(until.timestamp() * 1000)
            await rig.log.erase_conversation("default", each.conversation_id, gone)
            await rig.log.erase_turns("default", each.conversation_id, {each.turn_id: gone})
        await rig.remember(told, turn(1, "Noted.", "old", **anew))
        await rig.say(said)
        answer = await rig.read()
        assert answer.context is not None
        assert inside(answer.context, Tier.EPISODES) == [told.text]
        assert inside(answer.context, Tier.RECENT) == [QUESTION]

    @pytest.mark.parametrize("of", ["person", "conversation"])
    async def test_of_an_erased_person_or_conversation_nothing_is_left(self, rig: Rig, of: str) -> None:
        await rig.know(fact("Likes blueberries"))
        await rig.say(turn(0, QUESTION))
        until = int((NOW + timedelta(hours=1)).timestamp() * 1000)
        if of == "person":
            await rig.log.erase_person("default", "ada", until)
        else:
            await rig.log.erase_conversation("default", "c", until)
        try:
            answer = await rig.read()
        except NotFound:
            return
        assert (answer.status, answer.context, answer.prompt) == (ContextStatus.NOT_MADE_YET, None, "")

    async def test_what_a_worker_taken_for_dead_writes_behind_an_erasure_shows_nothing_of_it(
        self, rig: Rig
    ) -> None:
        """It has asked for it before the erasure, and made it after that."""
        known = fact("Likes blueberries")
        await rig.know(known)
        await rig.remember(turn(0, "Blueberries are my breakfast.", "old"))
        made = await rig.say(turn(0, "Good morning."), turn(1, "Hello."), turn(2, QUESTION))
        assert {item.tier for item in made.items} >= {Tier.RECENT, Tier.FACTS, Tier.EPISODES}
        until = NOW + timedelta(hours=1)
        for name in ("c", "old"):
            await rig.log.erase_conversation("default", name, int(until.timestamp() * 1000))
        await rig.facts.erase({known.fact_id: known.version})
        await rig.view.call(rig.view.record(None, key=b"c"))
        await rig.keep(msgspec.structs.replace(made, made_at=until + timedelta(seconds=5)))
        answer = await rig.read()
        assert (answer.status, answer.prompt) == (ContextStatus.NOTHING, "")
        told = msgspec.json.encode(answer).decode().lower()
        assert [word for word in ("blueberr", "good morning", "hello") if word in told] == []


class TestRedis:
    async def test_gone_in_mid_answer_contexts_are_made_and_it_is_counted(self, rig: Rig) -> None:
        await rig.know(fact("Likes blueberries"))
        await rig.say(turn(0, QUESTION))
        rig.break_redis()
        (made,) = await rig.ask((turn(2, QUESTION),))
        assert (inside(made, Tier.RECENT), inside(made, Tier.FACTS)) == ([QUESTION], ["Likes blueberries"])
        assert rig.misses == 1
        with pytest.raises(DependencyUnavailable):  # the view waits in place
            await rig.keep(made)
        with pytest.raises(DependencyUnavailable):
            await rig.read()

    async def test_emptied_it_is_filled_again_from_the_topic(self, rig: Rig) -> None:
        records = []
        for index in (0, 2):
            (made,) = await rig.ask((turn(index, QUESTION),))
            records.append(rig.view.record(made))
        await rig.view.call(*records)
        await rig.hear(turn(0), turn(1), turn(2))
        before = await rig.read()
        client = rig.valkey.client()
        await client.flushall()
        await client.aclose()
        (late,) = await rig.ask((turn(4, QUESTION),))
        with pytest.raises(ConsistencyError, match="emptied or restarted"):
            await rig.view.call(rig.view.record(late))
        place = (CONTEXTS, rig.view.partition)
        assert await rig.contexts.marks([place]) == {place: 0}
        await rig.contexts.erase("default", "c")  # what the last write before the worker stopped left there
        await rig.view.call(*records)
        await rig.hear(turn(0), turn(1), turn(2))
        assert await rig.read() == before
        assert await rig.contexts.marks([place]) == {place: 2}

    async def test_a_tombstone_erases_the_contexts_of_its_conversation(self, rig: Rig) -> None:
        await rig.say(turn(0, QUESTION))
        await rig.hear(turn(0, tenant_id="acme"))
        (theirs,) = await rig.ask((turn(0, QUESTION, tenant_id="acme"),))
        await rig.keep(theirs)
        await rig.view.call(rig.view.record(None, key=b"c"))
        assert (await rig.read()).status is ContextStatus.NOT_MADE_YET
        assert (await rig.read(tenant="acme")).context == theirs
        await rig.view.call(rig.view.record(None, key=b"c", headers=[("erased_tenant_id", b"acme")]))
        assert (await rig.read(tenant="acme")).context is None

    async def test_a_key_that_is_no_text_is_dead_lettered(self, rig: Rig) -> None:
        await rig.view.call(rig.view.record(None, key=b"\xff"))
        assert [each.reason for each in rig.view.dead_letters] == ["invalid_key"]
