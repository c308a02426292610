"""respond/responses: order, filtering, hold times, silence and memory, without a broker."""

from __future__ import annotations

from typing import Any

import pytest

from models.responses import ContentDuplicationEvent, ResponseChunk
from processors.responses.filter import filter_text
from streams.agents.respond.responses import RESPONSES, Responses
from streams.agents.respond.routing import ROUTED
from streams.clients.topics import DUPLICATES
from streams.config.settings import Settings
from streams.runtime.testing import StageHarness

TEXT = (
    "The old harbour is best seen at sunrise. Bring a warm jacket, because the wind is cold.\n\n"
    "The old harbour is best seen at sunrise. Take bus 12 to the last stop.\n\n"
    "Take bus 13 to the last stop. The old harbour is best seen at the sunrise!"
)


def responses(**settings: Any) -> StageHarness:
    return StageHarness(Responses(Settings(**settings), lambda seconds: None).stage())


def chunks(text: str, size: int, response: str = "r", conversation: str = "c") -> list[ResponseChunk]:
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    return [
        ResponseChunk(
            response_id=response,
            conversation_id=conversation,
            sequence=n,
            text=piece,
            final=n == len(pieces) - 1,
        )
        for n, piece in enumerate(pieces)
    ]


def text_of(harness: StageHarness, response: str = "r") -> str:
    out = [chunk for chunk in harness.values(RESPONSES, ResponseChunk) if chunk.response_id == response]
    assert [chunk.sequence for chunk in out] == list(range(len(out)))
    return "".join(chunk.text for chunk in out)


@pytest.mark.parametrize("size", [1, 7, 40, 1000])
@pytest.mark.parametrize("batch", [1, 3, 500])
def test_the_stage_gives_what_the_processor_gives(size: int, batch: int) -> None:
    harness = responses()
    records = [harness.record(chunk) for chunk in chunks(TEXT, size)]
    for at in range(0, len(records), batch):
        harness.feed(*records[at : at + batch])
    expected = filter_text(TEXT)
    assert text_of(harness) == expected.text
    events = harness.values(DUPLICATES, ContentDuplicationEvent)
    assert [event.duplicate_sentence for event in events] == [d.sentence for d in expected.duplicates]
    assert [event.kept for event in events] == [False, True]
    assert {event.session_id for event in events} == {"c"}
    assert "bus 13" in text_of(harness), "sentences that differ in a number are no duplicates"


def test_a_memory_that_spans_the_conversation() -> None:
    harness = responses(response_memory="conversation")
    assert harness.spec.sources == (ROUTED,)
    for response, conversation in (("r1", "c"), ("r2", "c"), ("r3", "other")):
        records = [
            harness.record(chunk, key=conversation.encode())
            for chunk in chunks("The harbour is lovely today. Bye.", 9, response, conversation)
        ]
        harness.feed(*records)
    assert text_of(harness, "r1") == "The harbour is lovely today. Bye."
    assert text_of(harness, "r2") == ""
    assert text_of(harness, "r3") == "The harbour is lovely today. Bye."


def test_a_crash_between_changes_forgets_nothing() -> None:
    """What a conversation has said is stored before the responses whose chunks are not read again then."""
    harness = responses(response_memory="conversation")
    sentences = ("The harbour is lovely today. ", "Take the tram at nine. ")
    batch = [
        harness.record(chunk, key=b"c")
        for number, sentence in enumerate(sentences)
        for chunk in chunks(sentence + "Bye.", 50, f"r{number}")
    ]
    harness.feed(*batch)
    written = list(harness.changelog)
    assert len(written) == 3
    for cut in range(len(written) + 1):
        harness.changelog = written[:cut]
        harness.recover()
        harness.feed(*batch)
        again = f"again{cut}"
        harness.feed(*[harness.record(chunk, key=b"c") for chunk in chunks("".join(sentences), 50, again)])
        assert text_of(harness, again).strip() == "", cut


def test_a_failing_detection_lets_the_text_through_and_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr("streams.agents.respond.responses.find_duplicate", broken)
    harness = responses()
    harness.feed(*[harness.record(chunk) for chunk in chunks(TEXT, 30)])
    # What repeats word for word needs no similarity; all else goes through.
    assert text_of(harness) == filter_text(TEXT).text
    assert harness.last.counts["content_detection_errors_total", ()] > 0
