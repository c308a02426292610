"""The side that calls."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec

from models.errors import DependencyUnavailable
from streams.clients.remote.contract import (
    CANCEL,
    Answer,
    Failure,
    Method,
    Request,
    methods_of,
    pack,
    read_frame,
    write_frame,
)
from streams.config.background import cancel_and_wait, in_background

T = TypeVar("T")

_CONNECT_SECONDS = 5.0

_NOTHING = msgspec.Raw(pack(None))


class Remote:
    """Objects behind a socket.  It connects when it is first asked, and again when the connection was lost.

    ``part``: what the other process is called in :class:`DependencyUnavailable`; ``advice``: what to do when
    nobody listens.  ``told``: errors that the other side tells as they are.
    """

    def __init__(
        self,
        path: Path,
        part: str,
        advice: str,
        told: Sequence[type[Exception]],
        *,
        answer_seconds: float = 30.0,
    ) -> None:
        self._path = path
        self._part = part
        self._advice = advice
        self._told = {kind.__name__: kind for kind in told}
        self._answer_seconds = answer_seconds
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Answer]] = {}
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None
        self._connecting = asyncio.Lock()

    def object(self, protocol: type[T], name: str) -> T:
        """Return an object with the methods of the Protocol; each may raise :class:`DependencyUnavailable`."""
        methods = {
            method: self._method(name, method, described) for method, described in methods_of(protocol).items()
        }
        return cast(T, type(f"Remote{protocol.__name__}", (), methods)())

    async def connected(self) -> None:
        """Raise :class:`DependencyUnavailable` unless the other process is there."""
        try:
            await self._connected()
        except OSError as error:  # TimeoutError is one
            raise self._nobody(error) from error

    async def close(self) -> None:
        """Let the connection go."""
        if self._reading is not None:
            await cancel_and_wait(self._reading)
        self._lose("closed")

    def _method(self, name: str, method: str, described: Method) -> Callable[..., Coroutine[Any, Any, Any]]:
        decode = msgspec.msgpack.Decoder(described.result).decode

        async def call(*given: Any, **named: Any) -> Any:
            bound = described.signature.bind(*given, **named)
            bound.apply_defaults()
            arguments = msgspec.Raw(pack(list(bound.args[1:]) + list(bound.kwargs.values())))
            return decode(await self._call(name, method, arguments))

        return call

    async def _call(self, name: str, method: str, arguments: msgspec.Raw) -> msgspec.Raw:
        try:
            async with asyncio.timeout(self._answer_seconds):
                writer = await self._connected()
                number = next(self._numbers)
                future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
                self._waiting[number] = future
                try:
                    write_frame(writer, pack(Request(number, name, method, arguments)))
                    await writer.drain()
                    answer = await future
                except asyncio.CancelledError:  # given up, or out of time: the other side need not go on
                    if self._writer is writer:
                        write_frame(writer, pack(Request(number, "", CANCEL, _NOTHING)))
                    raise
                finally:
                    self._waiting.pop(number, None)
        except TimeoutError as error:
            raise DependencyUnavailable(
                self._part, f"it did not answer within {self._answer_seconds:g} s"
            ) from error
        except OSError as error:
            raise self._nobody(error) from error
        if answer.failure is not None:
            raise self._error(answer.failure)
        return answer.result

    def _nobody(self, error: OSError) -> DependencyUnavailable:
        said = error or "it took too long"
        return DependencyUnavailable(self._part, f"it does not answer ({said}): {self._advice}")

    def _error(self, failure: Failure) -> Exception:
        if failure.kind == "DependencyUnavailable":
            return DependencyUnavailable(failure.dependency, failure.message)
        kind = self._told.get(failure.kind)
        if kind is not None:
            return kind(failure.message)
        return RuntimeError(f"{self._part} failed ({failure.message}): its log has the details")

    async def _connected(self) -> asyncio.StreamWriter:
        async with self._connecting:
            if self._writer is None:
                async with asyncio.timeout(_CONNECT_SECONDS):
                    reader, self._writer = await asyncio.open_unix_connection(str(self._path))
                self._reading = in_background(self._read(reader), f"remote-{self._part}")
            return self._writer

    async def _read(self, reader: asyncio.StreamReader) -> None:
        why = "the connection was closed"
        try:
            while (frame := await read_frame(reader)) is not None:
                answer = msgspec.msgpack.decode(frame, type=Answer)
                waiting = self._waiting.get(answer.number)
                if waiting is not None and not waiting.done():
                    waiting.set_result(answer)
        except (OSError, msgspec.MsgspecError) as error:
            why = str(error)
        self._lose(why)

    def _lose(self, why: str) -> None:
        """The connection is gone: whoever waits for an answer must not wait longer."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(ConnectionError(why))
                future.exception()  # who is still writing hears of it there, and asks for no answer
