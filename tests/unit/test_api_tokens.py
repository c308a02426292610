"""Every operation, asked with every kind of token that should not do; and what limits one."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import msgspec
import pytest

from models.access import Token
from streams.chat.events import TurnEvent
from streams.cli import main
from streams.config.settings import Settings
from streams.queries.live import sse
from streams.queries.live.channel import Channel
from streams.queries.live.hub import Watcher
from streams.queries.live.interest import Interest
from streams.server.api.access import Access
from streams.server.api.app import create_api
from streams.server.api.catalog import OPERATIONS
from streams.server.api.limits import Limits
from streams.server.api.operations import Operation, Scope
from streams.server.api.parts import Parts
from streams.server.api.usage import call_of
from streams.server.tokens import secret
from streams.server.tokens.known import KnownTokens

NOW = datetime(2026, 3, 1, tzinfo=UTC)
ALL = ("read", "write", "chat", "operate")

#: Operations that need somebody who is known.
GUARDED = [found for found in OPERATIONS if found.scope is not Scope.NONE]


class Tokens:
    """Tokens by their text, checked as the ones from the topic are."""

    def __init__(self) -> None:
        self.now = NOW
        self.known = KnownTokens(Settings(), clock=lambda: self.now)
        self._all: dict[str, Token] = {}
        self._numbers = itertools.count()
        self.known._set({})

    def make(self, *scopes: str, **more: Any) -> str:
        made = secret.make()
        given = {"tenant_id": "acme", "created_at": NOW, **more}
        name = f"t{next(self._numbers)}"
        self._all[name] = Token(token_id=name, sha256=made.sha256, scopes=scopes or ALL, **given)
        self.known._set(self._all)
        return made.text

    def revoke_all(self) -> None:
        self._all.clear()
        self.known._set({})


@pytest.fixture
def tokens() -> Tokens:
    return Tokens()


@pytest.fixture
async def client(tokens: Tokens) -> AsyncIterator[httpx.AsyncClient]:
    app = create_api(Parts(), Access(tokens=tokens.known))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as made:
        yield made


def fields(found: Operation) -> set[str]:
    kinds = [kind for kind in (found.parameters, found.body) if isinstance(kind, type)]
    return {
        each.encode_name
        for kind in kinds
        if issubclass(kind, msgspec.Struct)
        for each in msgspec.structs.fields(kind)
    }


async def call(client: httpx.AsyncClient, found: Operation, token: str, **more: str) -> tuple[int, str, str]:
    """Call an operation as its example does, with ``more`` instead where it has such fields."""
    path, _, query = call_of(found).partition("?")
    for name, value in found.example.items():
        if name in more and f"{{{name}}}" in found.path:
            path = path.replace(f"/{value}", f"/{more[name]}")
    named = (
        {}
        if found.parameters is None
        else {
            each.encode_name
            for each in msgspec.structs.fields(found.parameters)
            if f"{{{each.encode_name}}}" not in found.path
        }
    )
    parameters = dict(httpx.QueryParams(query)) | {name: value for name, value in more.items() if name in named}
    given: dict[str, Any] = {"params": parameters}
    if found.body is not None:
        body = found.example_body
        if isinstance(body, dict):
            has = {each.encode_name for each in msgspec.structs.fields(found.body)}
            body = {**body, **{name: value for name, value in more.items() if name in has}}
        given["json"] = body
    headers = {"authorization": f"Bearer {token}"} if token else {}
    answer = await client.request(found.method, path, headers=headers, **given)
    told = answer.json() if answer.content else {}
    return answer.status_code, str(told.get("type", "")).rpartition(":")[2], answer.text


@pytest.mark.parametrize("found", GUARDED, ids=lambda found: found.name)
async def test_no_token_that_should_not_do_does(
    client: httpx.AsyncClient, tokens: Tokens, found: Operation
) -> None:
    tokens.make()
    own = {"tenant_id": "acme", "user_id": "ada"}
    assert (await call(client, found, ""))[:2] == (401, "token-needed")
    expired = tokens.make(expires_at=NOW - timedelta(seconds=1))
    for unknown in (expired, secret.make().text, "sb_", "sb_" + "A" * 42, "no token", "sb_\u0100"[:3]):
        assert (await call(client, found, unknown, **own))[:2] == (401, "token-refused"), unknown
    if found.scope is Scope.SELF:
        assert (await call(client, found, tokens.make("read")))[0] == 200
        return
    others = tokens.make(*(scope for scope in ALL if scope != found.scope))
    assert (await call(client, found, others, **own))[:2] == (403, "not-allowed")
    right = tokens.make(found.scope, expires_at=NOW + timedelta(seconds=1))
    status, name, text = await call(client, found, right, **own)
    assert status not in (401, 403), text
    assert name in ("dependency-unavailable", ""), "the example is a good one, and no part is here"
    if "tenant_id" in fields(found):
        assert (await call(client, found, right, **own | {"tenant_id": "umbrella"}))[:2] == (403, "not-allowed")
    else:
        assert found.scope is Scope.OPERATE, "what is not of one tenant is for who runs the deployment"
    adas = tokens.make(found.scope, user_id="ada")
    if "user_id" in fields(found):
        assert (await call(client, found, adas, **own))[0] not in (401, 403)
        assert (await call(client, found, adas, **own | {"user_id": "bob"}))[:2] == (403, "not-allowed")
    else:
        assert (await call(client, found, adas, **own))[:2] == (403, "not-allowed")


async def test_a_token_is_never_taken_from_a_url(client: httpx.AsyncClient, tokens: Tokens) -> None:
    token = tokens.make()
    for name in ("token", "access_token", "authorization"):
        answer = await client.get("/v1/facts", params={"user_id": "ada", name: token})
        assert answer.status_code == 401
        assert token not in answer.text


async def test_a_browser_signs_in_with_an_http_only_cookie(client: httpx.AsyncClient, tokens: Tokens) -> None:
    token = tokens.make("read", user_id="ada")
    assert (await client.get("/v1/session")).status_code == 401
    refused = await client.post("/v1/session", json={"token": secret.make().text})
    assert (refused.status_code, "set-cookie" in refused.headers) == (401, False)
    answer = await client.post("/v1/session", json={"token": token})
    assert answer.json() == {
        "auth": "token",
        "tenant_id": "acme",
        "user_id": "ada",
        "scopes": ["read"],
        "token_id": "t0",
        "responder": "builtin",
    }
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=strict" in cookie and "secure" not in cookie
    assert (await client.get("/v1/session")).json()["user_id"] == "ada"
    assert (await client.delete("/v1/session")).status_code == 204
    assert (await client.get("/v1/session")).status_code == 401
    # A proxy that ends TLS speaks plain HTTP with us; its page says where it came from.
    behind_tls = {"origin": "https://localhost"}
    answer = await client.post("/v1/session", json={"token": token}, headers=behind_tls)
    assert "secure" in answer.headers["set-cookie"].lower()


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://localhost.evil.example", "https://localhost:1"]
)
async def test_a_page_of_somebody_else_cannot_write(
    client: httpx.AsyncClient, tokens: Tokens, origin: str
) -> None:
    answer = await client.post("/v1/session", json={"token": tokens.make()}, headers={"origin": origin})
    assert (answer.status_code, answer.json()["type"]) == (403, "urn:switchboard:problem:foreign-origin")
    own = await client.post(
        "/v1/session", json={"token": tokens.make()}, headers={"origin": "http://localhost"}
    )
    assert own.status_code == 200
    assert not [name for name in own.headers if name.startswith("access-control")], "CORS is off"


async def test_without_tokens_this_machine_has_the_default_tenant() -> None:
    known = KnownTokens(Settings())
    known._set({})
    for access, status in ((Access(tokens=known), 503), (Access(tokens=known, local=False), 401)):
        app = create_api(Parts(), access)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
            assert (await client.get("/v1/facts?user_id=ada")).status_code == status


async def test_without_tokens_a_proxy_s_name_is_not_answered(tokens: Tokens) -> None:
    """What stands in front hands on the requests of strangers."""
    access = Access(hosts=frozenset({"memory.example"}), tokens=tokens.known)
    transport = httpx.ASGITransport(create_api(Parts(), access))
    async with httpx.AsyncClient(transport=transport, base_url="http://memory.example") as client:
        answer = await client.get("/v1/facts?user_id=ada")
        assert (answer.status_code, answer.json()["type"]) == (401, "urn:switchboard:problem:token-needed")
        headers = {"authorization": f"Bearer {tokens.make()}"}
        assert (await client.get("/v1/facts?user_id=ada", headers=headers)).status_code == 503, "it is let in"


class Endless:
    """Stands where events of a view and of a turn come from: there are none, and they go on."""

    def __init__(self) -> None:
        self.is_open = asyncio.Event()

    @asynccontextmanager
    async def watching(self, interest: Interest, last_id: str = "") -> AsyncIterator[Watcher]:
        self.is_open.set()
        yield Watcher(Channel("t", 1, 1), 0, resumed=False)

    def reached(self, *_: Any) -> dict[tuple[str, int], int]:
        return {}

    def find(self, *_: str) -> Endless:
        return self

    async def events(self, after: int = 0) -> AsyncGenerator[TurnEvent]:
        self.is_open.set()
        await asyncio.Event().wait()
        yield TurnEvent(1, "end", b"{}")


@pytest.mark.parametrize("path", ["/v1/events?user_id=ada", "/v1/turns/t/events?conversation_id=c&user_id=ada"])
@pytest.mark.parametrize("how", ["revoked", "over", "none was needed, and now one is"])
async def test_an_open_stream_ends_with_the_token_that_opened_it(
    tokens: Tokens, path: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sse, "LOOK_SECONDS", 0.01)
    endless: Any = Endless()
    app = create_api(Parts(live=endless, chats=endless), Access(tokens=tokens.known))
    headers = {}
    if not how.startswith("none"):
        token = tokens.make("read", "chat", expires_at=NOW + timedelta(hours=1))
        headers["authorization"] = f"Bearer {token}"
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        tenant = "acme" if headers else "default"
        asking = asyncio.create_task(client.get(f"{path}&tenant_id={tenant}", headers=headers))
        async with asyncio.timeout(60):
            await endless.is_open.wait()
            assert not asking.done()
            if how == "revoked":
                tokens.revoke_all()
            elif how == "over":
                tokens.now = NOW + timedelta(hours=1)
            else:
                tokens.make()
            answer = await asking
        assert answer.text.endswith("event: bye\ndata: {}\n\n")


async def test_until_the_tokens_are_read_nobody_is_let_in() -> None:
    app = create_api(Parts(), Access(tokens=KnownTokens(Settings())))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        answer = await client.get("/v1/facts?user_id=ada")
        assert (answer.status_code, answer.json()["part"]) == (503, "kafka")


async def test_a_token_is_limited_and_told_when_to_retry(tokens: Tokens) -> None:
    first, second = tokens.make(), tokens.make()
    times: Iterator[float] = iter([0.0, 0.0, 0.0, 0.0, 0.6])
    access = Access(tokens=tokens.known, limits=Limits(1.0, lambda: next(times)))
    app = create_api(Parts(), access)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:

        async def ask(token: str) -> httpx.Response:
            return await client.get("/v1/session", headers={"authorization": f"Bearer {token}"})

        assert [(await ask(first)).status_code for _ in range(2)] == [200, 200]
        refused = await ask(first)
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        assert (await ask(second)).status_code == 200
        assert (await ask(first)).status_code == 429, "not yet"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["--scope", "read", "--scope", "admin"],
            "--scope is 'admin': the scopes are read, write, chat, operate\n",
        ),
        (["--expires", "soon"], "give 30d"),
        (["--user", "ada", "--scope", "operate"], "leave out --user"),
    ],
)
def test_a_malformed_token_is_refused_without_a_look_up(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SWITCHBOARD_BOOTSTRAP_SERVERS", "127.0.0.1:1")
    assert main.run(["token", "create", *arguments]) == 78
    assert said in capsys.readouterr().err


def test_of_a_token_only_the_hash_is_stored() -> None:
    made = secret.make()
    assert made.text.startswith("sb_")
    assert secret.hash_of(made.text) == made.sha256
    assert made.sha256 not in made.text
    for other in (made.text[:-1], made.text + "A", "xx_" + made.text[3:], made.text + "\n", "sb_" + "é" * 43):
        assert secret.hash_of(other) is None or secret.hash_of(other) != made.sha256
