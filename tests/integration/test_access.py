"""Qdrant and Redis behind TLS and a secret: a server of sockets that asks for both, over a real handshake."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from deploy.local.kafka_security import Authority
from models.errors import ConfigurationError, DependencyUnavailable
from models.index import VectorSpace
from streams.clients.redis_client import answers
from streams.config.settings import load_settings
from streams.stores.index_factory import open_index
from streams.stores.qdrant_kinds import FACTS

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def tls(serve: Serve, authority: Authority) -> AsyncIterator[int]:
    made = await asyncio.to_thread(authority.sign, "server")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(made.certificate, made.key)

    async def serve_and_close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()

    async with await asyncio.start_server(serve_and_close, "127.0.0.1", 0, ssl=context) as server:
        yield server.sockets[0].getsockname()[1]


async def qdrant(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer 401 without the key; with it, say that the version is too old, which is as far as this goes."""
    while True:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        known = "api-key: canary\r\n" in head
        body = json.dumps({"title": "qdrant", "version": "1.1.1"} if known else {"status": {"error": "no"}})
        status = "200 OK" if known else "401 Unauthorized"
        writer.write(f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode())


async def redis(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """As much of Redis as letting somebody in takes."""
    known = False
    while True:
        count = int((await reader.readuntil(b"\r\n"))[1:])
        words = []
        for _ in range(count):
            size = int((await reader.readuntil(b"\r\n"))[1:])
            words.append((await reader.readexactly(size + 2))[:-2])
        if words[0].upper() in (b"AUTH", b"HELLO"):
            known = {b"ada", b"canary"} <= set(words)
            welcome = b"%1\r\n+proto\r\n:3\r\n" if words[0].upper() == b"HELLO" else b"+OK\r\n"
            writer.write(welcome if known else b"-WRONGPASS invalid username-password pair\r\n")
        elif not known:
            writer.write(b"-NOAUTH Authentication required.\r\n")
        else:
            writer.write(b"+PONG\r\n" if words[0].upper() == b"PING" else b"+OK\r\n")


async def test_qdrant_is_given_the_key_over_tls_that_is_checked(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    key = tmp_path / "key"
    key.write_text("canary\n")
    async with tls(qdrant, authority) as port:
        access = {"qdrant_url": f"https://127.0.0.1:{port}"}
        trusted = access | {"qdrant_ssl_ca_file": authority.certificate}
        for given, said in (
            (trusted | {"qdrant_api_key_file": key}, r"is version 1\.1\.1"),  # it was let in
            (trusted, r"refuses access \(SWITCHBOARD_QDRANT_API_KEY\)"),
            (access | {"qdrant_api_key_file": key}, "is not trusted .*SWITCHBOARD_QDRANT_SSL_CA_FILE"),
        ):
            index = open_index(load_settings(**given), FACTS, VectorSpace("m", 4))
            with pytest.raises(ConfigurationError, match=said) as caught:
                await index.count()
            assert "canary" not in str(caught.value)
            await index.close()


async def test_redis_is_given_the_user_over_tls_that_is_checked(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    async with tls(redis, authority) as port:
        access = {"redis_url": f"rediss://127.0.0.1:{port}", "redis_username": "ada"}
        trusted = access | {"redis_ssl_ca_file": authority.certificate}
        await answers(load_settings(**trusted, redis_password="canary"))
        for given, said in (
            (trusted | {"redis_password": "canary-2"}, "Redis does not let us in .*SWITCHBOARD_REDIS_PASSWORD"),
            (access | {"redis_password": "canary"}, "is not trusted .*SWITCHBOARD_REDIS_SSL_CA_FILE"),
        ):
            with pytest.raises(ConfigurationError, match=said) as caught:
                await answers(load_settings(**given))
            assert "canary" not in str(caught.value)
    with pytest.raises(DependencyUnavailable, match="redis"):
        await answers(load_settings(**trusted, redis_password="canary"))


@pytest.mark.parametrize(("name", "url"), [("qdrant", "http://q:6333"), ("redis", "redis://r"), ("qdrant", "")])
def test_an_authority_without_tls_is_refused(name: str, url: str) -> None:
    with pytest.raises(ConfigurationError, match=f"SWITCHBOARD_{name.upper()}_SSL_CA_FILE is set, but"):
        load_settings(**{f"{name}_url": url, f"{name}_ssl_ca_file": "ca.pem"})
