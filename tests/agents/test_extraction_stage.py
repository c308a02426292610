"""memory/extraction, called without a broker: requirement 1's methods against extracting anything twice."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
import samples
from memory_samples import MESSAGES, ScriptedExtractor, said, statement, window

from models import ids
from models.errors import DependencyUnavailable
from models.facts import Fact, FactCandidate
from models.graph import GraphStatement
from models.policies import NeverKept, Rules
from models.ports import Extraction as Outcome
from models.ports import Extractor, GraphReader, Refused, TryLater
from models.statements import Kind, Statement
from models.windows import Window
from processors.prompts import graph
from streams.agents.memory.extraction import Extraction
from streams.agents.memory.facts import FACTS, Facts
from streams.clients.topics import CANDIDATES
from streams.config.settings import Settings
from streams.llm.builtin_extractor import BuiltinExtractor
from streams.llm.onnx_reader import OnnxReader
from streams.runtime.stamp import stamp
from streams.runtime.testing import PARTITION, StageHarness
from tests import prompt_examples as examples


class Harness(StageHarness):
    """The stage around ``extractor``."""

    def __init__(
        self, extractor: Extractor, settings: Settings | None = None, graph: GraphReader | None = None
    ) -> None:
        super().__init__(Extraction(settings or Settings(), extractor, graph).stage())

    @property
    def candidates(self) -> list[FactCandidate]:
        return self.values(CANDIDATES, FactCandidate)

    @property
    def statements(self) -> list[str]:
        return [candidate.statement for candidate in self.candidates]


def each_message(messages: Window) -> list[Statement]:
    """An extractor's script: every message states something."""
    return [statement(message.content, message.message_id) for message in messages.messages]


CHAT = said(*[f"line {n}" for n in range(24)])
FIRST, SECOND, THIRD = window(CHAT[:10]), window(CHAT[7:17], overlap=3), window(CHAT[14:24], overlap=3)


class TestCandidates:
    async def test_a_statement_becomes_a_candidate_with_its_origin(self) -> None:
        def script(_: Window) -> list[Statement]:
            return [
                statement(
                    "likes blueberries",
                    "c-m2",
                    "c-m4",
                    quote="line 2\nline 4",
                    confidence=0.7,
                )
            ]

        harness = Harness(ScriptedExtractor(script))
        await harness.call(harness.record(FIRST))
        (found,) = harness.candidates
        assert (found.user_id, found.kind, found.confidence) == ("ada", Kind.PREFERENCE, 0.7)
        assert found.candidate_id == ids.candidate_id(
            ids.text_fact_id("default", "ada", "likes blueberries"), "c", ["c-m2", "c-m4", "holds"]
        )
        assert found.provenance.arrived_at == FIRST.messages[4].arrived_at
        assert found.extractor == "scripted-1"
        assert found.source_message_ids == found.provenance.message_ids == ("c-m2", "c-m4")
        assert (found.provenance.window_id, found.provenance.window_end_id) == (FIRST.window_id, "c-m9")
        origin = found.provenance.topic, found.provenance.partition, found.provenance.offsets
        assert origin == (MESSAGES, PARTITION, (102, 104))
        assert found.provenance.sent_at == CHAT[4].sent_at

    async def test_a_candidate_is_keyed_by_the_person_it_is_about(self) -> None:
        of_bob = window(said("likes tea", user="bob"))
        harness = Harness(ScriptedExtractor(lambda _: [statement("likes tea", "c-m0", user="bob")]))
        await harness.call(harness.record(of_bob))
        (output,) = harness.outputs
        assert (output.topic, output.key, output.route) == (CANDIDATES, b"bob", None)
        assert dict(output.headers)["ce_id"] == harness.candidates[0].candidate_id.encode()


class TestMasking:
    """Secrets are known by what stands before them, so they are gone before anybody makes a value of them."""

    CARD = "4111 1111 1111 1111"
    SECRET = "a1B" + "".join(chr(ord("c") + n % 20) for n in range(37))

    async def extracted(self, *lines: str, overlap: int = 0, **settings: str) -> Harness:
        def last_word(messages: Window) -> list[Statement]:
            return [
                msgspec.structs.replace(
                    statement(f"Has {word}", each.message_id, quote=each.content),
                    attribute="possession",
                    value=word,
                    kind=Kind.STATE,
                )
                for each in messages.messages
                for word in each.content.split("= ")[1:]
            ]

        harness = Harness(ScriptedExtractor(last_word), Settings(**settings), Related())
        await harness.call(harness.record(window(said(*lines), overlap=overlap)))
        return harness

    @pytest.mark.parametrize(
        ("line", "secret", "kind"),
        [
            (f"secret_key = {SECRET}", SECRET, "aws key"),
            ("password = Sesame-77", "Sesame-77", "password"),
            (f"my card is = {CARD}", CARD, "card number"),
        ],
    )
    async def test_nothing_of_a_fact_or_the_graph_holds_a_secret(
        self, line: str, secret: str, kind: str
    ) -> None:
        harness = await self.extracted(line)
        assert len(harness.outputs) == 2
        assert all(secret.encode() not in (output.value or b"") for output in harness.outputs)
        (found,) = harness.candidates
        assert (found.value, found.provenance.offsets) == (f"[masked: {kind}]", (100,))
        assert found.provenance.quote == line.replace(secret, f"[masked: {kind}]")
        assert harness.last.counts["masked_passages_total", (kind,)] == 1

    async def test_an_extractor_is_not_told_what_is_masked(self) -> None:
        extractor = ScriptedExtractor(lambda _: [])
        harness = Harness(extractor)
        await harness.call(harness.record(window(said("Hello", f"secret_key = {self.SECRET}"))))
        (asked,) = extractor.asked
        assert [each.content for each in asked.messages] == ["Hello", "secret_key = [masked: aws key]"]

    async def test_what_the_window_before_held_is_counted_once(self) -> None:
        harness = await self.extracted(f"= {self.CARD}", f"= {self.CARD}", overlap=1)
        assert len(harness.candidates) == 2
        assert harness.last.counts["masked_passages_total", ("card number",)] == 1

    async def test_nobody_in_the_graph_is_called_by_a_secret(self) -> None:
        harness = await self.extracted("Anna", mask_patterns='["An+a"]')
        assert harness.outputs == []
        assert harness.last.counts["statements_dropped_total", ("secret_name",)] == 1

    async def test_it_is_kept_where_masking_is_off(self) -> None:
        harness = await self.extracted(f"= {self.CARD}", mask="off")
        assert all(self.CARD.encode() in (output.value or b"") for output in harness.outputs)


class Related:
    """A graph reader that quotes the first message, and takes a message of one word for a name."""

    name = "related-1"

    async def relate(self, windows: Sequence[Window]) -> list[tuple[GraphStatement, ...]]:
        return [(self._related(each.messages[0].content),) for each in windows]

    @staticmethod
    def _related(text: str) -> GraphStatement:
        source = msgspec.structs.replace(graph_statement().source, quote=text)
        who = msgspec.structs.replace(graph_statement().object, name="Rex" if "=" in text else text)
        return msgspec.structs.replace(graph_statement(), source=source, object=who)


def graph_statement() -> GraphStatement:
    [found] = graph.read(examples.EXTRACTED, examples.window()).statements
    return found


class TestNothingTwice:
    @pytest.mark.parametrize("together", [True, False])
    async def test_statements_that_rest_on_the_overlap_alone_are_skipped(self, together: bool) -> None:
        """Seed 000, method 2."""
        harness = Harness(ScriptedExtractor(each_message))
        records = [harness.record(each) for each in (FIRST, SECOND, THIRD)]
        for batch in [records] if together else [[record] for record in records]:
            await harness.call(*batch)
        assert harness.statements == [f"line {n}" for n in range(24)]

    async def test_what_also_rests_on_a_new_message_is_kept(self) -> None:
        def script(each: Window) -> list[Statement]:
            last = each.messages[-1].message_id
            return [
                statement(f"from {last}", "c-m8", last, quote="line 8"),
                statement("of old", "c-m8", quote="line 8"),
            ]

        harness = Harness(ScriptedExtractor(script))
        await harness.call(harness.record(FIRST))
        await harness.call(harness.record(SECOND))
        assert harness.statements == ["from c-m9", "of old", "from c-m16"]

    async def test_a_window_whose_end_was_processed_is_skipped(self) -> None:
        """Seed 000, method 1: the same window again, at another offset."""
        extractor = ScriptedExtractor(each_message)
        harness = Harness(extractor)
        await harness.call(harness.record(FIRST))
        await harness.call(harness.record(SECOND))
        effects = await harness.call(harness.record(FIRST), harness.record(SECOND))
        assert (effects.outputs, effects.changes, effects.dead_letters) == ([], {}, [])
        assert effects.counts["skipped_records_total", ("extraction", "replayed")] == 2
        assert len(extractor.asked) == 2

    async def test_a_conversation_that_begins_again_is_extracted_again(self) -> None:
        """After a reset of ingest the indices start at 0; the messages are others."""
        harness = Harness(ScriptedExtractor(each_message))
        await harness.call(harness.record(FIRST), harness.record(SECOND))
        before = len(harness.candidates)
        again = [msgspec.structs.replace(m, message_id=f"new-{m.message_id}") for m in FIRST.messages]
        restarted = msgspec.structs.replace(
            FIRST, messages=tuple(again), message_ids=tuple(m.message_id for m in again)
        )
        await harness.call(harness.record(restarted))
        assert len(harness.candidates) == before + len(again)

    async def test_a_replay_writes_nothing_again(self) -> None:
        harness = Harness(ScriptedExtractor(each_message))
        records = [harness.record(each) for each in (FIRST, SECOND)]
        await harness.call(*records)
        harness.recover()
        effects = await harness.call(*records)
        assert (effects.outputs, effects.changes) == ([], {})


@pytest.mark.parametrize("ends", [((0, 10), (7, 17)), ((0, 5), (3, 17)), ((0, 17),)])
@pytest.mark.parametrize("together", [True, False])
async def test_windows_may_end_anywhere_without_changing_evidence(
    ends: tuple[tuple[int, int], ...], together: bool
) -> None:
    wordings = {
        2: "I'm vegetarian.",
        8: "I am a vegetarian.",
        12: "I've been a vegetarian for years, I'm vegetarian.",
    }
    chat = said(*[wordings.get(n, "assistant: I see.") for n in range(17)])
    before = [0, *(end for _, end in ends)]
    windows = [
        window(chat[begin:end], overlap=known - begin)
        for (begin, end), known in zip(ends, before, strict=False)
    ]
    extraction = Harness(BuiltinExtractor(OnnxReader()))
    for batch in [windows] if together else [[each] for each in windows]:
        await extraction.call(*[extraction.record(each) for each in batch])
    facts = StageHarness(Facts(Settings()).stage())
    facts.feed(*[facts.record(found) for found in extraction.candidates])
    *_, fact = facts.values(FACTS, Fact)
    assert (fact.evidence_count, fact.valid_from) == (3, chat[2].sent_at)
    assert [each.message_ids for each in fact.provenance] == [("c-m2",), ("c-m8",), ("c-m12",)]


#: What is wrong with a statement, by the objection to it.
WRONG: dict[str, dict[str, Any]] = {
    "unknown_source": {"source_message_ids": ("c-m12", "nowhere")},
    "not_a_speaker": {"user_id": "bob"},
    "not_quoted": {"quote": "what nobody said"},
    "too_long": {"value": "x" * 1025},
}


class TestBadInput:
    @pytest.mark.parametrize("reason", WRONG)
    async def test_a_statement_its_window_lacks_is_dropped_alone(self, reason: str) -> None:
        """A language model may invent ids, people, quotes and dates."""
        wrong = msgspec.structs.replace(statement("line 12", "c-m12"), **WRONG[reason])

        def script(each: Window) -> list[Statement]:
            return [*each_message(each), *([wrong] if each == SECOND else [])]

        harness = Harness(ScriptedExtractor(script))
        effects = await harness.call(*[harness.record(each) for each in (FIRST, SECOND, THIRD)])
        assert effects.dead_letters == []
        assert effects.counts["statements_dropped_total", (reason,)] == 1
        assert harness.statements == [f"line {n}" for n in range(24)]


class TestDependencies:
    async def test_an_extractor_that_is_down_is_waited_for(self) -> None:
        """The error reaches the runtime, which waits in place; nothing was stored or written."""

        class Down(ScriptedExtractor):
            up = False

            async def extract(self, windows: Any) -> list[Outcome]:
                if not self.up:
                    raise DependencyUnavailable("gemini", "503")
                return await super().extract(windows)

        extractor = Down(each_message)
        harness = Harness(extractor)
        record = harness.record(FIRST)
        with pytest.raises(DependencyUnavailable, match="gemini"):
            await harness.call(record)
        assert (harness.outputs, harness.changelog) == ([], [])
        extractor.up = True
        await harness.call(record)
        assert len(harness.candidates) == 10

    async def test_partitions_that_retry_at_once_keep_their_own_answers(self) -> None:
        class Throttled(ScriptedExtractor):
            """Defers the first window of each conversation once, then waits."""

            def __init__(self) -> None:
                super().__init__(each_message)
                self.throttled: set[str] = set()
                self.slow = asyncio.Event()

            async def extract(self, windows: Any) -> list[Outcome]:
                found: list[Outcome] = [*await super().extract(windows)]
                if (name := windows[0].conversation_id) not in self.throttled:
                    self.throttled.add(name)
                    return [TryLater("429"), *found[1:]]
                await self.slow.wait()
                return found

        extractor = Throttled()
        stage = Extraction(Settings(), extractor).stage()
        lanes = [StageHarness(stage, partition=number) for number in range(2)]
        chats = [said(*[f"line {n}" for n in range(10)], conversation=name) for name in "cd"]
        windows = [
            [window(chat[:5], conversation=name), window(chat[5:], conversation=name)]
            for name, chat in zip("cd", chats, strict=True)
        ]
        records = [[lane.record(each) for each in of] for lane, of in zip(lanes, windows, strict=True)]
        for lane, batch in zip(lanes, records, strict=True):
            with pytest.raises(DependencyUnavailable, match="1 of 2 windows"):
                await lane.call(*batch)
        retries = [asyncio.create_task(lane.call(*batch)) for lane, batch in zip(lanes, records, strict=True)]
        await asyncio.sleep(0)
        extractor.slow.set()
        await asyncio.gather(*retries)
        asked = [each.window_id for each in extractor.asked]
        assert asked == [each.window_id for each in (*windows[0], *windows[1], windows[0][0], windows[1][0])]
        for lane in lanes:
            found = lane.values(CANDIDATES, FactCandidate)
            assert [each.statement for each in found] == [f"line {n}" for n in range(10)]

    async def test_a_refused_window_is_dead_lettered_alone(self) -> None:
        class Prim(ScriptedExtractor):
            async def extract(self, windows: Any) -> list[Outcome]:
                found = await super().extract(windows)
                return [
                    Refused("safety", "the model refuses") if window == SECOND else each
                    for window, each in zip(windows, found, strict=True)
                ]

        harness = Harness(Prim(each_message))
        records = [harness.record(each) for each in (FIRST, SECOND, THIRD)]
        effects = await harness.call(*records)
        assert [(each.reason, each.record.offset) for each in effects.dead_letters] == [("safety", 1)]
        windows = {candidate.provenance.window_id for candidate in harness.candidates}
        assert windows == {FIRST.window_id, THIRD.window_id}
        assert (await harness.call(*records)).dead_letters == []


class TestPolicies:
    NEVER = Rules(never_kept=NeverKept(topics=("line 2", "diabetes"), patterns=(r"ID-\d{4}",)))

    def harness(self, rules: Rules, extractor: Extractor, graph: GraphReader | None = None) -> StageHarness:
        policies = samples.Policies(default=rules)
        return StageHarness(Extraction(Settings(), extractor, graph, policies).stage())

    async def test_statements_that_mention_what_is_never_kept_are_dropped(self) -> None:
        harness = self.harness(self.NEVER, ScriptedExtractor(each_message))
        await harness.call(harness.record(FIRST))
        kept = [each.statement for each in harness.values(CANDIDATES, FactCandidate)]
        assert kept == [f"line {n}" for n in range(10) if n != 2]
        assert harness.last.counts["statements_dropped_total", ("never_kept",)] == 1

    @pytest.mark.parametrize("where", ["statement", "quote", "value", "subject"])
    async def test_each_text_of_a_statement_is_looked_at(self, where: str) -> None:
        def script(each: Window) -> list[Statement]:
            found = statement("has a card", "c-m0", quote="My card")
            if where == "value":
                found = msgspec.structs.replace(found, attribute="possession", kind=Kind.STATE)
            return [msgspec.structs.replace(found, **{where: "ID-1234"})]

        harness = self.harness(self.NEVER, ScriptedExtractor(script))
        await harness.call(harness.record(window(said("My card is ID-1234"))))
        assert harness.outputs == []

    async def test_it_holds_for_the_builtin_extractor(self) -> None:
        chat = said("I have diabetes and inject insulin every morning.", "I am allergic to peanuts.")
        kept = []
        for rules in (Rules(), self.NEVER):
            harness = self.harness(rules, BuiltinExtractor(OnnxReader()))
            await harness.call(harness.record(window(chat)))
            kept.append([each.statement for each in harness.values(CANDIDATES, FactCandidate)])
        assert any("diabetes" in each for each in kept[0])
        assert kept[1] == [each for each in kept[0] if "diabetes" not in each] != []

    async def test_nothing_of_it_gets_into_the_graph(self) -> None:
        chat = said("Anna has diabetes")
        harness = self.harness(self.NEVER, ScriptedExtractor(lambda _: []), Related())
        await harness.call(harness.record(window(chat)))
        assert harness.outputs == []
        assert harness.last.counts["statements_dropped_total", ("never_kept",)] == 1

    async def test_the_hash_of_the_policy_is_in_the_stamp(self) -> None:
        extractor = ScriptedExtractor(each_message)
        stamps = []
        for rules in (self.NEVER, Rules(instructions="Note all."), Rules()):
            harness = self.harness(rules, extractor)
            await harness.call(harness.record(FIRST))
            (found,) = {output.stamp for output in harness.outputs}
            stamps.append(found)
        one, other, none = stamps
        assert none is None  # the stage's own
        assert one is not None and other is not None
        assert {name for name, _ in one} == {"sw_code", "sw_config"}
        own = dict(stamp(harness.spec.decided_by))["sw_config"]
        assert len({dict(one)["sw_config"], dict(other)["sw_config"], own}) == 3

    async def test_a_policy_of_another_tenant_changes_nothing(self) -> None:
        policies = samples.Policies(clinic=self.NEVER)
        harness = StageHarness(Extraction(Settings(), ScriptedExtractor(each_message), None, policies).stage())
        await harness.call(harness.record(FIRST))
        assert len(harness.outputs) == 10
