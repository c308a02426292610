"""Chunks that come twice, in the wrong order, late or never; and responses that never end."""

from __future__ import annotations

from datetime import UTC, datetime

from models.responses import ResponseChunk
from processors.responses.filter import ResponseFilter
from processors.responses.filter_state import FilterPolicy
from processors.responses.halves import ReceivedChunk
from processors.responses.history import SeenElement
from processors.responses.sequence import ResponseSequencer, ResponseState, Sequenced
from streams.agents.respond.responses import STATE

OPENING = "The museum opens at nine in the morning."
PARKING = "You can leave your car behind the house."


def chunk(sequence: int, text: str, *, final: bool = False, response_id: str = "r-1") -> ReceivedChunk:
    return ReceivedChunk(
        response_id=response_id,
        conversation_id="c-1",
        sequence=sequence,
        text=text,
        final=final,
        tenant_id="acme",
    )


class Response:
    """A response, chunk by chunk; its state goes through the changelog's form each time."""

    def __init__(self, said: tuple[SeenElement, ...] = ()) -> None:
        self.sequencer = ResponseSequencer(
            ResponseFilter(FilterPolicy(repeat_hold_seconds=0.5, idle_seconds=60.0))
        )
        self.state: ResponseState | None = None
        self.said = said
        self.out: list[ResponseChunk] = []

    def push(self, sequence: int, text: str, now: float = 0.0, *, final: bool = False) -> Sequenced:
        return self._take(self.sequencer.push(self.state, chunk(sequence, text, final=final), now, self.said))

    def tick(self, now: float) -> Sequenced:
        assert self.state is not None
        return self._take(self.sequencer.tick(self.state, now))

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.out)

    def _take(self, step: Sequenced) -> Sequenced:
        self.state = None if step.state is None else STATE.decode(STATE.encode(step.state))
        assert self.state == step.state
        self.out += step.chunks
        assert [part.sequence for part in self.out] == list(range(len(self.out)))
        return step


def test_one_chunk_goes_out_for_each_that_comes_in() -> None:
    response = Response()
    pieces = [OPENING[:10], "", OPENING[10:], " ", OPENING[:20], OPENING[20:], "\n", ""]
    for number, piece in enumerate(pieces):
        step = response.push(number, piece, final=number == 7)
        assert len(step.chunks) == 1
    assert response.text == f"{OPENING}\n"
    assert [part.final for part in response.out] == [False] * 7 + [True]
    assert {(part.response_id, part.conversation_id, part.tenant_id) for part in response.out} == {
        ("r-1", "c-1", "acme")
    }


def test_what_was_taken_out_becomes_an_event() -> None:
    response = Response()
    response.push(0, f"{OPENING} ")
    (event,) = response.push(1, OPENING, 5.0, final=True).duplicates
    assert (event.session_id, event.response_id, event.tenant_id) == ("c-1", "r-1", "acme")
    assert (event.duplicate_sentence, event.similar_sentence) == (OPENING, OPENING)
    assert (event.similarity_score, event.position_in_response) == (1.0, 41)
    assert event.timestamp == datetime(1970, 1, 1, 0, 0, 5, tzinfo=UTC)
    assert not event.kept
    other = Response()
    other.push(0, f"{OPENING} {OPENING[:9]}")
    (again,) = other.push(1, OPENING[9:], 0.4, final=True).duplicates
    assert again.event_id == event.event_id == "4eb4fc02-1917-5afc-a90c-20c8ff84077a"


def test_each_duplicate_is_an_event_of_its_own() -> None:
    response = Response()
    response.push(0, f"{OPENING} {PARKING} ")
    response.push(2, "Also the museum is opening at nine in the morning.", final=True)
    events = response.push(1, f"{OPENING} {PARKING} ").duplicates
    assert [event.duplicate_sentence for event in events] == [
        OPENING,
        PARKING,
        "Also the museum is opening at nine in the morning.",
    ]
    assert [event.kept for event in events] == [False, False, True]
    others = [
        response.sequencer.push(
            None, chunk(0, OPENING, final=True, response_id=each), 0.0, (SeenElement(OPENING),)
        )
        for each in ("r-2", "r-3")
    ]
    events += [event for step in others for event in step.duplicates]
    assert len({event.event_id for event in events}) == 5


def test_chunks_out_of_order_are_put_right() -> None:
    response = Response()
    assert response.push(1, "b ").chunks == []
    assert response.push(3, "d ").chunks == []
    assert len(response.push(0, "a ").chunks) == 2
    assert len(response.push(2, "c ").chunks) == 2
    response.push(4, "e", final=True)
    assert response.text == "a b c d e"


def test_a_lost_chunk_is_waited_for_and_then_given_up() -> None:
    response = Response()
    response.push(0, "a ")
    response.push(2, "c ", 1.0)
    assert response.state is not None
    assert response.sequencer.wake_at(response.state) == 1.5
    assert response.tick(1.499).missing == 0
    assert response.tick(1.5).missing == 1
    assert response.text.strip() == "a c"
    step = response.push(1, "b ", 2.0)
    assert (step.late, step.chunks, step.repeated) == ([chunk(1, "b ")], [], 0)
    response.push(3, "d", 2.1, final=True)
    assert response.text == "a c d"


def test_too_many_chunks_ahead_are_not_waited_for() -> None:
    response = Response()
    steps = [response.push(number, "x ") for number in range(1, 258)]
    assert [step.missing for step in steps[-2:]] == [0, 1]
    assert len(response.out) == 257


def test_held_text_leaves_alone_when_its_time_ends() -> None:
    response = Response()
    response.push(0, OPENING)
    response.push(1, " The museum", 1.0)
    step = response.tick(1.5)
    assert [(part.sequence, part.text, part.final) for part in step.chunks] == [(2, " The museum", False)]
    assert step.waited == [0.5]
    response.push(2, " is closed.", 1.6, final=True)
    assert [part.sequence for part in response.out] == [0, 1, 2, 3]
    assert response.text == f"{OPENING} The museum is closed."


def test_a_response_that_never_ends_is_closed_and_forgotten() -> None:
    response = Response()
    response.push(0, OPENING)
    response.push(2, " The museum opens", 10.0)
    step = response.tick(70.0)
    assert step.silent
    assert response.out[-1].final
    assert response.text == f"{OPENING} The museum opens"
    assert [said.text for said in step.said] == [OPENING, "The museum opens"]
    assert response.push(3, " at nine.", 75.0).late == [chunk(3, " at nine.")]
    assert not response.tick(134.0).silent
    response.tick(135.0)
    assert response.state is None
