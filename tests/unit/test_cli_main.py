"""The command as a whole: errors, secrets, what it prints, what it loads, what it refuses to erase."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from zlib import crc32

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import ConfigurationError, ConsistencyError, DependencyUnavailable, InvalidRecord, NotFound
from streams.cli import main, output, rendering
from streams.cli import settings as settings_command
from streams.cli.routing import look_at
from streams.clients.partitioner import partition_of
from streams.clients.records import Record


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SWITCHBOARD_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("SWITCHBOARD_BOOTSTRAP_SERVERS", "127.0.0.1:1")
    for port in ("SWITCHBOARD_METRICS_PORT", "SWITCHBOARD_API_PORT"):
        monkeypatch.delenv(port, raising=False)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ConfigurationError("set X to 1"), 78),
        (NotFound("there is no topic X"), 66),
        (DependencyUnavailable("kafka", "nobody answers"), 69),
        (InvalidRecord("invalid_json", "line 3 is not JSON"), 65),
        (ConsistencyError("the topic was made again"), 70),
        (KeyboardInterrupt(), 130),
    ],
)
def test_an_error_is_one_line_on_stderr_and_a_status(
    error: BaseException, status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr(settings_command, "load_settings", fail)
    assert main.run(["settings"]) == status
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (f"switchboard: {error}\n" if str(error) else "")


def test_an_error_that_nobody_raised_on_purpose_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(settings_command, "load_settings", fail)
    with pytest.raises(ZeroDivisionError):
        main.run(["settings"])


def test_what_is_filtered_is_told_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "The ferry leaves at nine from the old harbour. The ferry leaves at nine from the old harbour."
    file = tmp_path / "answer.txt"
    file.write_text(text)
    assert main.run(["filter", str(file), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["text"].strip() == "The ferry leaves at nine from the old harbour."
    assert told["duplicates"][0]["sentence"] == "The ferry leaves at nine from the old harbour."


def test_what_serves_or_asks_starts_without_faust_and_mcp() -> None:
    """Faust is for workers, and MCP for who asks over it; together they were half of a start."""
    code = (
        "import sys; from importlib import import_module; from streams.cli.commands import COMMANDS;"
        "import streams.server.serve.process;"
        "[import_module('streams.cli.' + entry.place.partition(':')[0]) for entry in COMMANDS.values()];"
        "loaded = {'faust', 'mode', 'aiohttp', 'mcp', 'mcp_types'} & set(sys.modules);"
        "sys.exit(f'{loaded}' if loaded else 0)"
    )
    _ends_well(code)


def test_without_a_qdrant_server_no_process_loads_its_client() -> None:
    """The client loads gRPC, which nothing here speaks; the embedded index needs neither."""
    code = (
        "import sys; from importlib import import_module; from streams.cli.commands import COMMANDS;"
        "import streams.server.process.worker, streams.server.process.services, streams.server.serve.process;"
        "import streams.server.serve.opening, streams.stores.index_factory, streams.stores.remembered.opening;"
        "[import_module('streams.cli.' + entry.place.partition(':')[0]) for entry in COMMANDS.values()];"
        "loaded = {'grpc', 'qdrant_client', 'scipy', 'sklearn'} & set(sys.modules);"
        "sys.exit(f'{loaded}' if loaded else 0)"
    )
    _ends_well(code)


def _ends_well(code: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr


@given(st.text())
def test_printable_is_one_line_without_controls_and_can_be_written(text: str) -> None:
    shown = output.printable(text)
    assert not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in shown)
    assert "\u202e" not in shown
    shown.encode()
    assert len(shown.splitlines()) <= 1


def test_nobody_reads_tells_a_closed_pipe_from_an_open_one() -> None:
    script = (
        "import sys; from streams.cli.output import nobody_reads\n"
        "before = nobody_reads(); sys.stdin.read(); print(before, nobody_reads(), file=sys.stderr)"
    )
    read, write = os.pipe()
    child = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=write, stderr=subprocess.PIPE, text=True
    )
    os.close(write)
    os.close(read)
    _, said = child.communicate("", timeout=60)
    assert said.split() == ["True", "True"]
    assert not output.nobody_reads()  # a test's stdout is a file


def record(value: object, key: bytes | None = b"c-1", **fields: object) -> Record:
    raw = value if isinstance(value, bytes) or value is None else msgspec.json.encode(value)
    return Record(value=raw, key=key, **fields)


@given(st.binary(max_size=60), st.sampled_from(["chat.messages.v1", "memory.facts.v1", "x.dlq", ""]))
def test_no_record_breaks_the_line(value: bytes, topic: str) -> None:
    line = rendering.line(record(value, key=value), topic)
    assert len(line.splitlines()) == 1
    msgspec.json.encode(rendering.as_dict(record(value, key=value)))


@pytest.mark.parametrize(
    ("arguments", "said", "status"),
    [
        (["conversation", "c-1"], "nobody is here to be asked, so nothing was erased: add --yes", 78),
        (["person", "ada"], "nobody is here to be asked, so nothing was erased: add --yes", 78),
        (["person", "  ", "--yes"], "USER is blank: say who is to be forgotten", 65),
        (["conversation", "x" * 300, "--yes"], "conversation_id", 78),
        (["conversation", "", "--yes"], "conversation_id", 78),
    ],
)
def test_what_is_refused(
    arguments: list[str], said: str, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["erase", *arguments]) == status
    assert said in capsys.readouterr().err


PARTITIONS = 8
KEYS = [b"conversation-%d" % number for number in range(50)]


def right(key: bytes, **fields: object) -> Record:
    return Record(value=b"{}", key=key, partition=partition_of(key, PARTITIONS), **fields)


def by_crc32(key: bytes, **fields: object) -> Record:
    return Record(value=b"{}", key=key, partition=crc32(key) % PARTITIONS, **fields)


def test_records_in_their_partitions_are_fine() -> None:
    found = look_at("chat.messages.v1", map(right, KEYS), PARTITIONS)
    assert (found.looked_at, found.wrong, found.without_key) == (50, 0, 0)


def test_the_default_of_librdkafka_is_recognised_and_its_producer_named() -> None:
    strangers = [by_crc32(key, headers=(("ce_source", b"/billing"),)) for key in KEYS]
    found = look_at("chat.messages.v1", [*map(right, KEYS), *strangers], PARTITIONS)
    assert found.wrong == sum(crc32(k) % PARTITIONS != partition_of(k, PARTITIONS) for k in KEYS) > 0
    assert dict(found.by_producer) == {"/billing": found.wrong}
    assert "partitioner=murmur2_random" in found.advice
