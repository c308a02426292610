"""Response chunks as models stream them, from many responses at once, with what producers do wrong."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from models.responses import ResponseChunk

_PLACES = ["harbour", "museum", "market", "castle", "garden", "library", "station", "theatre", "island"]
_VIEWS = (
    "The {place} is best seen from the {other} at {hour} in the morning.",
    "Take bus {hour} to the {place}, and walk on to the {other}.",
    "Bring a warm jacket to the {place}, because the wind at the {other} is cold.",
    "**Note:** the {place} near the {other} closes at {hour}.",
    "Tickets for the {place} cost {hour}.50 euros, e.g. at the {other}.",
    "{place}から{other}まで{hour}分ぐらい歩きます。",
    "המסעדה ליד {place} פתוחה עד {hour} בלילה.",
    "Great food 👩‍👩‍👧 at the {place}, {hour} minutes from the {other}! 🎉",
)
_STRUCTURE = (
    "\n\n```py\nfor stop in route:\n    print(stop)  # Take the bus. Take the bus.\n```\n\n",
    "\n\n| from | to |\n| - | - |\n| a | b |\n\n",
    "\n\n## The route\n\n",
    "\r\n- one\r\n- two\r\n\r\n",
    "\n> Yes.\n\n",
)

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True)
class Shape:
    """What the load is like.

    ``responses`` go on at once, each about ``sentences`` long; ``conversations`` bounds how many conversations
    they belong to.  ``repeated`` is the share of chunks that are sent twice, ``swapped`` of those that are
    overtaken by the next one; ``bad`` and ``late`` are shares of chunks and of responses that are followed by a
    record that is no chunk, or by a chunk after the end.
    """

    responses: int = 200
    sentences: int = 12
    conversations: int = 40
    repeated: float = 0.02
    swapped: float = 0.02
    bad: float = 0.003
    late: float = 0.1


Records = Iterator[tuple[bytes, bytes]]


def response_chunks(seed: int, shape: Shape, *, name: str = "r") -> Records:
    """Yield (key, value) for ever: the responses take turns at random."""
    chance = random.Random(seed)
    number = 0

    def another() -> Records:
        nonlocal number
        number += 1
        conversation = f"{name}-c{chance.randrange(shape.conversations)}"
        return _one_response(f"{name}{number}", conversation, random.Random(chance.getrandbits(32)), shape)

    going_on = [another() for _ in range(shape.responses)]
    while True:
        at = chance.randrange(len(going_on))
        record = next(going_on[at], None)
        if record is None:
            going_on[at] = another()
        else:
            yield record


def _one_response(response: str, conversation: str, chance: random.Random, shape: Shape) -> Records:
    pieces = _pieces(_text(chance, shape.sentences), chance)
    chunks = [
        ResponseChunk(
            response_id=response,
            conversation_id=conversation,
            sequence=sequence,
            text=piece,
            final=sequence == len(pieces) - 1,
        )
        for sequence, piece in enumerate(pieces)
    ]
    at = 0
    while at < len(chunks) - 1:
        at += 1
        if chance.random() < shape.swapped:
            chunks[at - 1], chunks[at] = chunks[at], chunks[at - 1]
            at += 1
    key = response.encode()
    for chunk in chunks:
        yield key, _encode(chunk)
        if chance.random() < shape.repeated:
            yield key, _encode(chunk)
        if chance.random() < shape.bad:
            yield key, _bad(chunk, chance)
    if chance.random() < shape.late:
        yield key, _encode(msgspec.structs.replace(chunks[0], sequence=len(chunks) + 1, final=False))


def _text(chance: random.Random, sentences: int) -> str:
    """Return a response that now and then says again what it said, in the same words or nearly."""
    said: list[str] = []
    parts: list[str] = []
    for _ in range(max(1, int(chance.lognormvariate(0, 0.5) * sentences))):
        if said and chance.random() < 0.25:
            sentence = chance.choice(said)
            if chance.random() < 0.5:
                sentence = sentence.replace(" the ", " that ", 1)
        else:
            place, other = chance.sample(_PLACES, 2)
            sentence = chance.choice(_VIEWS).format(place=place, other=other, hour=chance.randint(2, 60))
            said.append(sentence)
        parts.append(sentence + chance.choice((" ", " ", " ", "\n\n", "\n- ")))
        if chance.random() < 0.1:
            parts.append(chance.choice(_STRUCTURE))
    return "".join(parts)


def _pieces(text: str, chance: random.Random) -> list[str]:
    """Cut a text as models do: mostly a few characters, now and then nothing, or a lot."""
    pieces = []
    at = 0
    while at < len(text):
        size = chance.choice((0, 1, 3, 4, 5, 6, 8, 12, 20, 90))
        pieces.append(text[at : at + size])
        at += size
    return pieces


def _bad(chunk: ResponseChunk, chance: random.Random) -> bytes:
    """Return what is no chunk of this response: not JSON, a field too few, or another response's."""
    return chance.choice(
        (
            b"data: " + _encode(chunk),
            b'{"response_id":"' + chunk.response_id.encode() + b'"}',
            _encode(msgspec.structs.replace(chunk, response_id="other")),
        )
    )
