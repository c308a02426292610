"""The side that has the objects."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import structlog

from models.errors import ConfigurationError, DependencyUnavailable
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

log = structlog.get_logger("streams.clients.remote")

#: Calls of one connection that run at once; further ones are read when one has ended.  What takes long has a
#: bound of its own, or who asks for little would wait for it here.
_MOST_CALLS = 1024

_NOTHING = msgspec.Raw(pack(None))


class ObjectServer:
    """Answers calls of objects until :meth:`close`; made by :meth:`open`.

    ``objects``: by name, the Protocol that says what may be called, and the object.  ``told``: errors that mean
    something to the caller, beside that a dependency is down.  ``waited_for`` adds to those for how long
    (seconds).
    """

    def __init__(
        self,
        objects: Mapping[str, tuple[type[Any], object]],
        told: Sequence[type[Exception]],
        waited_for: Callable[[], Mapping[str, float]],
    ) -> None:
        self._methods: dict[tuple[str, str], tuple[Method, Any]] = {
            (name, method): (described, getattr(found, method))
            for name, (protocol, found) in objects.items()
            for method, described in methods_of(protocol).items()
        }
        self._told = tuple(told)
        self._waited_for = waited_for
        self._tasks: set[asyncio.Task[None]] = set()
        self._connections: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._server: asyncio.Server | None = None
        self._path = Path()

    async def open(self, path: Path) -> None:
        """Listen on a socket that only this user may open (0600), in place of one that is there.

        Raises:
            ConfigurationError: there can be no socket.
        """
        self._path = path
        try:
            listener = _listen(path)
        except OSError as error:
            raise ConfigurationError(
                f"{path} cannot be listened on ({error.strerror or error}): set SWITCHBOARD_DATA_DIR to a "
                "folder that this user may write"
            ) from error
        self._server = await asyncio.start_unix_server(self._serve, sock=listener)

    async def close(self) -> None:
        """Take no more calls, and end those that run."""
        if self._server is not None:
            self._server.close()
            self._path.unlink(missing_ok=True)
        await cancel_and_wait(*self._tasks)
        for writer in self._connections.values():
            writer.close()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        own = asyncio.current_task()
        assert own is not None
        self._connections[own] = writer
        room = asyncio.Semaphore(_MOST_CALLS)
        calls: dict[int, asyncio.Task[None]] = {}
        try:
            while (frame := await read_frame(reader)) is not None:
                asked = msgspec.msgpack.decode(frame, type=Request)
                if (asked.object, asked.method) == ("", CANCEL):
                    if (given_up := calls.get(asked.number)) is not None:
                        given_up.cancel()
                    continue
                await room.acquire()
                task = in_background(self._answer(asked, writer), f"answer-{asked.method}")
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
                calls[asked.number] = task
                task.add_done_callback(partial(_ended, calls, asked.number, room))
        except (ConnectionError, msgspec.MsgspecError) as error:
            log.info("a connection to the recall socket ended", error=str(error))
        finally:
            self._connections.pop(own, None)
            for task in [*calls.values()]:  # whoever asked has gone, and others wait for their turn
                task.cancel()
            writer.close()

    async def _answer(self, asked: Request, writer: asyncio.StreamWriter) -> None:
        try:
            answer = Answer(asked.number, await self._call(asked))
        except Exception as error:  # noqa: BLE001 - whoever called is told; what is ours is logged
            answer = Answer(asked.number, _NOTHING, self._failure(error, asked))
        try:
            write_frame(writer, pack(answer))
            await writer.drain()
        except ConnectionError:
            return  # whoever asked has gone

    async def _call(self, asked: Request) -> msgspec.Raw:
        described, method = self._methods[asked.object, asked.method]
        given = msgspec.msgpack.decode(asked.arguments, type=described.arguments)
        return msgspec.Raw(pack(await method(**msgspec.structs.asdict(given))))

    def _failure(self, error: Exception, asked: Request) -> Failure:
        if isinstance(error, DependencyUnavailable):
            message = str(error).removeprefix(f"{error.dependency}: ")
            seconds = self._waited_for().get(error.dependency)
            since = (
                "" if seconds is None else f". The recall service has been waiting for it for {seconds:.0f} s"
            )
            return Failure("DependencyUnavailable", message + since, error.dependency)
        if isinstance(error, self._told):
            return Failure(type(error).__name__, str(error))
        log.error("a call failed", call=f"{asked.object}.{asked.method}", error=repr(error), exc_info=error)
        return Failure("", type(error).__name__)


def _ended(
    calls: dict[int, asyncio.Task[None]], number: int, room: asyncio.Semaphore, task: asyncio.Task[None]
) -> None:
    if calls.get(number) is task:
        del calls[number]
    room.release()


def _listen(path: Path) -> socket.socket:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)  # of one that was killed; who may listen here is decided by the folder's lock
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)  # from its first moment on nobody else can open it
    try:
        listener.bind(str(path))
    except BaseException:
        listener.close()
        raise
    finally:
        os.umask(before)
    listener.setblocking(False)
    return listener
