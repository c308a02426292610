"""The documentation says what is so: made pages are up to date, code stands for something, links work."""

from __future__ import annotations

import ast
import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec
import pytest
import typer
import yaml
from switchboard_client.errors import NotFound

from schemas import reference
from streams.cli.main import app
from streams.config.settings import Settings
from streams.config.settings.text import env_names
from streams.server.api.catalog import OPERATIONS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [*sorted(DOCS.rglob("*.md")), ROOT / "README.md", ROOT / "client" / "README.md"]

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks() -> list[Any]:
    found = []
    for page in PAGES:
        for number, match in enumerate(_BLOCK.finditer(page.read_text()), 1):
            found.append(pytest.param(match[1], match[2], id=f"{page.relative_to(ROOT)}-{number}"))
    return found


@pytest.mark.parametrize("name", reference.pages())
def test_the_reference_is_what_it_is_made_of(name: str) -> None:
    """Else: python -m schemas.reference."""
    assert (reference.FOLDER / name).read_text() == reference.pages()[name]


@pytest.mark.parametrize(("language", "code"), blocks())
def test_every_block_of_code_stands_for_something(language: str, code: str) -> None:
    if language == "python":
        ast.parse(code)
    elif language == "json":
        json.loads(code)
    elif language in ("sh", "bash"):
        for line in code.replace("\\\n", " ").splitlines():
            check_command(line.partition("#")[0].strip())
    else:
        assert language in ("", "text", "nginx", "yaml"), "a new language: say how it is checked"
        if language == "yaml":
            yaml.safe_load(code)
        for line in code.splitlines():
            if not language:
                check_command(line.partition("#")[0].strip())


def check_command(line: str) -> None:
    """Check that a command, with its options, is there."""
    if not re.match(r"(?:[A-Z_]+=\S+ )*switchboard ", line):
        return
    words = [word for word in shlex.split(line) if not re.match(r"[A-Z_]+=", word)]
    command, rest = check_words(words[1:])
    options = {name for each in command.params for name in [*each.opts, *each.secondary_opts]}
    for word in rest:
        if word.startswith("-"):
            assert word in {*options, "--help"}, f"{line}: {word}"


def check_words(words: list[str]) -> tuple[Any, list[str]]:
    command: Any = typer.main.get_command(app)
    for at, word in enumerate(words):
        if not hasattr(command, "commands"):
            return command, words[at:]
        assert word in command.commands, f"switchboard {' '.join(words)}"
        command = command.commands[word]
    return command, []


def test_what_curl_is_shown_to_ask_is_asked_so() -> None:
    shown = [code for page in PAGES for _, code in _BLOCK.findall(page.read_text()) if "curl " in code]
    asked = [words for code in shown for words in _each_curl(code)]
    assert asked
    for words in asked:
        [url] = [urlsplit(word) for word in words if word.startswith("http")]
        method = words[words.index("-X") + 1] if "-X" in words else "GET"
        [(found, place)] = [
            (each, place)
            for each in OPERATIONS
            if each.method == method
            and (place := re.fullmatch(re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", each.path), url.path))
        ]
        given = {**place.groupdict(), **dict(parse_qsl(url.query))}
        msgspec.convert(given, found.parameters or dict, strict=False)
        if "-d" in words:
            msgspec.json.decode(words[words.index("-d") + 1], type=found.body)


def _each_curl(code: str) -> list[list[str]]:
    words = shlex.split(code, comments=True)
    begins = [at for at, word in enumerate(words) if word == "curl"]
    return [words[at:end] for at, end in zip(begins, [*begins[1:], None], strict=True)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_names_exists(page: Path) -> None:
    text = page.read_text()
    known = {env for name, field in Settings.model_fields.items() for env in env_names(name, field)}
    assert set(re.findall(r"SWITCHBOARD_[A-Z_]*[A-Z]", text)) <= known
    folders = "tests|streams|schemas|deploy|examples|processors|models|benchmarks"
    for path in re.findall(rf"`((?:{folders})/[^`: ]*?)(?:::[^`]*)?`", text):
        assert list(ROOT.glob(path.rstrip("/"))), path
    for path, name in re.findall(r"`(tests/[^`:]*)::([^`]*)`", text):
        wanted = re.compile("(def|class) " + re.escape(name).replace(r"\*", r"\w*"))
        if not name.startswith("test_"):
            wanted = re.compile(r"(def|class) \w*" + re.escape(name.strip("*")))
        sources = [file for file in ROOT.glob(path) if file.suffix == ".py"]
        assert any(wanted.search(file.read_text()) for file in sources), f"{path}::{name}"
    for link in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (page.parent / link).exists(), link


def test_the_bot_searches_then_remembers() -> None:
    code = re.search(
        r"<!-- tested: bot -->\n```python\n(.*?)```", (DOCS / "tutorial.md").read_text(), re.DOTALL
    )
    assert code is not None
    names: dict[str, Any] = {}
    exec(compile(code[1], "tutorial.md", "exec"), names)
    added: list[Any] = []

    class Memory:
        def search(self, said: str) -> Any:
            assert said == "What should I cook?"
            return SimpleNamespace(results=[SimpleNamespace(text="Is allergic to peanuts")])

        def add(self, messages: list[Any]) -> None:
            added.extend(messages)

    def model(prompt: str) -> str:
        assert "- Is allergic to peanuts" in prompt
        return "Soup."

    assert names["remember_and_answer"](Memory(), "c-1", "What should I cook?", model) == "Soup."
    assert [(each.role, each.content) for each in added] == [
        ("user", "What should I cook?"),
        ("assistant", "Soup."),
    ]


def test_the_readme_bot_uses_context_then_searches() -> None:
    code = re.search(
        r"<!-- tested: context bot -->\n```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL
    )
    assert code is not None
    names: dict[str, Any] = {}
    exec(compile(code[1], "README.md", "exec"), names)
    names["memory"].close()
    added: list[Any] = []

    class Memory:
        def context(self, conversation: str) -> Any:
            if conversation == "new":
                raise NotFound(404, {"detail": "not known"})
            return SimpleNamespace(prompt="Allergic to peanuts.")

        def search(self, said: str) -> Any:
            return SimpleNamespace(results=[SimpleNamespace(text="Lives in Lisbon.")])

        def add(self, messages: list[Any]) -> None:
            added.extend(each.content for each in messages)

    assert "Allergic to peanuts." in names["reply"](Memory(), "old", "Dinner?", lambda prompt: prompt)
    assert "Lives in Lisbon." in names["reply"](Memory(), "new", "Hello.", lambda prompt: prompt)
    assert added[0] == "Dinner?" and added[2] == "Hello."


def test_the_site_builds_without_warnings_or_other_hosts(tmp_path: Path) -> None:
    shutil.copytree(DOCS, tmp_path / "docs")
    shutil.copy(ROOT / "zensical.toml", tmp_path)
    zensical = Path(sys.executable).with_name("zensical")
    done = subprocess.run(
        [zensical, "build", "--strict"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    made = sorted((tmp_path / "build" / "site").rglob("*.html"))
    assert len(made) > len(list(DOCS.rglob("*.md")))
    for page in made:
        loaded = re.findall(
            r"<(?:script|img|link|iframe)\b[^>]*?\b(?:src|href)=\"?([^\"\s>]+)", page.read_text()
        )
        assert not [each for each in loaded if each.startswith(("http:", "https:", "//"))], page
