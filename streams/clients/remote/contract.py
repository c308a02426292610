"""Protocol between both sides of the socket.

A frame is a length (4 bytes, the highest first) and MessagePack.  Calls of one connection are answered as they
are ready, distinguished by their numbers.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_type_hints

import msgspec

#: Longest frame (bytes): some thousand facts.
MOST_BYTES = 64 << 20

_LENGTH_BYTES = 4

#: Method of no object: nobody waits for the call of this number any more.
CANCEL = "cancel"

_encode = msgspec.msgpack.Encoder().encode


class Request(msgspec.Struct, frozen=True, array_like=True):
    """A call: of a method of an object, with its arguments in order."""

    number: int
    object: str
    method: str
    arguments: msgspec.Raw


class Failure(msgspec.Struct, frozen=True, array_like=True):
    """An error: its class by name, what it says, and of a dependency that is down, which."""

    kind: str
    message: str
    dependency: str = ""


class Answer(msgspec.Struct, frozen=True, array_like=True):
    """Outcome of a call."""

    number: int
    result: msgspec.Raw
    failure: Failure | None = None


@dataclass(frozen=True)
class Method:
    """One method: how it is called, and what its arguments and its result are."""

    signature: inspect.Signature
    arguments: type[msgspec.Struct]
    result: Any


def methods_of(protocol: type[Any]) -> Mapping[str, Method]:
    """Return the async methods that a Protocol declares."""
    found = {}
    for name, function in vars(protocol).items():
        if name.startswith("_") or not inspect.iscoroutinefunction(function):
            continue
        hints = get_type_hints(function, include_extras=True)
        signature = inspect.signature(function)
        fields = [(each, hints[each]) for each in signature.parameters if each != "self"]
        found[name] = Method(
            signature, msgspec.defstruct(name, fields, array_like=True), hints.get("return", type(None))
        )
    return found


def pack(value: Any) -> bytes:
    """Return a value as MessagePack."""
    return _encode(value)


async def read_frame(reader: asyncio.StreamReader) -> bytes | None:
    """Return the next frame; ``None``: the other side has closed.

    Raises:
        ConnectionError: it has closed in mid-frame, or sends what is no frame.
    """
    try:
        length = int.from_bytes(await reader.readexactly(_LENGTH_BYTES))
        if length > MOST_BYTES:
            raise ConnectionError(f"a frame of {length:,} bytes")
        return await reader.readexactly(length)
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise ConnectionError("closed in mid-frame") from error
        return None


def write_frame(writer: asyncio.StreamWriter, frame: bytes) -> None:
    """Write a frame; whoever writes much drains."""
    writer.write(len(frame).to_bytes(_LENGTH_BYTES))
    writer.write(frame)
