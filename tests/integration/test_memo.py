"""The memo on a real broker and a real Valkey, with a server that counts what it is asked."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from memo_rig import NOON, Rig, rig

from deploy.local.model_faults import Fault
from models.consolidation import Decision
from models.memo import Memo, Outcome, memo_id
from models.ports import Extracted, Extractor, KnownNote, Refused, TryLater
from models.statements import Change
from models.summaries import SessionSummary, Summary, SummaryRequest
from models.understanding import QuestionAsked
from models.windows import Window
from processors.prompts import extraction
from processors.prompts.fence import line
from streams.admin.topics import admin
from streams.agents.memory.commands import Commands
from streams.agents.memory.summaries import Summaries
from streams.cli.costs import By, costs
from streams.clients import commands
from streams.clients.catalog import catalog_for
from streams.clients.erasures import Erasing
from streams.clients.topics import COMMANDS, SUMMARIES
from streams.llm.builtin_extractor import NAME as BUILTIN_EXTRACTOR
from streams.llm.erasure_answers import ConversationAnswers
from streams.llm.extraction_models import ExtractionModels
from streams.llm.memo.topic import MemoTopic
from streams.llm.memo.view import MemoView
from streams.llm.tokenizer import cl100k_counter
from streams.queries.erasure.erasing import erase_person
from streams.runtime.testing import StageHarness
from tests import prompt_examples as examples

pytestmark = pytest.mark.kafka

__all__ = ["rig"]


def windows(count: int, user: str = "mara") -> list[Window]:
    """Return windows that differ in what was said."""
    found = []
    for number in range(count):
        base = examples.window()
        messages = tuple(
            msgspec.structs.replace(each, user_id=user, content=f"{each.content} I own {number} cats.")
            for each in base.messages
        )
        found.append(
            msgspec.structs.replace(
                base,
                window_id=f"w-{number}",
                conversation_id=f"c-{number}",
                user_id=user,
                messages=messages,
            )
        )
    return found


async def extract(extractor: Extractor, asked: Sequence[Window]) -> list[Extracted]:
    found = await extractor.extract(asked)
    assert all(isinstance(each, Extracted) for each in found), found
    return [each for each in found if isinstance(each, Extracted)]


async def test_what_was_asked_once_is_not_asked_again(rig: Rig) -> None:
    asked = windows(6)
    first = await extract(await rig.extractor(), asked)
    assert all(each.statements for each in first)
    assert rig.server.count() == 2, "four windows of a person to a call"
    again = await extract(await rig.extractor(), asked[::-1])
    assert again[::-1] == first
    assert rig.server.count() == 2


async def test_an_answer_is_logged_before_its_effects(rig: Rig) -> None:
    extractor = await rig.extractor()
    (found,) = await extract(extractor, windows(1))
    ((key, memo),) = await rig.memos()
    assert memo is not None and memo.memo_id == key
    assert (memo.purpose, memo.prompt, memo.model) == ("extraction", "extraction-5", "gemini-2.5-flash-lite")
    assert memo.outcome is Outcome.ANSWERED and found.statements[0].statement in memo.text
    assert memo.input_tokens > 100 and memo.output_tokens > 10
    fresh = memo.input_tokens - memo.cached_tokens
    assert memo.cached_tokens > 0, "the prefix of the prompt is long enough to be cached"
    expected = (0.10 * fresh + 0.01 * memo.cached_tokens + 0.40 * memo.output_tokens) / 1e6
    assert memo.cost_usd == pytest.approx(expected)


async def test_facts_and_ties_are_asked_in_one_call(rig: Rig) -> None:
    readers = await rig.readers(graph_reader="gemini")
    reader = readers.graph
    assert reader is not None and reader.name == "gemini-2.5-flash-lite/extraction-5-graph"
    (found,) = await readers.extractor.extract([examples.window()])
    assert isinstance(found, Extracted) and found.statements
    [[home]] = await reader.relate([examples.window()])
    assert (home.user_id, home.relation, home.object.name) == ("mara", "lives_in", "Munich")
    await rig.empty_redis()
    again = (await rig.readers(graph_reader="gemini")).graph
    assert again is not None and await again.relate([examples.window()]) == [(home,)]
    assert rig.server.count() == 1
    [(_, memo)] = await rig.memos()
    assert memo is not None and (memo.purpose, memo.user_id) == ("extraction", "mara") and memo.cost_usd > 0
    over = (await rig.readers(graph_reader="gemini", model_budget_usd=0.0)).graph
    assert over is not None and await over.relate([examples.window()]) == [(home,)], (
        "known, whatever the budget is"
    )


async def test_openais_api_is_asked_once_and_cached_tokens_cost_less(rig: Rig) -> None:
    asked = {"model_api": "openai", "model_url": f"{rig.server.url}/v1", "model_name": "scripted"}
    extractor = await rig.extractor(**asked, model_prices="scripted=1/2/0.5")
    found = await extract(extractor, [examples.window()])
    assert len(found[0].statements) > 2
    (memo,) = [memo for _, memo in await rig.memos() if memo is not None]
    assert (memo.outcome, memo.model) == (Outcome.ANSWERED, "scripted")
    cached = memo.cached_tokens
    assert 0 < cached < memo.input_tokens
    paid = (memo.input_tokens - cached + 0.5 * cached + 2 * memo.output_tokens) / 1_000_000
    assert memo.cost_usd == pytest.approx(paid)
    await rig.empty_redis()
    assert await extract(await rig.extractor(**asked), [examples.window()]) == found
    assert rig.server.count() == 1


async def test_known_notes_are_asked_once_and_by_no_replay(rig: Rig) -> None:
    (asked,) = windows(1)
    note = KnownNote("f-ulm", "mara", "The user lives in Ulm.", asked.messages[0].sent_at)
    said = {
        "n": 1,
        "quote": "I moved to Munich in January.",
        "note": "The user has lived in Munich since January 2026.",
        "change": "replaces",
        "k": 1,
        "attribute": "home",
        "value": "Munich",
    }
    rig.server.scripts.append(lambda body: json.dumps({"notes": [said]}))

    class Known:
        shown: Sequence[KnownNote] = (note,)

        async def known(self, windows: Sequence[Window]) -> Sequence[KnownNote]:
            return self.shown

    known = Known()
    (first,) = await extract((await rig.readers(known=known)).extractor, [asked])
    (moved,) = first.statements
    assert (moved.change, moved.known) == (Change.REPLACES, "f-ulm")
    assert "lives in Ulm" in json.dumps(rig.server.calls[0].body)
    ((_, memo),) = await rig.memos()
    assert memo is not None and "Ulm" not in memo.text, "what others said is not kept with it"
    known.shown = ()
    await rig.empty_redis()
    assert await extract((await rig.readers(known=known)).extractor, [asked]) == [first]
    assert rig.server.count() == 1


async def test_what_was_erased_is_asked_again_and_nothing_else(rig: Rig) -> None:
    mara, jo = windows(2, "mara"), windows(2, "jo")
    extractor = await rig.extractor()
    await extract(extractor, mara + jo)
    assert rig.server.count() == 2
    topic = MemoTopic(rig.settings)
    assert await topic.forget(lambda memo, _: memo.user_id == "mara") == 2
    assert await topic.forget(lambda memo, _: memo.user_id == "mara") == 0, "twice"
    await topic.close()
    stored = dict(await rig.memos())
    assert [memo.user_id for memo in stored.values() if memo is not None] == ["jo"] * 2
    await extract(extractor, jo)
    assert rig.server.count() == 2
    await extract(extractor, mara)
    assert rig.server.count() == 3


async def test_a_command_that_erases_erases_answers_whoever_has_sent_it(rig: Rig) -> None:
    """Not the command line or the HTTP API, which do it themselves; read again, it spares what came after."""
    asked = windows(2)
    began = asked[0].messages[0].arrived_at
    await extract(await rig.extractor(), asked)
    assert rig.server.count() == 1
    view = MemoView(rig.valkey.client(), rig.settings.namespace)
    (erased,) = [key for key, each in await rig.memos() if each and each.conversation_id == "c-0"]
    stage = Commands(rig.settings, ConversationAnswers(rig.settings)).stage()
    for hours, left in ((-1, 2), (1, 1), (1, 1)):
        # What counts is when what was asked about had arrived, not when it was asked.
        harness = StageHarness(stage, start=began + timedelta(hours=hours))
        await harness.call(harness.record(commands.erasing("c-0"), COMMANDS))
        stored = dict(await rig.memos())
        assert len([each for each in stored.values() if each is not None]) == left, hours
        assert (await view.get([erased]) == [None]) is (left == 1), "Redis"
    assert [memo for key, memo in await rig.memos() if key == erased][1:] == [None], "once"
    await extract(await rig.extractor(), windows(2)[1:])
    assert rig.server.count() == 1, "nothing else is gone"


async def test_an_erased_person_takes_along_pending_questions(rig: Rig) -> None:
    """What was read of windows, summarized, understood, decided about their facts; and nobody else's."""
    await admin.apply(catalog_for(rig.settings), rig.settings)
    readers, chat_models = await rig.readers(merge_validator="gemini"), await rig.chat_models()
    for user in ("mara", "jo"):
        await extract(readers.extractor, windows(2, user))
        await readers.summarizer.summarize(request(conversation_id=f"of-{user}", user_id=user))
        asked = QuestionAsked(
            query="What is her job?", user_id=user, tenant_id="default", turns=("Anna called.",)
        )
        await chat_models.understander.understand(asked)
        await readers.validator.validate(user, "default", examples.CLUSTERS)

    async def left() -> Counter[tuple[str, str]]:
        stored = dict(await rig.memos()).values()
        return Counter((each.user_id, each.purpose) for each in stored if each is not None)

    purposes = {"extraction": 2, "summary": 1, "understanding": 1, "merging": 1}
    assert await left() == {(user, each): n for user in ("mara", "jo") for each, n in purposes.items()}
    found, answers = await erase_person(rig.settings, "default", "mara")
    assert (found, answers) == ({}, sum(purposes.values()))
    assert await left() == {("jo", each): n for each, n in purposes.items()}


async def test_erased_messages_are_sent_to_no_model(rig: Rig) -> None:
    """A window may wait for hours while the model is down; others who took part in it lose nothing."""
    gone, shared = windows(2)
    jo = msgspec.structs.replace(shared.messages[2], user_id="jo", content="I moved to Lisbon in May.")
    shared = msgspec.structs.replace(shared, messages=(*shared.messages[:2], jo, shared.messages[3]))
    later = shared.messages[-1].arrived_at + timedelta(hours=1)
    answers = ConversationAnswers(rig.settings)
    await answers.forget([Erasing("default", "c-0", "", later), Erasing("default", "c-1", "mara", later)])
    for _ in range(2):
        nothing, rest = await extract(await rig.extractor(), [gone, shared])
        assert nothing.statements == () and rest.by == f"{BUILTIN_EXTRACTOR} (erased)"
        assert {each.user_id for each in rest.statements} == {"jo"}
        await rig.empty_redis()
    readers = await rig.readers(graph_reader="gemini")
    assert readers.graph is not None
    assert await readers.graph.relate([gone]) == [()]
    summing = Summing(rig, readers)
    for asked in (request(conversation_id="c-0"), request(conversation_id="c-1", roll_up=True, messages=())):
        assert (await summing.answer(asked)).summary == SessionSummary()
    assert rig.server.count() == 0
    assert [memo for _, memo in await rig.memos() if memo is not None] == []
    new = tuple(msgspec.structs.replace(each, arrived_at=later + timedelta(hours=1)) for each in gone.messages)
    (found,) = await extract(await rig.extractor(), [msgspec.structs.replace(gone, messages=new)])
    assert found.statements and rig.server.count() == 1, "what is said after it is read as ever"


@pytest.mark.parametrize("summarizer", ["builtin", "gemini"])
async def test_the_built_in_reader_skips_what_was_erased_meanwhile(rig: Rig, summarizer: str) -> None:
    """Whether the worker has a view of the memo or none; what is said later under the same ids is read."""
    gone, shared = windows(2)
    jo = msgspec.structs.replace(shared.messages[2], user_id="jo", content="I moved to Lisbon in May.")
    shared = msgspec.structs.replace(shared, messages=(*shared.messages[:2], jo, shared.messages[3]))
    later = shared.messages[-1].arrived_at + timedelta(hours=1)
    new = tuple(msgspec.structs.replace(each, arrived_at=later + timedelta(hours=1)) for each in gone.messages)
    asked = [gone, shared, msgspec.structs.replace(gone, messages=new)]
    others = {"summarizer": summarizer, "extractor": "builtin"}
    extractor = (await rig.readers(**others)).extractor
    assert all(each.statements and not each.by for each in await extract(extractor, asked))
    answers = ConversationAnswers(rig.settings)
    await answers.forget([Erasing("default", "c-0", "", later), Erasing("default", "c-1", "mara", later)])
    for each in (extractor, (await rig.readers(**others)).extractor):
        nothing, rest, again = await extract(each, asked)
        assert nothing.statements == () and rest.by == f"{BUILTIN_EXTRACTOR} (erased)"
        assert {each.user_id for each in rest.statements} == {"jo"}
        assert again.statements and not again.by


async def test_nothing_erased_while_asked_is_remembered(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever erases has looked through the answers by then; nor is it after a crash before the second look."""
    asked = windows(2)
    extractor = await rig.extractor()
    generate, erasing = extractor._questions.asking.client.generate, Erasing("default", "c-0", "", NOON)

    async def erased_meanwhile(*of: Any) -> Any:
        said = await generate(*of)
        assert await ConversationAnswers(rig.settings).forget([erasing]) == 0
        return said

    monkeypatch.setattr(extractor._questions.asking.client, "generate", erased_meanwhile)
    gone, other = await extract(extractor, asked)
    assert gone.statements == () and other.statements
    (left,) = [memo for memo in dict(await rig.memos()).values() if memo is not None]
    assert left.conversation_id == "c-1"
    await rig.log().write([msgspec.structs.replace(left, memo_id=_id_of(asked[0]), conversation_id="c-0")])
    assert (await extract(extractor, asked))[0].statements == ()
    assert [memo for memo in dict(await rig.memos()).values() if memo is not None] == [left]
    assert rig.server.count() == 1


def _id_of(window: Window) -> str:
    asked = "\n".join(map(line, extraction.records_of(window)))
    parameters = "temperature=0"
    return memo_id(extraction.VERSION, "gemini-2.5-flash-lite", parameters, "default", window.user_id, asked)


async def test_two_workers_that_ask_at_once_use_the_first_answer(rig: Rig) -> None:
    one, two = rig.log(), rig.log()
    first = memo("first")
    second = msgspec.structs.replace(first, text="second")
    assert await one.write([first]) == {first.memo_id: first}
    assert await two.write([second]) == {first.memo_id: first}
    await rig.empty_redis()
    assert await two.find([first.memo_id]) == {first.memo_id: first}
    # A compaction keeps the last record of a key.
    assert dict(await rig.memos())[first.memo_id] == first


def memo(text: str, user_id: str = "mara") -> Memo:
    return Memo(
        memo_id=memo_id("p-1", "m", "", "default", user_id, "what?"),
        user_id=user_id,
        purpose="test",
        prompt="p-1",
        model="m",
        outcome=Outcome.ANSWERED,
        asked_at=datetime(2026, 3, 1, tzinfo=UTC),
        text=text,
        cost_usd=0.25,
    )


# -- what goes wrong ---------------------------------------------------------------------------------------


async def test_one_refused_window_takes_no_other_along(rig: Rig) -> None:
    asked = windows(3)
    rig.server.scripts.append(lambda body: None if "I own 1 cats" not in str(body) else "nonsense")
    extractor = await rig.extractor()
    rig.server.fail(Fault.BLOCKED_PROMPT, Fault.BLOCKED_ANSWER)
    found = await extractor.extract(asked)
    assert [type(each) for each in found] == [Refused, Extracted, Extracted]
    assert isinstance(found[1], Extracted) and found[1].statements == (), "nonsense is nothing"
    assert isinstance(found[2], Extracted) and found[2].statements
    assert rig.server.count() == 4
    written = [memo for _, memo in await rig.memos() if memo is not None]
    assert sum(each.input_tokens for each in written) == rig.metered("model_tokens_total", direction="input"), (
        "what the call about all of them took is in the budget, too"
    )


@pytest.mark.parametrize("fault", [Fault.RATE_LIMITED_AFTER, Fault.UNAVAILABLE, Fault.CUT, Fault.WRONG_KEY])
async def test_what_may_pass_is_tried_later_and_nothing_is_written(rig: Rig, fault: Fault) -> None:
    extractor = await rig.extractor()
    rig.server.fail(fault)
    (later,) = await extractor.extract(windows(1))
    assert isinstance(later, TryLater) and not later.unanswered
    assert await rig.memos() == []
    (found,) = await extract(extractor, windows(1))
    assert found.statements
    assert rig.server.count() == 2


# -- limits and budget -------------------------------------------------------------------------------------


async def test_over_the_budget_the_built_in_one_works(rig: Rig) -> None:
    extractor = await rig.extractor(model_budget_usd=0.0)
    (found,) = await extract(extractor, windows(1))
    assert found.statements and found.by == f"{BUILTIN_EXTRACTOR} (over budget)"
    counted = rig.metrics.model_questions_total.labels("extraction", "over_budget")
    assert counted._value.get() == 1
    validator = (await rig.readers(merge_validator="gemini", model_budget_usd=0.0)).validator
    decided = (await validator.validate("mara", "default", examples.CLUSTERS)).verdicts
    assert {each.decision for each in decided} == {Decision.KEEP_BOTH}
    # A replay decides the same, whatever the budget is by then.
    await rig.empty_redis()
    assert await extract(await rig.extractor(model_budget_usd=5.0), windows(1)) == [found]
    assert rig.server.count() == 0


async def test_a_budget_per_tenant_and_day_works_without_redis(rig: Rig) -> None:
    extractor = await rig.extractor()
    await extract(extractor, windows(1))
    ((_, spent),) = await rig.memos()
    assert spent is not None
    # Enough for what was spent and what one more call may cost at most, but not for two.
    tight = await rig.extractor(model_budget_usd=spent.cost_usd + 0.0016)
    await rig.empty_redis()
    one, two = windows(1, "jo")[0], windows(1, "kim")[0]
    assert [each.by for each in await extract(tight, [one])] == [""]
    assert [each.by for each in await extract(tight, [two])] == [f"{BUILTIN_EXTRACTOR} (over budget)"]
    other = msgspec.structs.replace(two, tenant_id="acme")
    assert [each.by for each in await extract(tight, [other])] == [""]


async def test_calls_in_flight_count_in_the_shared_budget(rig: Rig) -> None:
    """Two workers that each have enough for one more call have not enough for two."""
    one, two = await rig.extractor(model_budget_usd=1.0), await rig.extractor(model_budget_usd=1.0)
    first, second = one._questions.asking.account, two._questions.asking.account
    async with first.reserve("default", 0.6) as granted, second.reserve("default", 0.6) as too_much:
        assert (granted, too_much) == (True, False)
        async with second.reserve("default", 0.4) as fits, second.reserve("acme", 0.6) as of_another:
            assert fits and of_another
    async with second.reserve("default", 1.0) as granted:
        assert granted, "what has ended counts no longer"
    dead = one._questions.asking.memos.reserve("default", NOON, 0.6, 1.0, lease_seconds=0.2)
    assert await dead.__aenter__(), "of a worker that dies while it calls"
    deadline = time.monotonic() + 20
    while True:
        async with second.reserve("default", 0.6) as granted:
            if granted:
                break
        assert time.monotonic() < deadline
        await asyncio.sleep(0.05)


async def test_calls_per_minute_are_of_all_workers_together(rig: Rig) -> None:
    limits = {"model_requests_per_minute": 1}
    one, two = await rig.extractor(**limits), await rig.extractor(**limits, step_timeout_seconds=1.0)
    assert isinstance((await one.extract(windows(1, "mara")))[0], Extracted)
    (later,) = await two.extract(windows(1, "jo"))
    assert isinstance(later, TryLater) and "limits of gemini-2.5-flash-lite" in later.message
    assert rig.server.count() == 1


# -- summaries ---------------------------------------------------------------------------------------------


class Summing:
    """The stage with the summarizer of a worker that has just started."""

    def __init__(self, rig: Rig, readers: ExtractionModels) -> None:
        self.stage = StageHarness(Summaries(rig.settings, readers.summarizer, cl100k_counter()).stage())

    async def answer(self, request: SummaryRequest) -> Summary:
        await self.stage.call(self.stage.record(request))
        return self.stage.values(SUMMARIES, Summary)[-1]


def request(**changes: Any) -> SummaryRequest:
    made = examples.summary_request()
    return msgspec.structs.replace(made, **{"tokens": 1220, "threshold": 1200, **changes})


async def test_a_summary_is_asked_for_once(rig: Rig) -> None:
    first = await Summing(rig, await rig.readers()).answer(request())
    assert first.summarizer == "gemini-2.5-flash-lite/summary-4"
    assert "Munich" in str(first.summary)
    await rig.empty_redis()
    assert await Summing(rig, await rig.readers()).answer(request()) == first
    assert rig.server.count() == 1


# -- costs -------------------------------------------------------------------------------------------------


async def test_costs_by_purpose_day_and_person(rig: Rig) -> None:
    readers = await rig.readers()
    await extract(readers.extractor, windows(3, "mara") + windows(1, "jo"))
    await Summing(rig, readers).answer(request())
    unpaid = await rig.extractor(model_budget_usd=0.0)
    await unpaid.extract(windows(1, "kim"))
    by_purpose = await costs(rig.settings, By.PURPOSE, None)
    extraction = by_purpose["extraction", "gemini-2.5-flash-lite"]
    assert (extraction.asked, extraction.calls, extraction.answered, extraction.over_budget) == (5, 2, 4, 1)
    assert by_purpose["summary", "gemini-2.5-flash-lite"].calls == 1
    written = [memo for _, memo in await rig.memos() if memo is not None]
    assert sum(each.cost_usd for each in by_purpose.values()) == pytest.approx(
        sum(each.cost_usd for each in written)
    )
    by_person = await costs(rig.settings, By.PERSON, None)
    assert {names: row.asked for names, row in by_person.items()} == {
        ("default", "mara"): 4,
        ("default", "jo"): 1,
        ("default", "kim"): 1,
    }
    latest = max(each.asked_at for each in written)
    assert await costs(rig.settings, By.DAY, latest + timedelta(seconds=1)) == {}
