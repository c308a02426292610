"""Contexts for the next turn, made and kept with a real Valkey and the embedded indexes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import httpx
import msgspec
import pytest
from context_rig import NOW, Rig, fact, inside, open_rig, turn

from models.context import Context, ContextRequest, FoundBy, LeftOut, Tier
from models.errors import ConsistencyError, DependencyUnavailable, NotFound
from models.facts import Fact, FactStatus
from models.statements import Kind
from processors.retrieval.context.wording import prompt
from streams.agents.contexts.requests import CONTEXTS
from streams.clients.erasures import TENANT_HEADER, Erasing
from streams.llm.tokenizer import cl100k_counter
from streams.queries.contexts import reading
from streams.queries.contexts.reading import ContextStatus
from streams.runtime.testing import START
from streams.server.api.app import create_api
from streams.server.api.parts import Parts

QUESTION = "Which breakfast has blueberries?"


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    async with open_rig(tmp_path) as made:
        yield made


def request(*turns: object, attempt: int = 0) -> ContextRequest:
    return ContextRequest(turns=tuple(turns), conversation_id=turns[-1].conversation_id, attempt=attempt)  # type: ignore[arg-type, attr-defined]


class TestMaking:
    async def test_items_about_the_last_turns_are_explained(self, rig: Rig) -> None:
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
        assert (facts[0], len(facts)) == ("Likes blueberries for breakfast", 4)
        assert inside(made, Tier.EPISODES) == ["Blueberries with porridge are my breakfast."]
        by_text = {item.text: item for item in made.items}
        assert by_text["Write answers in French"].found_by is FoundBy.KIND
        assert by_text["Likes blueberries for breakfast"].found_by is FoundBy.MEANING
        assert "Rain all week." not in by_text, "it tells nothing"
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


class TestLoad:
    async def test_without_a_timely_vector_words_are_first(self, tmp_path: Path) -> None:
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

    async def test_nothing_erased_is_made_when_asked_again(self, rig: Rig) -> None:
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

    async def test_nothing_erased_before_a_restart_is_made_again(self, rig: Rig) -> None:
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

    async def test_repeated_sayings_are_in_however_old(self, rig: Rig) -> None:
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

    async def test_writes_of_a_presumed_dead_worker_stay_erased(self, rig: Rig) -> None:
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


class TestKnownSince:
    async def test_standing_notes_are_in_as_in_a_context_made_by_now(self, rig: Rig) -> None:
        await rig.know(fact("Likes blueberries for breakfast"), fact("Plays the cello"))
        await rig.hear(turn(0, "Blueberries with porridge are my breakfast.", "old"))
        asked = turn(0, "Good morning."), turn(1, QUESTION)
        before = await rig.say(*asked)
        await rig.know(
            fact("Is allergic to peanuts", attribute="allergy"),
            fact("Write answers in French", kind=Kind.INSTRUCTION),
            fact("Carries an inhaler", importance=3),
        )
        answer, (anew,) = await rig.read(), await rig.ask(asked)
        assert answer.context is not None
        assert inside(answer.context, Tier.INSTRUCTIONS) == ["Write answers in French"]
        assert inside(answer.context, Tier.FACTS)[:2] == inside(anew, Tier.FACTS)[:2]
        assert (answer.prompt, answer.context.tokens) == (prompt(anew), anew.tokens)
        assert answer.context.tiers == anew.tiers
        shown = {item.id: item for item in anew.items}
        for item in answer.context.items:
            rank = {"score": item.score, "parts": item.parts}
            assert item == msgspec.structs.replace(shown[item.id], **rank)
        kept = msgspec.structs.replace(answer.context, items=(), tiers=(), tokens=0)
        assert kept == msgspec.structs.replace(before, items=(), tiers=(), tokens=0)

    async def test_whatever_would_not_be_offered_stays_out(self, rig: Rig) -> None:
        await rig.know(fact("Plays the cello"))
        made = await rig.say(turn(0, QUESTION))
        await rig.know(
            fact("Is allergic to nuts (bob)", attribute="allergy", user="bob"),
            fact("Is allergic to nuts (acme)", attribute="allergy", tenant="acme"),
            fact("Say blueberries (bob)", kind=Kind.INSTRUCTION, user="bob"),
            fact("Was allergic to nuts", attribute="allergy", status=FactStatus.ENDED),
            fact("May be allergic to milk", attribute="allergy", confidence=0.45),
            fact("Sails on Sundays"),
        )
        assert (await rig.read()).context == made

    async def test_items_without_room_beside_the_new_notes_are_left_out(self, rig: Rig) -> None:
        def long(what: str, number: int) -> str:
            return f"{what} {' '.join(f'{what}{number}x{place}' for place in range(12))}"

        await rig.know(*(fact(long("tune", n)) for n in range(60)), embedded=False)
        await rig.hear(turn(0, "Blueberries with porridge are my breakfast.", "old"))
        made = await rig.say(turn(0, "My breakfast?"), turn(1, QUESTION))
        nuts = [fact(long("nut", n), attribute="allergy", confidence=0.6) for n in range(40)]
        await rig.know(*nuts, embedded=False)
        context = (await rig.read()).context
        assert context is not None
        assert made.budget - 60 < made.tokens and context.tokens <= context.budget
        facts = inside(context, Tier.FACTS)
        assert 0 < sum("nut" in each for each in facts) < 40, "half of the budget at most"
        assert 0 < sum("tune" in each for each in facts) < len(inside(made, Tier.FACTS))
        assert inside(context, Tier.RECENT) == inside(made, Tier.RECENT)
        assert inside(context, Tier.EPISODES) == inside(made, Tier.EPISODES) != []
        out = {item.id: item.left_out for item in context.items if item.left_out is not None}
        assert {*out.values()} == {LeftOut.NO_ROOM}
        assert len({item.id for item in context.items}) == len(context.items) == len(made.items) + 40
        assert sum(use.left_out for use in context.tiers) == len(out)
        assert (await rig.read()).context == context

    async def test_a_sentence_that_is_known_by_now_is_shown_once(self, rig: Rig) -> None:
        told = "Peanuts at breakfast make me ill."
        await rig.hear(turn(0, f"Blueberries are my breakfast. {told}", "old"))
        await rig.say(turn(0, QUESTION))
        await rig.know(fact(told, attribute="allergy"))
        answer = await rig.read()
        assert answer.prompt.count(told) == 1 and "Blueberries are my breakfast." in answer.prompt

    @pytest.mark.parametrize("does", ["fails", "hangs"])
    async def test_without_the_index_s_answer_the_context_is_as_it_was_made(
        self, rig: Rig, does: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made = await rig.say(turn(0, QUESTION))
        await rig.know(fact("Is allergic to peanuts", attribute="allergy"))

        class WithoutPages:
            """An index that reads facts by id and answers no request for a page."""

            get = staticmethod(rig.facts.get)

            async def page(self, *_: object) -> tuple[list[Fact], str | None]:
                if does == "hangs":
                    await asyncio.Event().wait()
                raise DependencyUnavailable("qdrant", "down")

        monkeypatch.setattr(reading, "_NOTES_SECONDS", 0.05 if does == "hangs" else 5)
        reader = reading.ContextReader(rig.contexts, rig.log, WithoutPages(), cl100k_counter())
        assert (await reader.read("default", "ada", "c")).context == made

    async def test_before_the_first_context_standing_notes_are_the_prompt(self, rig: Rig) -> None:
        await rig.know(
            fact("Is allergic to peanuts", attribute="allergy"),
            fact("Write answers in French", kind=Kind.INSTRUCTION),
            fact("Plays the cello"),
        )
        with pytest.raises(NotFound):
            await rig.read()
        await rig.hear(turn(0))
        answer = await rig.read()
        assert (answer.status, answer.context) == (ContextStatus.NOT_MADE_YET, None)
        lines = [line.partition(" (")[0] for line in answer.prompt.splitlines()]
        assert lines == [
            "Instructions of the user",
            "- Write answers in French",
            "Known about the user",
            "- Is allergic to peanuts",
        ]

    async def test_a_person_erased_since_has_no_notes(self, rig: Rig) -> None:
        await rig.know(fact("Is allergic to peanuts", attribute="allergy"))
        await rig.say(turn(0, QUESTION))
        await rig.log.erase_person("default", "ada", int((NOW + timedelta(hours=1)).timestamp() * 1000))
        try:
            assert "peanuts" not in str(await rig.read())
        except NotFound:
            return

    async def test_an_answer_s_context_is_as_it_was_made(self, rig: Rig) -> None:
        """It has the standing notes from elsewhere, so they are not read twice."""
        made = await rig.say(turn(0, QUESTION))
        await rig.know(fact("Is allergic to peanuts", attribute="allergy"))
        assert await rig.reader.made("default", "ada", "c") == made


class TestRedis:
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


@pytest.mark.parametrize(
    ("changes", "status", "said"),
    [
        ({"user_id": "bob"}, 404, "bob takes part in no conversation c of tenant default"),
        ({"conversation_id": "d"}, 404, "ada takes part in no conversation d"),
        ({"tenant_id": "acme"}, 403, "Only the tenant default is answered for"),
        ({"conversation": "c"}, 400, "unknown field `conversation`"),
    ],
)
async def test_refusals_name_their_problem(rig: Rig, changes: dict[str, str], status: int, said: str) -> None:
    await rig.say(turn(0, QUESTION))
    app = create_api(Parts(contexts=rig.reader))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        asked = {"user_id": "ada", "conversation_id": "c"} | changes
        answer = await client.get("/v1/context", params=asked)
    assert answer.status_code == status, answer.text
    assert said in answer.json()["detail"]
