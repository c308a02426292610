"""The console: every view has its page and a strict policy; nothing in it is foreign or forbidden by that."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from deploy import vendor
from streams.server.api.app import create_api
from streams.server.api.catalog import OPERATIONS
from streams.server.api.parts import Parts
from streams.server.console.app import POLICY, VIEWS, Console

STATIC = Path(vendor.CONSOLE) / "static"
OWN = sorted(path for path in STATIC.rglob("*") if path.is_file() and vendor.FOLDER not in path.parents)


def test_the_vendored_files_are_those_whose_sums_lie_beside_them() -> None:
    assert (vendor.FOLDER / vendor.SUMS).read_text() == vendor.sums(vendor.FOLDER)
    assert {path.name for path in vendor.FOLDER.iterdir()} == {
        "LICENSE-htm.txt",
        "LICENSE-preact.txt",
        "SHA256SUMS",
        "preact-htm.js",
    }


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.name)
def test_nothing_asks_another_host_or_makes_markup_of_text(path: Path) -> None:
    text = path.read_text()
    hosts = set(re.findall(r"\bhttps?://[^\s\"'`)]*", text)) - {"http://www.w3.org/2000/svg"}
    assert not hosts
    forbidden = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|dangerously"
    assert not re.findall(forbidden, text)


def test_it_knows_only_the_public_api() -> None:
    """Whatever it asks for is an operation that is described, and nothing else of the server is asked."""
    asked = {
        re.sub(r"\$\{[^}]*\}", "x", path)
        for file in OWN
        if file.suffix == ".js"
        for path in re.findall(r"[\"`](/v1/[^\"`?]*)", file.read_text())
    }
    assert len(asked) > 20
    paths = [re.compile(re.sub(r"{\w+}", "[^/]+", each.path)) for each in OPERATIONS]
    assert not [path for path in asked if not any(each.fullmatch(path) for each in paths)]
    calls = [
        call for file in OWN for call in re.findall(r"\b(?:fetch|EventSource)\(([^,)]*)", file.read_text())
    ]
    assert len(calls) == 3 and "XMLHttpRequest" not in "".join(file.read_text() for file in OWN), calls


@pytest.mark.parametrize("path", [path for path in OWN if path.suffix == ".html"], ids=lambda path: path.name)
def test_nothing_stands_inline_in_a_page(path: Path) -> None:
    text = path.read_text()
    assert not re.findall(r"<script(?![^>]*\bsrc=)|<style|\bstyle=|\son\w+=", text)


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
