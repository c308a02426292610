"""Turns of one process: whose they are."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
import samples

from models.answers import Answer, AnswerKind, PromptLaid, Spoken
from models.errors import DependencyUnavailable, NotFound
from models.ids import turn_id as id_of_turn
from models.messages import ChatMessage, Role
from models.responses import ResponseChunk
from models.turns import Turn, TurnSource
from models.understanding import QueryUnderstanding
from streams.chat import chats as module
from streams.chat import elsewhere as module_of_others
from streams.chat import leases as module_of_leases
from streams.chat import stopping as module_of_stopping
from streams.chat import unread as module_of_unread
from streams.chat.chats import Chats
from streams.chat.leases import TurnRunning
from streams.chat.running import RunningTurn
from streams.chat.turn_limiter import NoRoom, TurnLimiter
from streams.clients.kafka.lookup import Found
from streams.config.settings import Settings
from streams.stores.conversation_log import Erasures, Extent
from streams.stores.remembered.ports import Held
from streams.telemetry.metrics import Metrics


class Log:
    """A log that knows no conversation, but those of ``theirs``: by name who takes part."""

    def __init__(self) -> None:
        self.theirs: dict[str, str] = {}
        self.turns: list[Turn] = []
        self.erased = Erasures(-1, {}, {})
        self.asked = asyncio.Event()
        self.may = asyncio.Event()
        self.may.set()

    async def takes_part(self, tenant_id: str, user_id: str, conversation_id: str) -> bool:
        return self.theirs.get(conversation_id) == user_id

    async def extent(self, tenant_id: str, conversation_id: str) -> Extent | None:
        return Extent(1, 0) if conversation_id in self.theirs else None

    async def last_turns(self, tenant_id: str, conversation_id: str, count: int) -> list[Turn]:
        self.asked.set()
        await self.may.wait()
        return self.turns

    async def erasures(self, tenant_id: str, user_id: str, turn_ids: Mapping[str, Sequence[str]]) -> Erasures:
        conversations = dict.fromkeys(turn_ids, -1) | dict(self.erased.conversations)
        return self.erased._replace(conversations=conversations)


class Leases:
    def __init__(self) -> None:
        self.held_by: dict[tuple[str, str], str] = {}
        self.begun_by: dict[tuple[str, str], str] = {}
        self.turns: dict[tuple[str, str, str], str] = {}
        self.claims = 0
        self.breaks = False

    async def claim(
        self, tenant_id: str, conversation_id: str, turn_id: str, holder: str, begins: str = ""
    ) -> str | None:
        self.claims += 1
        if self.breaks:
            raise ZeroDivisionError("a mistake of ours")
        if begins and self.begun_by.setdefault((tenant_id, conversation_id), begins) != begins:
            raise NotFound("another's")
        has = self.held_by.setdefault((tenant_id, conversation_id), turn_id)
        return None if has == turn_id else has

    async def renew(self, held: Sequence[Held], holder: str) -> list[str | None]:
        return [await self.claim(*each[:3], holder, each.begins) for each in held]

    async def release(self, tenant_id: str, conversation_id: str, turn_id: str, holder: str) -> None:
        self.held_by.pop((tenant_id, conversation_id), None)

    async def held(self, tenant_id: str, conversation_id: str) -> str | None:
        return self.held_by.get((tenant_id, conversation_id))

    async def poll_cancellations(self, turns: Sequence[tuple[str, str, str]]) -> list[bool]:
        asked = [self.turns.get(each) == "stop" for each in turns]
        self.turns |= {turn: "stop" if stop else "" for turn, stop in zip(turns, asked, strict=True)}
        return asked

    async def stop(self, turn: tuple[str, str, str]) -> str | None:
        if self.turns.get(turn) == "":
            self.turns[turn] = "stop"
        known = self.turns.get(turn)
        return "" if known == "stop" else known

    async def end(self, turn: tuple[str, str, str], status: str) -> None:
        self.turns[turn] = status


class Sending:
    """A broker that confirms at once."""

    def __init__(self, settings: Settings) -> None:
        self.said: list[ChatMessage] = []
        self.shown: list[ResponseChunk] = []
        self.fails = False
        self.may = asyncio.Event()
        self.may.set()
        self.holds: Role | None = None

    async def message(self, message: ChatMessage) -> TurnSource:
        self.said.append(message)
        if message.role is self.holds:
            self.may.clear()
        await self.may.wait()
        return TurnSource(topic="chat.messages.v1", partition=0, offset=len(self.said))

    async def response(self, chunk: ResponseChunk, duplicates: Any) -> None:
        self.shown.append(chunk)
        if self.fails:
            raise DependencyUnavailable("kafka", "it is away")
        await self.may.wait()

    async def close(self) -> None: ...


class Looks:
    def __init__(self) -> None:
        self.looking: dict[str, asyncio.Task[None]] = {}

    def look(self, turn: Turn) -> asyncio.Task[None]:
        self.looking[turn.text] = asyncio.create_task(asyncio.sleep(3600))
        return self.looking[turn.text]


class Silent(Looks):
    async def answer(self, turn: Turn, looking: Any) -> AsyncGenerator[Any]:
        await asyncio.Event().wait()
        yield


class Answers(Looks):
    text = "Noted."

    async def answer(self, turn: Turn, looking: Any) -> AsyncGenerator[Any]:
        yield Spoken(self.text)
        prompt = PromptLaid(round=0, version="test", budget=0, tokens=0, tiers=(), items=())
        understanding = QueryUnderstanding(query=turn.text, is_ambiguous=False, score=0.0)
        yield Answer(
            kind=AnswerKind.NOTED, by="test", understanding=understanding, prompt=prompt, text=self.text
        )


class Unfit(Answers):
    """Answers with what no message may hold."""

    text = "No\x00te\x1b[31md\ud83d."


#: When what was said arrived (ms).
ARRIVED = 1000


class Lookup:
    """Finds nothing but ``said``, when it may."""

    def __init__(self) -> None:
        self.said: list[bytes] = []
        self.asked = 0
        self.answers = True

    async def find(self, *_: Any, **__: Any) -> Found | None:
        self.asked += 1
        if not self.answers:
            await asyncio.Event().wait()
        records: list[Any] = [SimpleNamespace(value=value, timestamp=ARRIVED) for value in self.said]
        return Found(0, len(records), records, 0) if records else None


class Rig:
    #: Turns that there is room for.
    most = 3

    def __init__(self, answerer: Any) -> None:
        self.metrics = Metrics()
        self.log, self.leases = Log(), Leases()
        self.lookup = Lookup()
        self.answerer = answerer
        self.room = TurnLimiter(self.most, self.metrics)
        parts: list[Any] = [answerer, self.log, len, self.lookup, self.leases, self.room]
        self.chats = Chats(Settings(), *parts)
        self.sending: Sending = self.chats._sending  # type: ignore[assignment]


@pytest.fixture
async def rig(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Rig]:
    monkeypatch.setattr(module, "Sending", Sending)
    made = Rig(getattr(request, "param", Silent)())
    yield made
    await made.chats.close()


async def ended(turn: RunningTurn) -> str:
    """Wait until a turn has ended by itself; return how."""
    async for _ in turn.events():
        pass
    assert turn.ended is not None
    return turn.ended.status


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.01)


async def test_a_turn_is_named_within_its_conversation_by_its_asker(rig: Rig) -> None:
    chats = rig.chats
    ours = await chats.begin("acme", "ada", "c-1", "Hello", "t-1")
    theirs = await chats.begin("globex", "bob", "c-9", "Hello", "t-1")
    other = await chats.begin("acme", "ada", "c-2", "Hello", "t-1")
    assert chats.find("acme", "ada", "c-1", "t-1") is ours
    assert chats.find("globex", "bob", "c-9", "t-1") is theirs
    assert chats.find("acme", "ada", "c-2", "t-1") is other
    assert chats.find("acme", "bob", "c-1", "t-1") is None
    assert len(rig.sending.said) == 3, "none is taken for another that was said before"
    async for _ in other.events():
        break  # it has begun
    await other.stop()
    with pytest.raises(NotFound):
        await chats.stop("globex", "ada", "t-1")
    assert await chats.stop("acme", "ada", "t-1") == "stopped"
    assert ours.ended is not None, "the one that ran"
    assert theirs.ended is None
    await chats.close()
    assert ours.ended is not None and theirs.ended is not None


async def test_memory_is_searched_while_the_broker_takes_its_time(rig: Rig) -> None:
    rig.sending.may.clear()
    begins = asyncio.create_task(rig.chats.begin("acme", "ada", "c-1", "My card is 4111 1111 1111 1111"))
    await until(lambda: bool(rig.sending.said))
    [(text, looking)] = rig.answerer.looking.items()
    assert text == "My card is [masked: card number]" and not looking.done()
    assert not begins.done(), "nothing is told before it is confirmed"
    rig.sending.may.set()
    turn = await begins
    async for _ in turn.events():
        break
    await turn.stop()
    with pytest.raises(asyncio.CancelledError):
        await looking


@pytest.mark.parametrize("rig", [Answers], indirect=True)
async def test_an_answer_is_made_of_the_logged_question(rig: Rig) -> None:
    turn = await rig.chats.begin("acme", "ada", "c-1", "My card is 4111 1111 1111 1111")
    await ended(turn)
    said, answered = rig.sending.said
    assert said.content == "My card is 4111 1111 1111 1111", "what was said is the log's to mask"
    assert "[masked: card number]" in str(answered.metadata) and "4111" not in str(answered.metadata)


@pytest.mark.parametrize("rig", [Unfit], indirect=True)
async def test_an_answer_is_kept_without_forbidden_characters(rig: Rig) -> None:
    turn = await rig.chats.begin("acme", "ada", "c-1", "I have a cat.")
    assert await ended(turn) == "answered"
    assert rig.sending.said[-1].content == "No te [31md."


@pytest.mark.parametrize("rig", [Answers], indirect=True)
@pytest.mark.parametrize("fails", [False, True])
async def test_an_answer_is_published_before_it_is_kept(rig: Rig, fails: bool) -> None:
    rig.sending.fails = fails
    turn = await rig.chats.begin("acme", "ada", "c-1", "Hello")
    assert await ended(turn) == ("failed" if fails else "answered")
    assert [each.role for each in rig.sending.said] == [Role.USER, *([] if fails else [Role.ASSISTANT])]
    if not fails:
        assert "".join(each.text for each in rig.sending.shown) == "Noted."
        assert [each.final for each in rig.sending.shown][-1]


@pytest.mark.parametrize("rig", [Answers], indirect=True)
async def test_a_turn_waits_for_the_previous_answer(rig: Rig) -> None:
    turn = await rig.chats.begin("acme", "ada", "c-1", "Hello", "t-1")
    await ended(turn)
    beginning = asyncio.create_task(rig.chats.begin("acme", "ada", "c-1", "And now?"))
    await until(lambda: rig.leases.held_by.get(("acme", "c-1")) not in (None, "t-1"))
    rig.log.asked.clear()
    await rig.log.asked.wait()
    assert not beginning.done() and len(rig.sending.said) == 2
    answer = msgspec.structs.replace(said_in("c-1", "t-1"), message_id="t-1.answer", role=Role.ASSISTANT)
    rig.log.turns = [answer]
    async with asyncio.timeout(60):
        assert (await beginning).names.turn_id != "t-1"


async def test_a_turn_is_stopped_from_another_process(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module_of_stopping, "_POLL_SECONDS", 0.01)
    turn = await rig.chats.begin("acme", "ada", "c-1", "Hello", "t-1")
    other = Chats(Settings(), *cast(list[Any], [Silent(), rig.log, len, rig.lookup, rig.leases, rig.room]))
    for tenant, user, name in (("acme", "bob", "t-1"), ("other", "ada", "t-1"), ("acme", "ada", "t-2")):
        with pytest.raises(NotFound, match=f"no turn {name} of {user} runs"):
            await other.stop(tenant, user, name)
    assert turn.ended is None
    async with asyncio.timeout(60):
        assert await other.stop("acme", "ada", "t-1") == "stopped"
    assert turn.ended is not None and turn.ended.status == "stopped"
    assert await other.stop("acme", "ada", "t-1") == "stopped", "one that has ended stays as it is"
    again = await rig.chats.begin("acme", "ada", "c-1", "Hello", "t-1")
    assert again.ended is None, "who wanted the last one to end wants nothing of this one"
    await other.close()


async def test_a_turn_whose_process_dies_stopping_was_interrupted(rig: Rig) -> None:
    rig.leases.turns["acme", "ada", "t-1"] = ""
    asked = asyncio.create_task(rig.chats.stop("acme", "ada", "t-1"))
    await until(lambda: rig.leases.turns["acme", "ada", "t-1"] == "stop")
    del rig.leases.turns["acme", "ada", "t-1"]  # nobody says any more that it runs
    async with asyncio.timeout(60):
        assert await asked == "interrupted"


async def test_whose_conversation_it_is_comes_before_whether_it_is_busy(rig: Rig) -> None:
    rig.log.theirs["c-1"] = "ada"
    for conversation in ("c-1", "c-new"):
        await rig.chats.begin("acme", "ada", conversation, "Hello", "t-1")
        with pytest.raises(NotFound):
            await rig.chats.begin("acme", "bob", conversation, "What was said?")
        with pytest.raises(TurnRunning, match="t-1"):
            await rig.chats.begin("acme", "ada", conversation, "And now?")
    assert {each.user_id for each in rig.sending.said} == {"ada"}


async def test_a_conversation_read_meanwhile_keeps_its_owner(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    turn = await rig.chats.begin("acme", "ada", "c-new", "Hello")
    await turn.stop()
    asked, takes_part = [], rig.log.takes_part

    async def read_meanwhile(tenant_id: str, user_id: str, conversation_id: str) -> bool:
        asked.append(user_id)
        known = await takes_part(tenant_id, user_id, conversation_id)
        rig.log.theirs["c-new"] = "ada"
        await asyncio.sleep(0)
        return known

    async def extent(tenant_id: str, conversation_id: str) -> Extent | None:
        while not asked:
            await asyncio.sleep(0)
        return Extent(1, 0)

    monkeypatch.setattr(rig.log, "takes_part", read_meanwhile)
    monkeypatch.setattr(rig.log, "extent", extent)
    assert (await rig.chats.begin("acme", "ada", "c-new", "And now?")).ended is None
    with pytest.raises(NotFound):
        await rig.chats.begin("acme", "bob", "c-new", "What was said?")


async def test_a_turn_elsewhere_is_not_named_to_strangers(rig: Rig) -> None:
    rig.leases.begun_by["acme", "c-new"] = "ada"
    rig.leases.held_by["acme", "c-new"] = "t-1"
    with pytest.raises(NotFound):
        await rig.chats.begin("acme", "bob", "c-new", "What was said?")
    with pytest.raises(TurnRunning, match="t-1"):
        await rig.chats.begin("acme", "ada", "c-new", "And now?")


async def test_a_lease_is_kept_while_the_broker_takes_its_time(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module_of_leases, "RENEW_SECONDS", 0.01)
    rig.sending.may.clear()
    beginning = asyncio.create_task(rig.chats.begin("acme", "ada", "c-1", "Hello"))
    await until(lambda: bool(rig.sending.said))
    renewed = rig.leases.claims
    await until(lambda: rig.leases.claims > renewed)
    rig.sending.may.set()
    assert (await beginning).ended is None


async def test_what_cannot_be_said_leaves_the_conversation_free(rig: Rig) -> None:
    rig.sending.may.clear()
    beginning = asyncio.create_task(rig.chats.begin("acme", "ada", "c-1", "Hello"))
    await until(lambda: bool(rig.sending.said))
    beginning.cancel()
    await asyncio.wait([beginning])
    assert rig.leases.held_by == {}
    rig.sending.may.set()
    assert (await rig.chats.begin("acme", "ada", "c-1", "Hello")).ended is None


async def test_a_turn_whose_lease_cannot_be_kept_ends(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module_of_leases, "RENEW_SECONDS", 0.01)
    turn = await rig.chats.begin("acme", "ada", "c-1", "Hello")
    rig.leases.breaks = True
    await until(lambda: turn.ended is not None)
    assert turn.ended is not None and turn.ended.status == "interrupted"
    assert "alone has the conversation" in turn.ended.message, "and not that the server stopped"
    rig.leases.breaks = False
    assert (await rig.chats.begin("acme", "ada", "c-1", "Hello again")).ended is None


@pytest.mark.parametrize("rig", [Answers], indirect=True)
@pytest.mark.parametrize("how", ["stop", "interrupt"])
async def test_a_turn_with_a_kept_answer_is_answered(rig: Rig, how: str) -> None:
    turn = await rig.chats.begin("acme", "ada", "c-1", "Hello")
    rig.log.may.clear()
    await rig.log.asked.wait()  # the answer is written, its tokens are counted
    await getattr(turn, how)()
    assert turn.ended is not None and (turn.ended.status, turn.ended.try_again) == ("answered", False)
    assert [each.role for each in rig.sending.said] == [Role.USER, Role.ASSISTANT]


SAID = samples.message(0, "Hello", message_id="t-1.user", conversation_id="c-1", tenant_id="acme")


async def test_a_turn_that_only_the_topic_has_yet_is_told(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module_of_others, "LOOK_SECONDS", 0.01)
    rig.lookup.said = [b"{", msgspec.json.encode(SAID)]
    for others in (("acme", "bob", "t-1"), ("globex", "ada", "t-1"), ("acme", "ada", "t-2")):
        with pytest.raises(NotFound):
            await anext(rig.chats.elsewhere(*others[:2], "c-1", others[2]))
    asked = rig.lookup.asked
    async with aclosing(rig.chats.elsewhere("acme", "ada", "c-1", "t-1")) as told:
        assert (await anext(told)).name == "turn"
        monkeypatch.setattr(module_of_others, "_LOGGED_SECONDS", 0.0)
        rest = asyncio.create_task(anext(told))
        rig.log.asked.clear()
        await rig.log.asked.wait()
        rig.log.turns = [
            samples.turn(1, "Hi.", tenant_id="acme", conversation_id="c-1", message_id="t-1.answer")
        ]
        assert (await rest).name == "message"
    assert rig.lookup.asked == asked + 1, "the topic is asked once"


async def test_a_turn_elsewhere_is_told_however_late_the_log(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module_of_others, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(module_of_others, "_LOGGED_SECONDS", 0.0)
    rig.leases.held_by["acme", "c-1"] = "t-1"
    first = asyncio.create_task(anext(told := rig.chats.elsewhere("acme", "ada", "c-1", "t-1")))
    await until(lambda: rig.lookup.asked > 1)
    monkeypatch.setattr(module_of_others, "_ELSEWHERE_SECONDS", 0.0)
    rig.lookup.said = [msgspec.json.encode(SAID)]
    assert (await first).name == "turn", "it is waited for until what was said is confirmed"
    again = rig.chats.elsewhere("acme", "ada", "c-1", "t-1")
    assert (await anext(again)).name == "turn"
    rest = asyncio.create_task(anext(again))
    for _ in range(3):
        rig.log.asked.clear()
        await rig.log.asked.wait()
    assert not rest.done(), "it runs"
    with pytest.raises(NotFound):
        await anext(rig.chats.elsewhere("acme", "bob", "c-1", "t-1"))
    rig.leases.held_by.clear()
    end = await rest
    assert end.name == "end" and b"interrupted" in end.data
    await told.aclose()
    await again.aclose()


async def test_a_turn_unread_by_the_log_is_not_unknown(rig: Rig) -> None:
    rig.lookup.said = [msgspec.json.encode(SAID)]
    with pytest.raises(DependencyUnavailable, match="not in the log yet"):
        await rig.chats.begin("acme", "ada", "c-1", "", "t-1")
    with pytest.raises(NotFound):
        await rig.chats.begin("acme", "ada", "c-1", "", "t-2")
    assert rig.leases.held_by == {}


@pytest.mark.parametrize(
    "erased",
    [
        Erasures(-1, {"c-1": -1}, {id_of_turn("acme", "c-1", "t-1.user"): ARRIVED}),
        Erasures(-1, {"c-1": ARRIVED}, {}),
        Erasures(ARRIVED, {"c-1": -1}, {}),
    ],
)
async def test_an_erased_turn_is_unknown_though_the_topic_has_it(rig: Rig, erased: Erasures) -> None:
    rig.lookup.said = [msgspec.json.encode(SAID)]
    rig.log.erased = erased
    with pytest.raises(NotFound):
        await rig.chats.begin("acme", "ada", "c-1", "", "t-1")
    with pytest.raises(NotFound):
        await anext(rig.chats.elsewhere("acme", "ada", "c-1", "t-1"))


async def test_what_was_said_after_an_erasure_is_told(rig: Rig) -> None:
    rig.lookup.said = [msgspec.json.encode(SAID)]
    rig.log.erased = Erasures(
        ARRIVED - 1, {"c-1": ARRIVED - 1}, {id_of_turn("acme", "c-1", "t-1.user"): ARRIVED - 1}
    )
    async with aclosing(rig.chats.elsewhere("acme", "ada", "c-1", "t-1")) as told:
        assert (await anext(told)).name == "turn"


async def test_nobody_is_told_that_an_unreadable_turn_is_missing(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module_of_unread, "_LOOKUP_SECONDS", 0.01)
    monkeypatch.setattr(module_of_others, "_ELSEWHERE_SECONDS", 0.0)
    rig.lookup.answers = False
    with pytest.raises(DependencyUnavailable, match="cannot be told"):
        await anext(rig.chats.elsewhere("acme", "ada", "c-1", "t-1"))


def said_in(conversation_id: str, turn_id: str) -> Turn:
    """What the log has of a turn that has no answer."""
    return samples.turn(
        0, "Hello", tenant_id="acme", conversation_id=conversation_id, message_id=f"{turn_id}.user"
    )


def read(rig: Rig, name: str) -> float | None:
    return rig.metrics.registry.get_sample_value(f"switchboard_{name}")


async def test_a_turn_without_room_is_refused_before_writing(rig: Rig) -> None:
    running = [await rig.chats.begin("acme", "ada", f"c-{number}", "Hello") for number in range(3)]
    assert read(rig, "chat_turns_running") == 3
    said = len(rig.sending.said)
    for name in ("", "t-mine"):
        with pytest.raises(NoRoom, match="room for 3"):
            await rig.chats.begin("acme", "ada", "c-new", "And me?", name)
    assert len(rig.sending.said) == said and ("acme", "c-new") not in rig.leases.held_by
    assert list(rig.answerer.looking) == ["Hello"], "nor is anything looked for"
    assert read(rig, "chat_turns_refused_total") == 2
    await running[0].stop()
    await until(lambda: not rig.room.is_full)
    assert (await rig.chats.begin("acme", "ada", "c-new", "And me?", "t-mine")).ended is None
    assert len([each for each in rig.sending.said if each.content == "And me?"]) == 1


async def test_many_beginning_at_once_find_bounded_room(rig: Rig) -> None:
    begun = await asyncio.gather(
        *(rig.chats.begin("acme", "ada", f"c-{number}", "Hello") for number in range(10)),
        return_exceptions=True,
    )
    assert sum(isinstance(each, NoRoom) for each in begun) == 7


async def test_a_turn_that_does_not_begin_takes_no_room(rig: Rig) -> None:
    rig.log.theirs["c-1"] = "bob"
    for _ in range(5):
        with pytest.raises(NotFound):
            await rig.chats.begin("acme", "ada", "c-1", "Hello")
    assert read(rig, "chat_turns_running") == 0


@pytest.mark.parametrize("content", ["", "Hello"])
async def test_a_dead_process_s_turn_is_taken_without_room(rig: Rig, content: str) -> None:
    for number in range(3):
        await rig.chats.begin("acme", "ada", f"c-{number}", "Hello")
    rig.log.theirs["c-9"] = "ada"
    rig.log.turns = [said_in("c-9", "t-9")]
    said = len(rig.sending.said)
    assert (await rig.chats.begin("acme", "ada", "c-9", content, "t-9")).ended is None
    assert len(rig.sending.said) == said
    assert read(rig, "chat_turns_running") == 4 and read(rig, "chat_turns_refused_total") == 0
