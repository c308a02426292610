"""What every test may ask for: a real broker, names of its own, and the logs of its workers when it fails."""

from __future__ import annotations

import os
import random
import shutil
import signal
import uuid
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import broker_archive
import hanging
import hypothesis
import pytest
from coverage import Coverage

from deploy.local.kafka import LocalKafka
from streams.config import redaction

_LOG_TAIL = 60  # lines per worker
# The short session of a node is for one that is killed and started again.  If the machine stands still for
# longer, the node takes its partitions and groups from itself, and every client has to find them again.
_UNHURRIED = {"broker.session.timeout.ms": "60000"}
# Without a seed every run draws the same: `make test` finds what a change broke, not what nobody has met yet.
# `make soak` sets a new one for each round.
_EXPLORES = "SWITCHBOARD_TEST_SEED" in os.environ
_RUN_SEED = int(os.environ.get("SWITCHBOARD_TEST_SEED", 1))
_default = hypothesis.settings()
# How long an example takes, or is made, says how busy the machine is.
hypothesis.settings.register_profile(
    "unhurried",
    parent=_default,
    derandomize=_default.derandomize or not _EXPLORES,
    # What failed in an earlier run is an example in the test, or the result depends on a folder.
    database=None,
    deadline=None,
    # Beside what tests/mutation/plugin.py, which comes first, has turned off.
    suppress_health_check=[*_default.suppress_health_check, hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("unhurried")

# By the environment, so that those brokers get it, too, that a demo starts in a test.
os.environ.setdefault("JDK_JAVA_OPTIONS", broker_archive.java_options())

# Each HTTP client, here and in the processes that tests start, would read all authorities of the world: some
# hundredths of a second, a thousand times.  No test goes out there, and this one's key was thrown away.
os.environ["SSL_CERT_FILE"] = str(Path(__file__).with_name("authority.pem"))

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

#: Fixtures whose processes run until the end, the costliest last.
_SHARED = ("kafka", "deployment")
#: Files that take more than twenty seconds, the longest first.
_LONGEST = (
    *(
        "test_demo",
        "test_state_reset",
        "test_benchmarks",
        "test_respond_faults",
        "test_worker_faults",
    ),
    *("test_recall_faults", "test_replay", "test_kafka_security", "test_replay_beside", "test_docs_run"),
    *(
        "test_console",
        "test_console_chat",
        "test_api_schema_live",
        "test_memory_model_faults",
        "test_stage_faults",
    ),
    *("test_topic_faults", "test_broker_faults", "test_process_faults", "test_summary_faults"),
    *("test_compressed_input", "test_import_and_letters", "test_turns", "test_erasing_everywhere"),
    *("test_erase_certificate", "test_api_writing", "test_mcp_transports", "test_bots", "test_completions"),
    *("test_serve", "test_webhook_lifecycle", "test_token_lifecycle", "test_canaries", "test_cli", "test_memo"),
    *("test_paid_vectors", "test_responder", "test_topics_admin"),
)
#: Folders that `make test-long` collects: a long test elsewhere would run nowhere.
_LONG_FOLDERS = {"browser", "faults", "integration"}

#: Marks of tests that are not counted for coverage.
_UNCOUNTED = ("property", "uncounted", "kafka", "browser", "faults")

_registered_logs = pytest.StashKey[list[Path]]()
_limit = pytest.StashKey[hanging.Limit]()


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalKafka]:
    """The broker of all tests of a process, started by the first that asks.  Leave it running and whole."""
    # Each test makes the topics of a deployment, some five hundred partitions, and leaves them.
    yield from _broker_in(tmp_path_factory.mktemp("kafka"), heap="1536m", overrides=_UNHURRIED)


@pytest.fixture
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalKafka]:
    """A broker for this test alone, to stop, kill, pause and restart."""
    yield from _broker_in(tmp_path_factory.mktemp("broker"))


@pytest.fixture
def topic_prefix() -> str:
    """To put before the names of topics, groups and instances: no other test and no other run has it."""
    return f"test-{uuid.uuid4().hex[:8]}-"


class WorkerLogs:
    """The files that a test's worker processes log to; their ends are printed if the test fails."""

    def __init__(self, paths: list[Path]) -> None:
        self._paths = paths

    def register(self, path: Path | str) -> Path:
        """Print the end of ``path`` if the test fails.  The file need not exist yet."""
        self._paths.append(Path(path))
        return Path(path)


@pytest.fixture
def worker_logs(request: pytest.FixtureRequest) -> WorkerLogs:
    """``worker_logs.register(path)`` for each process that the test starts."""
    return WorkerLogs(request.node.stash.setdefault(_registered_logs, []))


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """A number of this test's own, the same in every run without SWITCHBOARD_TEST_SEED."""
    return zlib.crc32(f"{_run_seed(request.config)} {request.node.nodeid}".encode())


@pytest.fixture(autouse=True)
def _seeded_random(seed: int) -> None:
    random.seed(seed)


@pytest.fixture(autouse=True)
def _no_secrets_of_other_tests() -> Iterator[None]:
    """What one test's settings keep secret is an ordinary word in the next."""
    yield
    redaction.forget_secrets()


@pytest.fixture(autouse=True)
def _signals_as_before() -> Iterator[None]:
    """A handler that a test leaves behind may end the whole process at another test's signal."""
    harmless = [signal.SIG_DFL, signal.SIG_IGN, signal.default_int_handler]
    harmless += [signal.getsignal(number) for number in _SIGNALS]
    yield
    left = [signal.getsignal(number) for number in _SIGNALS]
    assert all(each in harmless for each in left), f"the test left signal handlers behind: {left}"


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Have Hypothesis draw by the seed of the run, unless it is told another."""
    config.stash[_limit] = hanging.Limit()
    if _EXPLORES and config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = str(_RUN_SEED)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Limit each test, with its fixtures."""
    with item.config.stash[_limit].on(item):
        return (yield)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark what draws examples, for `make soak`, and refuse what `make test-long` would not collect."""
    if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
        item.add_marker("property")
    if item.get_closest_marker("long") and item.path.parent.name not in _LONG_FOLDERS:
        folders = ", ".join(sorted(_LONG_FOLDERS))
        raise pytest.UsageError(f"{item.nodeid} is marked long; make test-long collects only {folders}")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What needs the least first; of those that need the same, the longest first.

    The broker of a process, and its deployment, run from the first test that needs them to the end, and take
    their time from whatever runs meanwhile.  A long file that began last would keep one process busy alone.
    """
    needs: dict[Path, int] = {}
    for item in items:
        asked_for = getattr(item, "fixturenames", ())
        shared = [place for place, name in enumerate(_SHARED, 1) if name in asked_for]
        needs[item.path] = max(needs.get(item.path, 0), *shared, 0)
    ranks = {name: rank for rank, name in enumerate(_LONGEST)}
    items.sort(key=lambda item: (needs[item.path], ranks.get(item.path.stem, len(ranks))))
    if any(needs.values()):
        broker_archive.begin()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """What runs the same few lines very often takes several times as long while they are counted: hundreds of
    examples reach hardly a line more than one, a long text none that a short one does not.  What a test with a
    broker, a browser or faults works on is mostly other processes, and the tests without one reach its lines.

    Not by pytest-cov's own mark: beneath the coverage that it stops, a process of pytest-xdist has another.
    """
    counting = []
    if any(map(item.get_closest_marker, _UNCOUNTED)):
        while (coverage := Coverage.current()) is not None:
            coverage.stop()
            counting.append(coverage)
    try:
        return (yield)
    finally:
        for coverage in reversed(counting):
            coverage.start()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: Any, log: Any) -> Any:
    """Give out files whole, but long ones test by test."""
    from file_scheduling import FileScheduling

    return FileScheduling(config, log)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Say how a process of pytest-xdist died."""
    from file_scheduling import how_it_ended

    if error is not None:
        reporter = node.config.pluginmanager.getplugin("terminalreporter")
        reporter.write_line(f"[{node.gateway.id}] {how_it_ended(node)}; its tests go to the others")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a process of pytest-xdist which seed the run has."""
    node.workerinput["seed"] = _RUN_SEED


def _run_seed(config: pytest.Config) -> int:
    told: dict[str, Any] = getattr(config, "workerinput", {})
    return told.get("seed", _RUN_SEED)


def pytest_report_header() -> str:
    return f"random seed: SWITCHBOARD_TEST_SEED={_RUN_SEED}" if _EXPLORES else "random seed: fixed"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report: pytest.TestReport = yield
    if report.failed:
        if _EXPLORES:
            repeat = f"repeat with SWITCHBOARD_TEST_SEED={_run_seed(item.config)}"
            report.sections.append(("random seed", repeat))
        for path in item.stash.get(_registered_logs, []):
            report.sections.append((f"end of {path}", _tail(path)))
        for name in ("kafka", "broker"):
            used = getattr(item, "funcargs", {}).get(name)
            if isinstance(used, LocalKafka):
                report.sections.append((f"end of the log of {name}", used.log_tail()))
    return report


def _tail(path: Path) -> str:
    try:
        return "\n".join(path.read_text(errors="replace").splitlines()[-_LOG_TAIL:])
    except OSError as error:
        return f"cannot be read: {error.strerror}"


def _broker_in(
    folder: Path, heap: str = "384m", overrides: Mapping[str, str] | None = None
) -> Iterator[LocalKafka]:
    running = LocalKafka(folder, heap=heap, overrides=overrides)
    running.start()
    try:
        yield running
    finally:
        running.kill()  # in order, it would first write down for a quarter of a minute what nobody reads again
    shutil.rmtree(folder)
