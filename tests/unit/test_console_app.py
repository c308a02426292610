"""The console's files over HTTP: one page at every address of a view, a strict policy, nothing else."""

from __future__ import annotations

from functools import cache

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from streams.server.api.app import create_api
from streams.server.api.parts import Parts
from streams.server.console.app import POLICY, VIEWS, Console


@cache
def app() -> Starlette:
    return create_api(Parts(), pages=[Mount("", Console())])


async def ask(path: str, method: str = "GET", **headers: str) -> httpx.Response:
    transport = httpx.ASGITransport(app())
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        return await client.request(method, path, headers=headers)


@pytest.mark.parametrize(
    "path", ["/", *(f"/{view}" for view in sorted(VIEWS) if view), "/people/a%2Fb%3Fc", "/chat/c-1?at=2"]
)
async def test_every_view_has_the_page(path: str) -> None:
    answer = await ask(path)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert '<script type="module" src="/static/app.js">' in answer.text
    assert answer.headers["content-security-policy"] == POLICY
    assert "unsafe" not in POLICY
    allowed = dict(each.strip().split(" ", 1) for each in POLICY.split(";"))
    own = "'self'"
    assert allowed.items() >= {
        "default-src": "'none'", "script-src": own, "style-src": own, "connect-src": own,
        "img-src": f"{own} data:",
    }.items()  # fmt: skip
    assert {each for each in allowed if each.endswith("-src")} == {
        "default-src", "script-src", "style-src", "connect-src", "img-src",
    }, "nothing else may be loaded"  # fmt: skip
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/static/app.js", "text/javascript"),
        ("/static/pages/flow.js", "text/javascript"),
    ],
)
async def test_files_are_what_they_are_said_to_be_and_sent_once(path: str, kind: str) -> None:
    answer = await ask(path)
    assert (answer.status_code, answer.headers["content-type"].partition(";")[0]) == (200, kind)
    again = await ask(path, **{"if-none-match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize(
    "path",
    [
        "/nowhere",
        "/static/../app.py",
        "/app.js",
        "/peoples",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_anything_else_is_a_problem(path: str, method: str) -> None:
    answer = await ask(path, method)
    assert answer.status_code == 404, answer.text
    assert answer.headers["content-type"].startswith("application/problem+json")
    assert answer.json()["type"] == "urn:switchboard:problem:no-such-path"
