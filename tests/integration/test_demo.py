"""``make demo`` and ``make down`` as a newcomer meets them: real processes, a real broker."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.local import demo_processes
from deploy.local.demo_parts import STARTED
from deploy.local.kafka import LocalKafka
from deploy.local.ports import free_ports, is_free
from streams.config.settings import load_settings

PATIENCE = 240


def conversation(number: int, user: str, *said: str) -> list[str]:
    return [
        json.dumps(
            {
                "message_id": f"c-{number}-{at}",
                "conversation_id": f"c-{number}",
                "user_id": user,
                "role": "user" if at % 2 == 0 else "assistant",
                "content": content,
                "sent_at": f"2026-01-05T07:{at:02}:00Z",
            }
        )
        for at, content in enumerate(said)
    ]


CONVERSATIONS = [
    *conversation(
        1,
        "amara",
        *("I live in Leeds.", "A fine city."),
        *("I am allergic to peanuts.", "I will remember that."),
        *("My name is Amara.", "Hello, Amara!"),
        *("I like blueberries.", "Noted."),
        *("I can't stand halloumi cheese.", "No halloumi, then."),
        *("The smoothie for breakfast was brilliant this morning.", "Good to hear."),
        *("I moved to York.", "A fine city, too."),
        *("I work as a nurse.", "Thank you for what you do."),
    ),
    *conversation(2, "tomas", "I love bacalhau.", "A good choice.", "I prefer short answers.", "Understood."),
]


class Demo:
    """The demo on a folder of its own, with ports of its own."""

    def __init__(self, folder: Path, log: Path) -> None:
        self.folder = folder
        self.log = log
        self.ports = kafka, api = free_ports(2)
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("SWITCHBOARD_") and name != "MAKELEVEL"  # as a wheel's user runs it
        } | {
            "SWITCHBOARD_DATA_DIR": str(folder),
            "SWITCHBOARD_METRICS_PORT": "0",
            "SWITCHBOARD_API_PORT": str(api),
            "KAFKA_PORT": str(kafka),
        }

    def start(self, given: object = "", **environment: str) -> subprocess.Popen[str]:
        with self.log.open("w") as output:
            return subprocess.Popen(
                [sys.executable, "-m", "deploy.local.command", "demo"],
                env=self.environment | {"INPUT": str(given)} | environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                text=True,
            )

    def run(self, given: object = "", **environment: str) -> tuple[int, str]:
        """Run to the end; return the exit status and what was printed."""
        status = self.start(given, **environment).wait(timeout=PATIENCE)
        return status, self.log.read_text()

    def wait_for(self, text: str, process: subprocess.Popen[str]) -> None:
        deadline = time.monotonic() + PATIENCE
        while text not in self.log.read_text():
            assert process.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.1)

    def left(self) -> list[str]:
        """Processes, ports and locks that are still there."""
        running = [
            name
            for name, command in _commands()
            if str(self.folder) in command or f":{self.ports[0]}" in command
        ]
        ports = [f"port {port}" for port in self.ports if not is_free(port)]
        written = [str(path) for path in self.folder.rglob(demo_processes.PROCESSES_FILE)]
        return running + ports + written


def _commands() -> Iterator[tuple[str, str]]:
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            surroundings = (folder / "environ").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if folder.name != str(os.getpid()):
            yield f"process {folder.name}: {command[:100]}", command + surroundings


@pytest.fixture
def demo(tmp_path: Path, topic_prefix: str, worker_logs) -> Iterator[Demo]:
    made = Demo(tmp_path / "data", worker_logs.register(tmp_path / "demo.log"))
    folders = [load_settings(data_dir=made.folder, topic_prefix=prefix).folder for prefix in ("", topic_prefix)]
    for folder in folders:
        for service in STARTED:
            worker_logs.register(folder / "logs" / f"{service}.log")
    yield made
    for folder in folders:
        for process in demo_processes.read(folder):
            demo_processes.end(process, grace=0)


@pytest.fixture
def given(tmp_path: Path) -> Path:
    file = tmp_path / "mine.jsonl"
    file.write_text("\n".join(CONVERSATIONS))
    return file


@pytest.mark.kafka
def test_the_demo_prints_facts_and_repeats_without_adding(demo: Demo, given: Path) -> None:
    """The second one stays, alone on its folder, until ``make down``."""
    status, first = demo.run(given)
    assert status == 0, first
    assert len(first.splitlines()) <= 60
    assert first.index("the console: http://127.0.0.1:") < first.index("starting the services")
    assert demo.left() == []
    assert re.search(r"20 messages sent in", first)
    assert "“I can't stand halloumi cheese.”" in first
    assert re.search(r"amara: I live in Leeds\. \(superseded, .+\), then: .*York", first)
    assert re.search(r" turn .*smoothie for breakfast", first), "no fact says it"
    assert re.search(r"switchboard context c-1 --user amara --prompt\n  Known about .+:\n(  - .+\n)+", first)
    assert not re.search(r"new: 0 windows", first)
    assert "halloumi" in copied(first, 'switchboard search "..." --user NAME')

    staying = demo.start(given, STAY="1")
    demo.wait_for("Everything keeps running", staying)
    names = {process.name for process in demo_processes.read(demo.folder) if process.runs}
    assert names == {"demo", "kafka", *STARTED}
    status, said = Demo(demo.folder, demo.log.with_name("beside.log")).run(given)
    assert (status, "switchboard down" in said) == (78, True)
    second = demo.log.read_text()
    assert "halloumi" in copied(second, 'switchboard search "..." --user NAME')
    [console] = re.findall(r"^  (http\S+) +the console, in a browser$", second, re.MULTILINE)
    assert urllib.request.urlopen(console, timeout=PATIENCE).status == 200
    assert down(demo).startswith("ended: demo, ")
    assert staying.wait(timeout=PATIENCE) == 0
    assert demo.left() == []
    assert down(demo).startswith("nothing to end")

    second = demo.log.read_text()
    assert re.search(r"0 messages sent, 20 were there already", second)
    assert re.search(r"new: 0 windows, 0 episodes, 0 facts, 0 summaries", second)
    facts = re.compile(r"What is known now.*?^Asked of", re.DOTALL | re.MULTILINE)
    assert facts.search(first)[0] == facts.search(second)[0]


_ENDS_AT_THE_FIRST_LARGE_IMPORT = """
import os, sys
class Stop:
    def find_spec(self, name, path=None, target=None):
        if name == "deploy.local.demo_session":
            os._exit(7)
sys.meta_path.insert(0, Stop())
from deploy.local import command
command.main()
"""


def test_a_pipe_has_the_first_line_before_the_parts_are_loaded(demo: Demo) -> None:
    command = [sys.executable, "-c", _ENDS_AT_THE_FIRST_LARGE_IMPORT, "demo"]
    done = subprocess.run(
        command, env=demo.environment, capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert (done.returncode, done.stdout) == (7, "Switchboard demo: loading ...\n"), done.stderr


def test_the_demo_loads_no_scripted_model_unless_it_is_chosen() -> None:
    code = "import sys, deploy.local.demo_session; print('deploy.local.scripted_model' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    assert done.stdout == "False\n"


def copied(printed: str, command: str) -> str:
    """What a command of the closing words prints in a shell that knows nothing of this demo, as it was copied.

    Only its placeholders are filled in, and the switchboard is the one that is tested.
    """
    (closing,) = re.findall(r"^What to try next$.*", printed, re.MULTILINE | re.DOTALL)
    shown = [line.strip() for line in closing.splitlines()]
    assert any(line.startswith(command) for line in shown), closing
    first = [line for line in shown if line.startswith("export ")]
    filled = command.replace('"..."', '"cheese"').replace("NAME", "amara")
    filled = filled.replace("switchboard", f"{sys.executable} -m streams.cli", 1)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("SWITCHBOARD_")}
    done = subprocess.run(
        ["sh", "-c", "; ".join([*first, filled])],
        env=clean,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def down(demo: Demo) -> str:
    """``make down``; return what it printed."""
    command = [sys.executable, "-m", "deploy.local.command", "down"]
    done = subprocess.run(
        command, env=demo.environment, capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    return done.stdout


def on(kafka: LocalKafka, prefix: str) -> dict[str, str]:
    """What makes the demo use the broker of all tests: none of its own has to start."""
    return {"SWITCHBOARD_BOOTSTRAP_SERVERS": kafka.bootstrap_servers, "SWITCHBOARD_TOPIC_PREFIX": prefix}


@pytest.mark.kafka
@pytest.mark.parametrize(
    ("moment", "number"),
    [
        ("starting Kafka", signal.SIGINT),
        ("starting the services", signal.SIGTERM),
        ("starting the services", signal.SIGKILL),
    ],
)
@pytest.mark.long
def test_nothing_is_left_however_it_ends(demo: Demo, given: Path, moment: str, number: signal.Signals) -> None:
    running = demo.start(given)
    demo.wait_for(moment, running)
    running.send_signal(number)
    status = running.wait(timeout=PATIENCE)
    if number is signal.SIGKILL:
        deadline = time.monotonic() + PATIENCE
        while any("processes.json" not in what for what in demo.left()) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert [what for what in demo.left() if "processes.json" not in what] == []
    else:
        assert status == 130
        assert demo.log.read_text().endswith("ended; nothing is left running\n")
        assert demo.left() == []


@pytest.mark.kafka
def test_a_failing_service_ends_the_demo_with_its_log(
    demo: Demo, given: Path, kafka: LocalKafka, topic_prefix: str
) -> None:
    folder = load_settings(data_dir=demo.folder, topic_prefix=topic_prefix).folder
    folder.mkdir(parents=True)
    (folder / "qdrant").write_text("not a folder")
    status, said = demo.run(given, **on(kafka, topic_prefix))
    assert status == 69
    assert "recall: it has ended by itself" in said
    assert "qdrant" in said
    assert demo.left() == []


@pytest.mark.parametrize(("port", "advice"), [(0, "--kafka-port"), (1, "SWITCHBOARD_API_PORT")])
def test_a_busy_port_says_what_to_set(demo: Demo, given: Path, port: int, advice: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", demo.ports[port]))
        taken.listen()
        status, said = demo.run(given)
    assert status == 78
    assert f"port {demo.ports[port]}" in said
    assert advice in said
    assert demo.left() == []
