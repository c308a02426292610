"""What the console consists of: small, whole, nothing foreign but one file, nothing that its policy forbids."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from deploy import vendor
from streams.server.api.catalog import OPERATIONS

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
