"""The code that the documentation shows runs as it stands, against a serve with its services."""

from __future__ import annotations

import asyncio
import contextlib
import io
import itertools
import json
import re
import shlex
import shutil
import subprocess
import uuid
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from serve_rig import ServeRig
from typer.testing import CliRunner
from waiting import eventually

from streams.cli.main import app
from streams.clients import kafka
from streams.clients.partitioner import partition_of
from streams.server.tokens import topic as tokens

pytestmark = [pytest.mark.kafka, pytest.mark.long]

ROOT = Path(__file__).parents[2]
TUTORIAL = ROOT / "docs" / "tutorial.md"

_PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
_SHELL = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)


def shown() -> list[Any]:
    """Each block that uses the client, but for the tutorial's, and those that ``make test-frameworks`` runs."""
    pages = [
        *sorted((ROOT / "docs" / "how-to").glob("*.md")),
        ROOT / "client" / "README.md",
        ROOT / "README.md",
    ]
    return [
        pytest.param(code, id=f"{page.relative_to(ROOT)}-{number}")
        for page in pages
        for number, code in enumerate(_PYTHON.findall(page.read_text()), 1)
        if "switchboard_client" in code and page.name != "frameworks.md"
    ]


def run(code: str, rig: ServeRig, person: str) -> str:
    """Run a block as this person, at this serve; return what it printed."""
    for theirs, ours in (
        (r'"ada"', f'"{person}"'),
        (r'"(c-1|first)"', rf'"{person}-\1"'),
        (r', token="sb_\.\.\."', ""),
        (r'"http://127\.0\.0\.1:8371"', f'"{rig.url}"'),
        (r"Switchboard\(user_id=", f'Switchboard("{rig.url}", user_id='),
    ):
        code = re.sub(theirs, ours, code)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "a block of the documentation", "exec"), {})
    return printed.getvalue()


@pytest.fixture
def rig(deployment: ServeRig) -> ServeRig:
    deployment.need("ingest", "memory", "recall", "respond")
    return deployment


@pytest.fixture
def person() -> str:
    return f"ada-{uuid.uuid4().hex[:8]}"


@pytest.mark.parametrize("code", shown())
def test_each_block_runs_as_it_stands(rig: ServeRig, person: str, code: str) -> None:
    run(code, rig, person)


Shell = Callable[..., str]


@pytest.fixture
def shell(rig: ServeRig, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Shell:
    """Runs a line as it stands but for these words; returns what it printed."""
    for name, value in rig.values.items():
        monkeypatch.setenv(f"SWITCHBOARD_{name.upper()}", value)
    monkeypatch.chdir(tmp_path)

    def switchboard(line: str, instead: Mapping[str, str]) -> str:
        name, *words = shlex.split(line)
        assert name == "switchboard", line
        done = CliRunner().invoke(app, [instead.get(word, word) for word in words])
        assert done.exit_code == 0, f"{line}: {done.output}"
        return done.output

    return switchboard


def lines_of(page: str) -> list[str]:
    return "".join(_SHELL.findall((ROOT / "docs" / page).read_text())).splitlines()


def test_the_tutorial_does_what_it_says(rig: ServeRig, person: str, shell: Shell) -> None:
    def switchboard(line: str) -> str:
        return shell(line, {"ada": person, "first": f"{person}-first"})

    say, ask, *_ = _PYTHON.findall(TUTORIAL.read_text())
    lines = lines_of("tutorial.md")
    close, facts, explain, erase = (line for line in lines if line.startswith("switchboard "))
    assert re.fullmatch(r"\d+:\d+\n", run(say, rig, person))
    switchboard(close)
    eventually(lambda: "peanuts" in run(ask, rig, person), "what was said is found")
    # What was said is found before it is understood.
    eventually(lambda: "peanuts" in switchboard(facts), "a fact came of it")
    fact = re.search(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", switchboard(facts))
    assert fact is not None
    switchboard(explain.replace("FACT_ID", fact[0]))
    switchboard(erase)
    eventually(lambda: "peanuts" not in run(ask, rig, person), "it is forgotten")


def put(path: Path, export: str) -> None:
    """Write an export where a command expects a file, an archive or a folder."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("conversations.json", export)
    elif path.suffix:
        path.write_text(export)
    else:
        path.mkdir()
        (path / "chat.txt").write_text(export)


def test_what_was_had_elsewhere_is_brought_in_and_taken_out(
    rig: ServeRig, person: str, shell: Shell, tmp_path: Path
) -> None:
    sent = "2026-01-05T07:12:00Z"
    told = {
        "message": {
            "id": "n",
            "author": {"role": "user"},
            "content": {"content_type": "text", "parts": ["I like tea."]},
        }
    }
    told["message"]["create_time"] = 1767600000
    tree = {"id": "k-1", "title": "Tea", "current_node": "n", "mapping": {"n": {"id": "n", **told}}}
    said = {"uuid": "m-1", "text": "I like figs.", "sender": "human", "created_at": sent}
    line = {"conversation_id": f"{person}-c-1", "user_id": person, "role": "user", "content": "I like rain."}
    exports = {
        "chatgpt": json.dumps([tree]),
        "claude": json.dumps([{"uuid": "k-2", "name": "Figs", "chat_messages": [said]}]),
        "whatsapp": "[05.01.26, 07:12:33] Ada Lovelace: Hello.\n[13.01.26, 07:13:00] Bob: Hi.\n",
        "jsonl": json.dumps({**line, "message_id": "m-1", "sent_at": sent}) + "\n",
    }
    instead = {"ada": person, "c-1": f"{person}-c-1", "Ada Lovelace=ada": f"Ada Lovelace={person}"}
    instead["Bob=bob"] = f"Bob={person}-bob"
    *imports, first, whole = lines_of("how-to/import.md")
    for each in imports:
        _, _, source, *words = shlex.split(each)
        for name in itertools.takewhile(lambda word: not word.startswith("--"), words):
            put(tmp_path / name, exports[source])
        output = shell(each, instead)
        assert "1 conversation" in output and "skipped" not in output, output
    with rig.client() as client:
        asked = {"user_id": person}
        eventually(
            lambda: len(client.get("/v1/conversations", params=asked).json()["conversations"]) == 5,
            "all five are read",
        )
    eventually(lambda: "I like rain." in shell(first, instead), "it can be exported")
    shell(whole, instead)
    assert "I like tea." in (tmp_path / "ada.jsonl").read_text()


def test_dead_letters_are_dealt_with(rig: ServeRig, person: str, shell: Shell) -> None:
    spec = rig.catalog.get("chat.messages.v1")
    place = partition_of(person.encode(), spec.partitions)

    async def spoil() -> tuple[str, str]:
        async with kafka.connected(kafka.make_producer(rig.settings, "test"), rig.settings, 30.0) as producer:
            sent = await producer.send_and_wait(spec.name, b"{", key=person.encode(), partition=place)
        return str(sent.partition), str(sent.offset)

    lay = asyncio.run(spoil())

    def letters() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(shell("switchboard dlq list chat.messages.v1 --json", {}))
        return found

    def mine() -> dict[str, Any] | None:
        return next(
            (each for each in letters() if (each["source_partition"], each["source_offset"]) == lay), None
        )

    found = eventually(mine, "it is a dead letter")
    instead = {"3:0": f"{found['partition']}:{found['offset']}"}
    *lines, drop = lines_of("how-to/dead-letters.md")
    for line in lines:
        shell(line, instead)
    shell(drop, instead)


def test_tokens_are_made_listed_and_revoked(rig: ServeRig, person: str, shell: Shell) -> None:
    create, for_one, listed, revoke = lines_of("how-to/tokens.md")

    def rows() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(shell(f"{listed} --json", {}))
        return found

    try:
        for line in (create, for_one):
            assert re.search(r"^sb_[\w-]{43}$", shell(line, {"ada": person}), re.MULTILINE)
        made = [each["token_id"] for each in rows()]
        assert {each["name"] for each in rows()} >= {"my bot"}
        assert person in {each["user_id"] for each in rows()}
        shell(revoke, {"ID": made[0]})
        assert made[0] not in shell(listed, {})
    finally:
        for each in asyncio.run(tokens.read_all(rig.settings)):
            asyncio.run(tokens.put(rig.settings, each, None))
        with rig.client() as client:
            eventually(lambda: client.get("/v1/session").status_code == 200, "none is needed any more")


def test_after_an_upgrade_topics_are_applied_and_looked_at(rig: ServeRig, person: str, shell: Shell) -> None:
    """But for the state of a service, which tests/integration/test_state_reset.py starts over."""
    page = (ROOT / "docs" / "how-to" / "upgrade.md").read_text()
    lines = [line.strip() for line in page.splitlines() if line.strip().startswith("switchboard ")]
    reset = "switchboard state reset recall"
    assert reset in lines and len(lines) == 8, lines
    for line in lines:
        if line.startswith("switchboard erase person"):
            assert shell(f"{line} --yes", {"ada": person})
        elif line.startswith("switchboard erase"):
            assert shell(f"{line} --yes", {"c-1": f"{person}-c-1"})
        elif line != reset:
            shell(line, {})


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not here")
def test_what_is_sent_with_curl_is_taken_and_followed(rig: ServeRig, person: str) -> None:
    page = (ROOT / "docs" / "how-to" / "http.md").read_text()
    [block] = re.findall(r"^```bash\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    words = shlex.split(block.replace("http://127.0.0.1:8371", rig.url).replace("ada", person), comments=True)
    second = words.index("curl", 1)

    def curl(words: list[str]) -> Any:
        done = subprocess.run(
            [*words, "--silent", "--fail-with-body"], capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 0, done.stdout
        return json.loads(done.stdout)

    [sent] = curl(words[:second])["messages"]
    told = curl([each.replace("3:1842", sent["position"]) for each in words[second:]])
    assert told["message_id"] == sent["message_id"]
