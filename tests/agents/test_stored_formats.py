"""What earlier releases have stored is read, and what cannot be read stops the worker.

A test that fails after a change of a struct wants a new version of the codec and a reader of the old one.  A
missing golden file is written by the test, which then fails once.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import msgspec
import pytest
import samples

from models.episodes import EpisodeReason
from models.errors import ConsistencyError
from models.facts import Erasure, FactChange, Period, Revision
from models.graph import EntityType, GraphSource, GraphStatement, Mention
from models.statements import Polarity, Precision
from models.vectors import EmbeddingRequest, Saying, SpokenSentence, TurnPlace, VectorKind
from processors.conversations.episodes.state import EpisodesState, KeptTurn, Seen
from processors.conversations.episodes.topic_queue import Row
from processors.conversations.episodes.traits import Traits
from processors.conversations.sequence import SequenceState
from processors.conversations.state import ConversationState, Kept, KeptSummary
from processors.conversations.token_table import AcceptedSummary, OpenRequest, TokenTable
from processors.conversations.windows import WindowCursor
from processors.facts.evidence import Floor
from processors.facts.lines import Line
from processors.facts.marks import Mark, MarkKind, Moment
from processors.facts.stubs import Stub
from processors.responses.elements import Context
from processors.responses.filter_state import FilterState, Held
from processors.responses.halves import ReceivedChunk
from processors.responses.history import SeenElement
from processors.responses.lines import Kind
from processors.responses.sequence import ResponseState
from processors.retrieval.recall.turns import TurnsState
from streams.admin.topics.examples import load_examples
from streams.agents import id_pages
from streams.agents.ingest import body_pages, conversations, summary_ledger
from streams.agents.memory import extraction, fact_vectors, facts, graph, late_graph, sentence_vectors
from streams.agents.recall import context, episode_pages, episodes, turns, waiting
from streams.agents.respond import responses
from streams.clients.records import RecordBatch
from streams.config.settings import Settings
from streams.config.settings.services import SERVICES
from streams.runtime.codec import Codec
from streams.runtime.stage import Stage
from streams.runtime.testing import StageHarness
from streams.server.process.services import open_service
from streams.telemetry.metrics import Metrics

GOLDEN = Path(__file__).parent / "golden"

KEPT = (
    Kept(7, "m-7", b'{"content":"seven"}', 1772359200.5),
    Kept(9, "m-9", b'{"content":"n\xc3\xb6ne"}', 1772359201.25),
)

AT = datetime(2026, 3, 1, 10, 0, 1, 250000, tzinfo=UTC)
PROVENANCE = samples.evidence(
    "I love blueberries.", at=AT, message_ids=("m-7", "m-9"), partition=5, offsets=(7, 9)
)

SAID = SeenElement("The harbour is lovely.", Kind.SENTENCE, True)

FACT = samples.fact(
    "User likes blueberries",
    at=AT,
    fact_id="f-1",
    slot_id="s-1",
    confidence=0.81,
    version=2,
    provenance=(PROVENANCE,),
    valid_from=datetime(2026, 3, 1, 12, tzinfo=timezone(timedelta(hours=2))),
    valid_to=datetime(2026, 4, 1, tzinfo=UTC),
    attribute="like",
    value="blueberries",
    event_at=datetime(2026, 3, 1, 12, tzinfo=timezone(timedelta(hours=2))),
    event_precision=Precision.DAY,
    past=(Period(datetime(2025, 3, 1, tzinfo=UTC), datetime(2025, 4, 1, tzinfo=UTC)),),
    superseded_by="f-3",
    merged_into_id="f-2",
    changes=(
        Revision(
            version=2,
            change=FactChange.CREATED,
            at=AT,
            confidence_before=0.8,
            confidence_after=0.81,
            window_id="w-1",
            message_id="m-1",
            fact_id="f-3",
        ),
    ),
    erased_until=datetime(2026, 2, 1, tzinfo=UTC),
    tenant_id="acme",
)
MOMENT = Moment(datetime(2026, 3, 1, 12, tzinfo=UTC), datetime(2026, 3, 1, 12, 0, 1, tzinfo=UTC), 7)
LINE = Line(
    True,
    (Mark(MOMENT, MOMENT, "f-1", "f-4", Polarity.NEGATED, MarkKind.CORRECTED, "f-3"),),
    (FACT,),
    (Stub("f-5", 3, "f-1", "l-1", (Floor("chat.messages.v1", 3, datetime(2026, 3, 1, tzinfo=UTC), 9),), 11),),
    ("l-2",),
    4,
    (Floor("chat.messages.v1", 2, datetime(2026, 3, 1, tzinfo=UTC), 8),),
)


KEPT_TURN = KeptTurn(
    "acme",
    1772359000.5,
    11,
    "t-11",
    "m-11",
    "bob",
    "Bob",
    "user",
    "So ist es.",
    1772359200.5,
    1772359201.25,
    "chat.messages.v1",
    5,
    9,
    True,
)

#: A value of each kind, with every field set.
VALUES: dict[Codec[Any], Any] = {
    conversations.STATE: ConversationState(
        "acme",
        "ada",
        12,
        WindowCursor(7, 3),
        9,
        KEPT,
        bytes(range(16)),
        1772359200.5,
        1772359201.25,
        "m-9",
        TokenTable(
            7,
            (11, 12, 13, 14, 15),
            (AcceptedSummary("s-1", 0, 6, 81, ("s-0",)),),
            OpenRequest("s-2", 7, 9, 1772359200.5, 1772359201.5, 2, True),
        ),
        (KeptSummary(b'{"key_facts":[]}', 0, 6, 1772359199.75),),
        (0, 5),
        (("chat.messages.v1-3", 7),),
        (("bob", 1772359190.5),),
        128,
    ),
    body_pages.PAGE: KEPT,
    id_pages.IDS: bytes(range(16)),
    summary_ledger.LEDGER: (summary_ledger.Listed("s-1", "acme", 1772359200.5),),
    extraction.STATE: extraction.ExtractionState(("m-9", "m-16"), ("m-7", "m-8")),
    context.ERASED: context.Erased({"": datetime(2026, 3, 1, 10, tzinfo=UTC)}, 1772359200.5),
    turns.ASKED: turns.Asked(1772359201.25),
    waiting.WAITING: waiting.Waiting(
        7,
        EmbeddingRequest(
            kind=VectorKind.TURN,
            id="t-7",
            user_id="ada",
            text="I love blueberries.",
            text_hash="0a1b",
            tenant_id="acme",
            place=TurnPlace(conversation_id="c-1", began_at=datetime(2026, 3, 1, 9, tzinfo=UTC), index=7),
            saying=Saying(
                conversation_id="c-1",
                sent_at=datetime(2026, 3, 1, 10, tzinfo=UTC),
                arrived_at=datetime(2026, 3, 1, 10, 0, 1, 250000, tzinfo=UTC),
                denies=True,
            ),
        ),
        1772359200500,
        3,
    ),
    turns.STATE: TurnsState(
        SequenceState(
            "acme",
            "ada",
            12,
            bytes(range(16)),
            1772359201.25,
            (("chat.messages.v1-3", 7),),
            (("bob", 1772359190.5),),
            128,
        ),
        1772359000.5,
    ),
    episodes.STATE: EpisodesState(
        "acme",
        "ada",
        1772359000.5,
        12,
        WindowCursor(11, 1),
        (KEPT_TURN,),
        2,
        Seen(1772359000.5, 14, 1772359200.5, 1772359201.25, 1772359201.5),
        (Traits("t-10", True, b"\x00\x3c", ("blueb", "love"), 3, True, True, True, True, True, True),),
        ((1772359000500, 12), (1772359000500, 13)),
        (((1772359000500, 13), EpisodeReason.CLOSED),),
    ),
    episode_pages.ROW: Row(KEPT_TURN, b"\x00\x3c", 1772359201.5),
    episode_pages.ERASED_EPISODES: (episode_pages.ErasedEpisode("e-1", 1772359201250),),
    episode_pages.PAGE: (episode_pages.Listed("e-1", "ada", bytes(range(16))),),
    facts.STATE: LINE,
    facts.ERASURE: Erasure(until=datetime(2026, 2, 1, 10, 0, 0, 500000, tzinfo=UTC), version=7),
    fact_vectors.VECTOR: fact_vectors.Vector("test-1", 2, "0123", b"\x00\x3c\x00\x00"),
    fact_vectors.SPOKEN: fact_vectors.Spoken(
        "default",
        "ada",
        "test-1",
        Saying(
            conversation_id="c",
            sent_at=datetime(2026, 3, 1, 10, tzinfo=UTC),
            arrived_at=datetime(2026, 3, 1, 10, 0, 1, tzinfo=UTC),
            denies=True,
        ),
        b"\x00\x3c\x00\x00",
    ),
    fact_vectors.PERSON: fact_vectors.Person(
        "acme", "ada", "test-1", 1, ("f-1", "f-2"), datetime(2026, 3, 2, 3, 0, tzinfo=UTC)
    ),
    fact_vectors.PAGE: ("f-1", "f-2", "f-3"),
    fact_vectors.PLANS: fact_vectors.Plans(
        datetime(2026, 3, 1, 10, tzinfo=UTC),
        (fact_vectors.Plan("f-1", datetime(2026, 5, 14, 23, 59, 59, tzinfo=UTC)),),
    ),
    sentence_vectors.PAGES: sentence_vectors.Pages(1, 3),
    sentence_vectors.SENTENCE: sentence_vectors.Sentence(
        user_id="ada",
        tenant_id="acme",
        model="minilm",
        sentence=SpokenSentence(
            turn_id="t-1",
            message_id="m-1",
            conversation_id="c",
            text="I row the old ferry on Sundays.",
            sent_at=datetime(2026, 3, 1, 10, 0, tzinfo=UTC),
            arrived_at=datetime(2026, 3, 1, 10, 1, tzinfo=UTC),
            topic="chat.messages.v1",
            partition=3,
            offset=17,
        ),
        vector=bytes(range(8)),
    ),
    graph.STATE: graph.GraphState(
        7,
        (
            GraphStatement(
                statement_id="g-1",
                tenant_id="acme",
                user_id="ada",
                subject=Mention(EntityType.PERSON, "Anna", "sister"),
                relation="lives_in",
                object=Mention(EntityType.PLACE, "Berlin"),
                ended=True,
                source=GraphSource(
                    conversation_id="c-1",
                    message_id="m-1",
                    turn_id="t-1",
                    quote="My sister Anna no longer lives in Berlin.",
                    topic="chat.messages.v1",
                    partition=5,
                    offset=7,
                    sent_at=datetime(2026, 3, 1, 12, tzinfo=timezone(timedelta(hours=2))),
                    arrived_at=datetime(2026, 3, 1, 10, 0, 1, tzinfo=UTC),
                ),
            ),
        ),
    ),
    late_graph.GONE: late_graph.Gone(7),
    responses.STATE: ResponseState(
        "r-1",
        "c-1",
        1772359200.5,
        3,
        2,
        (
            (
                ReceivedChunk(response_id="r-1", conversation_id="c-1", sequence=4, text="Bye.", final=True),
                1772359200.5,
            ),
        ),
        ((1, 1),),
        False,
        FilterState(
            said=(SAID, SeenElement("", Kind.SPACE, True)),
            text="And so ",
            sent=3,
            position=23,
            context=Context(False, "```", Kind.CODE),
            held=(Held(SAID, " ", "\n\n", 9, "The harbour is lovely.", 0.9, True),),
            run=(0, 1),
            owed=(Held(SeenElement("# A", Kind.HEADING, True), "", "\n", 1, "# A"),),
            gap="\n",
            began=True,
            after=Kind.HEADING,
            verse=True,
            held_since=1772359200.5,
            held_at=9,
            similar=True,
            shown=(1, 5, 2),
            line=True,
        ),
        1772359201.0,
    ),
    responses.MEMORY: (responses.Remembered(SAID, 41, 1772359200.5),),
}

#: What an earlier version says less of.
EARLIER: dict[tuple[Codec[Any], int], Any] = {
    (conversations.STATE, 1): msgspec.structs.replace(
        VALUES[conversations.STATE], copied=(), erased=(), paged_ids=0
    ),
    (turns.STATE, 1): msgspec.structs.replace(
        VALUES[turns.STATE],
        sequence=msgspec.structs.replace(VALUES[turns.STATE].sequence, erased=(), paged_ids=0),
    ),
}

FORMATS = [(codec, version) for codec in VALUES for version in codec.reads]


def file_of(codec: Codec[Any], version: int) -> Path:
    return GOLDEN / f"{codec.name.replace(' ', '-')}.v{version}.hex"


def test_there_is_a_value_of_everything_that_services_store(stages: list[Stage]) -> None:
    stored = [stage for stage in stages if stage.table]
    assert stored
    assert {codec for stage in stored for codec in stage.codecs} == VALUES.keys()
    assert all(stage.codecs for stage in stored)


@pytest.mark.parametrize(("codec", "version"), FORMATS, ids=[file_of(*each).stem for each in FORMATS])
def test_what_was_stored_is_read(codec: Codec[Any], version: int) -> None:
    golden = file_of(codec, version)
    if not golden.exists() and version == codec.version:
        golden.write_text(codec.encode(VALUES[codec]).hex() + "\n")
        pytest.fail(f"{golden.name} was not there; it has been written: look at it and commit it")
    payload = bytes.fromhex(golden.read_text())
    assert payload[0] & 0x3F == version
    assert codec.decode(payload) == EARLIER.get((codec, version), VALUES[codec])


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("codec", VALUES, ids=lambda codec: codec.name)
def test_what_is_stored_now_is_read(codec: Codec[Any], packed: bool) -> None:
    assert codec.decode(codec.encode(VALUES[codec], packed=packed)) == VALUES[codec]


@pytest.fixture
async def stages(tmp_path: Path) -> AsyncIterator[list[Stage]]:
    """The stages of all services, as a worker opens them."""
    async with AsyncExitStack() as resources:
        found: list[Stage] = []
        for name in SERVICES:
            service = await open_service(name, Settings(data_dir=tmp_path / name), Metrics(), resources)
            found += service.stages
        yield found


def damaged(codec: Codec[Any]) -> dict[str, bytes]:
    good = codec.encode(VALUES[codec])
    packed = codec.encode(VALUES[codec], packed=True)
    return {
        "empty": b"",
        "of no format": b"\x00" + good[1:],
        "of a later format": bytes([codec.version + 1]) + good[1:],
        "without its format": good[1:],
        "cut off": good[:-3],
        "cut off and packed": packed[:-3],
        "of another shape": good[:1] + msgspec.msgpack.encode({"a": 1}),
        "text": b"garbage",
    }


@pytest.mark.parametrize("codec", VALUES, ids=lambda codec: codec.name)
def test_an_unreadable_value_is_a_state_error(codec: Codec[Any]) -> None:
    for how, value in damaged(codec).items():
        with pytest.raises(ConsistencyError, match=rf"{codec.name} of b'k'.*state reset"):
            codec.decode(value, b"k")
            pytest.fail(how)


async def test_good_records_on_damaged_state_are_not_dead_lettered(stages: list[Stage]) -> None:
    """The step raises what stops the worker; as a dead letter, each of the conversation's messages would go."""
    for stage in stages:
        if not stage.table:
            continue
        for source in stage.sources:
            examples = [example for example in load_examples(source) if example.value is not None]
            tried = 0
            for example in examples:
                harness = StageHarness(stage)
                record = harness.record(example.value, source, key=example.key)
                reads = KeysRead(b"garbage")
                batch = RecordBatch([record], source=source, source_index=stage.sources.index(source))
                with pytest.raises(ConsistencyError):
                    if stage.step is not None:
                        stage.step(batch, reads)
                    else:
                        assert stage.async_step is not None
                        await stage.async_step(batch, reads)
                tried += 1
            assert tried, source


class KeysRead:
    """State in which every key holds the same."""

    def __init__(self, payload: bytes) -> None:
        self._payload = payload

    def read(self, key: bytes) -> tuple[int, bytes | None]:
        return 0, self._payload

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        return iter(())


class TestVersions:
    def test_preferences_by_name_of_version_1_are_an_empty_line(self) -> None:
        stored = b"\x01" + msgspec.json.encode({"type": "preferences", "known": [["f-1", "l-1", 0]]})
        assert facts.STATE.decode(stored) == Line(False)

    def test_the_version_before_is_read_and_written_anew(self) -> None:
        class Now(msgspec.Struct, frozen=True):
            total: int

        before: Codec[int] = Codec("count", int)
        now = Codec(
            "count", Now, version=2, older={1: lambda body: Now(msgspec.msgpack.decode(body, type=int))}
        )
        assert now.reads == (1, 2)
        assert now.decode(before.encode(7)) == now.decode(before.encode(7, packed=True)) == Now(7)
        assert now.decode(now.encode(Now(8))) == Now(8)
        with pytest.raises(ConsistencyError, match="format 2, and this program reads 1"):
            before.decode(now.encode(Now(8)))


class TestForms:
    CODEC: Codec[str] = Codec("text", str)

    def test_a_block_larger_than_memory_is_damaged(self) -> None:
        for size in (b"\xff\xff\xff\x7f", b"\xff\xff\xff\xff"):
            with pytest.raises(ConsistencyError, match="the stored text of b'k' cannot be read"):
                self.CODEC.decode(b"\x41" + size + b"\x00" * 20, b"k")
