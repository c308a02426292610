"""One way of the commands to what is remembered: a request to the HTTP API, over one of two transports.

Where ``switchboard serve`` listens, the request goes over HTTP.  Where it does not, the same API answers it in
this process, from the recall service's socket.  Where neither runs, ``search`` and ``facts`` open the index and
``window`` reads the topic; the others say what to start (:func:`required`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx
import msgspec

from models.errors import ConfigurationError, DependencyUnavailable, NotFound, NotReadYet, SwitchboardError
from streams.cli.progress import showing
from streams.clients.serving import of_command
from streams.config.namespace import PREFIX_HEADER
from streams.config.service_registry import notes
from streams.config.settings import Settings
from streams.queries.services import ask, reachable, stated_places

T = TypeVar("T")

_ANSWER_SECONDS = 15.0

#: How long a service that runs may take until it listens.
_START_SECONDS = 30.0
_POLL_SECONDS = 0.2


async def get(settings: Settings, path: str, parameters: Mapping[str, str | int], kind: type[T]) -> T | None:
    """Return the service's answer; ``None`` if it does not run, so that the index may be opened here.

    Raises as :func:`post`.
    """
    return await _answer(settings, {"method": "GET", "url": path, "params": dict(parameters)}, kind)


async def post(settings: Settings, path: str, body: Mapping[str, Any], kind: type[T]) -> T | None:
    """As :func:`get`, for a question with words of a person, which do not belong into an address.

    One that has just been started is waited for: whoever took its index now would keep it from starting.

    Raises:
        DependencyUnavailable: the service is not ready.
        NotFound: there is no such fact.
        ConfigurationError: it refuses the question, or something else answers on its port.
    """
    return await _answer(settings, {"method": "POST", "url": path, "json": dict(body)}, kind)


def required(found: T | None) -> T:
    """Return the answer, for a question that only a running service can answer.

    Raises :class:`DependencyUnavailable` that says what to start.
    """
    if found is None:
        raise DependencyUnavailable(
            "recall",
            "neither `switchboard serve` nor the recall service runs here: start `switchboard serve`, "
            "`switchboard worker recall`, or everything with `switchboard demo`",
        )
    return found


async def _answer(settings: Settings, question: dict[str, Any], kind: type[T]) -> T | None:
    with showing("asking memory"):
        return await _answered(settings, question, kind)


async def _answered(settings: Settings, question: dict[str, Any], kind: type[T]) -> T | None:
    clock = asyncio.get_running_loop().time
    deadline = clock() + _START_SECONDS
    while (answer := await _ask(settings, question, kind)) is None:
        starting = [note for note in notes(await of_command(settings)) if note.service == "recall"]
        if not starting:
            return None
        if clock() > deadline:
            raise DependencyUnavailable(
                "recall",
                f"process {starting[0].pid} runs it, but does not answer: see what it logs, or stop it",
            )
        await asyncio.sleep(_POLL_SECONDS)
    return answer


async def _ask(settings: Settings, question: dict[str, Any], kind: type[T]) -> T | None:
    response = await _ask_serve(settings, question)
    # Whoever can open the recall service's folder needs no token for what is in it.
    lacks_token = response is not None and response.status_code == 401 and not _token(settings)
    if response is None or lacks_token:
        response = await _ask_recall(settings, question) or response
    return None if response is None else _read(response, kind)


def _token(settings: Settings) -> str:
    return settings.api_token.get_secret_value()


async def _ask_serve(settings: Settings, question: dict[str, Any]) -> httpx.Response | None:
    """Return the response of ``switchboard serve``; ``None``: nobody listens."""
    base = await base_of(settings)
    # Another deployment on this port must say so rather than answer.
    headers = {PREFIX_HEADER: settings.topic_prefix}
    if token := _token(settings):
        headers["authorization"] = f"Bearer {token}"
    transport = httpx.AsyncHTTPTransport(trust_env=False)
    try:
        return await _send(base, transport, question, headers)
    except (httpx.ConnectError, httpx.ConnectTimeout):
        return None
    except httpx.TransportError as error:
        raise DependencyUnavailable("serve", f"no answer from {base} ({type(error).__name__})") from error


async def _ask_recall(settings: Settings, question: dict[str, Any]) -> httpx.Response | None:
    """Return the response of the same API in this process; ``None``: the recall service does not run here."""
    # the web application takes a while to import: only who needs it waits
    from streams.server.api.access import Access
    from streams.server.api.app import create_api
    from streams.server.serve.opening import open_parts
    from streams.stores.remembered.opening import shares_views
    from streams.stores.remembered.recall_rpc import recall_socket
    from streams.telemetry.metrics import Metrics

    settings = await of_command(settings)
    if not shares_views(settings) and not recall_socket(settings).exists():
        return None
    async with AsyncExitStack() as resources:
        parts = await open_parts(settings, Metrics(), resources)
        app = create_api(parts, Access(any_tenant=True, topic_prefix=settings.topic_prefix))
        response = await _send("http://localhost", httpx.ASGITransport(app), question, {})
    # a killed one has left its socket behind
    is_down = response.status_code == 503 and response.json().get("part") == "recall"
    return None if is_down else response


async def _send(
    base: str, transport: httpx.AsyncBaseTransport, question: dict[str, Any], headers: Mapping[str, str]
) -> httpx.Response:
    """Send one request; the transport alone says whether it leaves this process."""
    client = httpx.AsyncClient(
        base_url=base, transport=transport, headers=headers, timeout=_ANSWER_SECONDS, trust_env=False
    )
    async with client:
        return await client.request(**question)


def _read(response: httpx.Response, kind: type[T]) -> T:
    url = response.request.url
    base = f"{url.scheme}://{url.netloc.decode()}"
    if response.is_success:
        try:
            return msgspec.json.decode(response.content, type=kind)
        except msgspec.DecodeError as error:
            raise stranger(base) from error
    raise refusal(response, base)


def require_index(settings: Settings) -> None:
    """Raise :class:`ConfigurationError` if there is no index here that could be opened instead."""
    # loads the engine: only who needs it waits
    from streams.stores.index_factory import edge_folder
    from streams.stores.qdrant_kinds import FACTS

    folder = edge_folder(settings, FACTS)
    if not settings.qdrant_url and not folder.exists():
        raise ConfigurationError(
            f"no recall service runs here, nobody listens on port {settings.api_port}, and {folder} does not "
            "exist: nothing is remembered yet. `switchboard demo` shows how it begins; SWITCHBOARD_DATA_DIR "
            "names another folder"
        )


async def base_of(settings: Settings) -> str:
    """Return where the API answers: as ``serve`` itself says, unless a setting says it."""
    host, port = reachable(settings.api_host), settings.api_port
    if settings.model_fields_set.isdisjoint({"api_host", "api_port"}):
        place = stated_places(settings).get("serve") or [
            (note.port, reachable(note.host)) for note in notes(settings) if note.service == "serve"
        ]
        for at, where in place[:1]:
            told = (await ask(settings, "serve", at, where)).details.get("api")
            if isinstance(told, str) and (found := urlsplit(told).port):
                host, port = where, found
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def refusal(response: httpx.Response, base: str) -> SwitchboardError:
    """Return the error for a refusal."""
    try:
        problem: Any = response.json()
        detail = str(problem["detail"])
        if problem.get("type") == "urn:switchboard:problem:unknown-fact":
            detail = f"{detail.rstrip('.')}: `switchboard facts --user NAME` lists the facts about a person"
    except (ValueError, KeyError, TypeError):
        return stranger(base)
    if response.status_code >= 500:
        return DependencyUnavailable("serve", detail)
    if response.status_code == 404:
        is_unread = problem.get("type") == "urn:switchboard:problem:not-read-yet"
        return NotReadYet(detail) if is_unread else NotFound(detail)
    return ConfigurationError(detail)


def stranger(base: str) -> ConfigurationError:
    """Return the error of an answer that ``serve`` would not give."""
    return ConfigurationError(
        f"what answers at {base} is not `switchboard serve`: set SWITCHBOARD_API_HOST and SWITCHBOARD_API_PORT "
        "to where it listens"
    )
