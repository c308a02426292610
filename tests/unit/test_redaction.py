"""A canary is planted in every setting that can hold a secret, and looked for in everything that goes out."""

from __future__ import annotations

import io
import json
import logging
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from models.errors import ConfigurationError, DependencyUnavailable
from models.index import VectorSpace
from streams.cli import main
from streams.config.redaction import MASK, credentials_of, keep_secret, redacted, without_credentials
from streams.config.settings import Settings, describe, load_settings
from streams.config.settings.text import allowed, env_name
from streams.server.api.app import create_api
from streams.server.api.parts import Parts
from streams.server.api.server import serve
from streams.stores.qdrant_kinds import FACTS
from streams.stores.qdrant_server import QdrantServerIndex
from streams.stores.search import MemorySearch
from streams.telemetry.health import HealthState
from streams.telemetry.health_server import HealthServer
from streams.telemetry.logs import configure_logging
from streams.telemetry.metrics import Metrics

CANARY = "kanarie-vogel"

#: Where a canary sits in a URL; the host is one that nothing listens on.
URLS = [
    f"{{scheme}}://ada:{CANARY}@127.0.0.1:1/0",
    f"{{scheme}}://:{CANARY}@127.0.0.1:1",
    f"{{scheme}}://:a%2F{CANARY}@127.0.0.1:1",
    f"{{scheme}}://127.0.0.1:1/?password={CANARY}",
    f"{{scheme}}://127.0.0.1:1/0?db=1&password={CANARY}&x=1",
]


def schemes() -> dict[str, str]:
    """Setting -> scheme of its URLs, of every setting that takes a URL; a new one is found by itself."""
    found = {}
    for name, field in Settings.model_fields.items():
        if not name.endswith("_url") and "://" not in allowed(field):
            continue
        for scheme in ("redis", "http"):
            try:
                load_settings(**{name: f"{scheme}://127.0.0.1:1"})
            except ConfigurationError:
                continue
            if field.annotation is str:
                found[name] = scheme
    return found


SECRETS = [name for name, field in Settings.model_fields.items() if field.annotation is SecretStr]
PLANTED = [(name, CANARY) for name in SECRETS]
PLANTED += [(f"{name}_file", CANARY) for name in SECRETS]  # the file holds it

#: Without these the setting makes no sense.
COMPANIONS = {
    "kafka_sasl_password": {
        "SWITCHBOARD_KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
        "SWITCHBOARD_KAFKA_SASL_USERNAME": "ada",
    },
}
PLANTED += [(name, url.format(scheme=scheme)) for name, scheme in schemes().items() for url in URLS]


@pytest.fixture(params=PLANTED, ids=[f"{name}-{n}" for n, (name, _) in enumerate(PLANTED)])
def planted(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> tuple[str, str]:
    """A setting and what it holds, set in the environment."""
    name, value = request.param
    for variable, held in environment_of(name, value, tmp_path).items():
        monkeypatch.setenv(variable, held)
    return name, value


def environment_of(name: str, value: str, folder: Path) -> dict[str, str]:
    """Variables that set one setting to a value, by a file in ``folder`` if that is how it is given."""
    file = folder / "secret"
    file.write_text(value)
    given = str(file) if name.endswith("_file") else value
    return {
        env_name(name, Settings.model_fields[name]): given,
        **COMPANIONS.get(name.removesuffix("_file"), {}),
    }


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield io.StringIO()
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()
    logging.captureWarnings(False)


def test_no_listing_shows_it(planted: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    settings = load_settings()
    main.run(["settings"])
    main.run(["settings", "--json"])
    shown = [*capsys.readouterr(), repr(settings), str(settings), repr(describe(settings))]
    assert not any(CANARY in text for text in shown)
    assert MASK in shown[0]


@pytest.mark.parametrize("form", ["json", "console"])
def test_no_log_shows_it(planted: tuple[str, str], form: Any, logged: io.StringIO) -> None:
    load_settings()
    _, value = planted
    configure_logging("debug", form, logged)
    log = structlog.get_logger("streams.test")
    log.warning(
        f"cannot reach {value}", error=f"refused by {value}", others=[value, {"url": value}], at=Path(value)
    )
    logging.getLogger("redis.connection").error("cannot reach %s", value, extra={"url": value})
    try:
        raise ConnectionError(f"{value} does not answer")
    except ConnectionError as error:
        log.error("failed", error=error, exc_info=True)
        logging.getLogger("qdrant_client").exception("failed")
    assert logged.getvalue().count("does not answer") >= 2
    assert CANARY not in logged.getvalue()


def test_no_health_answer_shows_it(planted: tuple[str, str]) -> None:
    load_settings()
    _, value = planted
    state, metrics = HealthState(30), Metrics()
    state.fail(f"ConnectionError: {value}")
    state.block("qdrant", f"waiting for {value}")
    metrics.retries_total.labels("index", "qdrant").inc()
    with HealthServer(0, metrics.registry, state) as server:
        for path in ("/readyz", "/healthz", "/metrics"):
            request = urllib.request.Request(f"http://127.0.0.1:{server.port}{path}")
            opener = urllib.request.build_opener(NoErrors())
            with opener.open(request, timeout=60) as answer:
                assert CANARY not in answer.read().decode()


class NoErrors(urllib.request.HTTPErrorProcessor):
    """Lets an answer be an answer, whatever its status."""

    def http_response(self, request: Any, response: Any) -> Any:
        return response


def test_no_error_text_shows_it(
    planted: tuple[str, str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    load_settings()
    _, value = planted

    def fail() -> None:
        raise DependencyUnavailable("redis", f"{value} does not answer")

    monkeypatch.setattr("streams.cli.settings.load_settings", fail)
    assert main.run(["settings"]) == 69
    error = capsys.readouterr().err
    assert "does not answer" in error
    assert CANARY not in error


def test_no_complaint_of_a_setting_shows_it(planted: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SWITCHBOARD_WINDOW_SIZE", "1")
    with pytest.raises(ConfigurationError) as refused:
        load_settings()
    assert CANARY not in str(refused.value)


def test_no_traceback_shows_it(tmp_path: Path) -> None:
    script = (
        "import json, os, sys; from streams.config import redaction; from streams.cli import main, settings\n"
        "from streams.config.settings import load_settings\n"
        "def fail():\n"
        "    load_settings(); raise ZeroDivisionError(value)\n"
        "settings.load_settings = fail\n"
        "for value, variables in json.load(sys.stdin):\n"
        "    os.environ.update(variables)\n"
        "    try: main.main()\n"
        "    except SystemExit as ended: assert ended.code == 1\n"
        "    for each in variables: del os.environ[each]\n"
        "    redaction.forget_secrets()\n"
    )
    cases = []
    for number, (name, value) in enumerate(PLANTED):
        folder = tmp_path / str(number)
        folder.mkdir()
        cases.append((value, environment_of(name, value, folder)))
    done = subprocess.run(
        [sys.executable, "-c", script, "settings"],
        input=json.dumps(cases), capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stderr.count("ZeroDivisionError: ") == len(PLANTED)
    assert CANARY not in done.stderr


@pytest.mark.parametrize("url", [url.format(scheme="http") for url in URLS])
async def test_no_problem_shows_it(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    index = QdrantServerIndex(url, "canaries", FACTS, VectorSpace("m", 4))
    server = await serve(create_api(Parts(MemorySearch(index, NoEmbedder()), index)), "127.0.0.1", 0)
    async with httpx.AsyncClient(base_url=server.url, trust_env=False, timeout=60) as client:
        for path in ("/v1/search?q=tea&user_id=ada", "/v1/facts?user_id=ada"):
            answer = await client.get(path)
            assert answer.status_code == 503
            assert "127.0.0.1:1" in answer.text
            assert CANARY not in answer.text
    await server.stop()
    await index.close()
    assert CANARY not in "".join(capsys.readouterr())


class NoEmbedder:
    dimensions = 4

    async def embed(self, texts: Any) -> Any:
        raise DependencyUnavailable("embedder", "none here")


@pytest.mark.parametrize("url", [url.format(scheme="http") for url in URLS])
def test_reset_plan_and_offline_search_do_not_show_it(
    url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("SWITCHBOARD_QDRANT_URL", url)
    monkeypatch.setenv("SWITCHBOARD_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("SWITCHBOARD_BOOTSTRAP_SERVERS", "127.0.0.1:1")
    monkeypatch.setenv("SWITCHBOARD_API_PORT", "1")
    assert main.run(["state", "reset", "memory"]) == 78  # nobody is here to be asked
    assert main.run(["search", "tea", "--user", "ada"]) == 69
    main.run(["doctor"])
    out, err = capsys.readouterr()
    assert "127.0.0.1:1" in out
    assert "127.0.0.1:1" in err
    assert CANARY not in out + err


_PASSWORD = st.text(min_size=1)


@given(_PASSWORD, st.sampled_from(["http", "redis", "unix"]))
def test_a_password_is_hidden_whatever_it_holds(password: str, scheme: str) -> None:
    shown = without_credentials(f"{scheme}://ada:«{password}»@127.0.0.1:1/0")
    assert "«" not in shown
    assert shown == f"{scheme}://{MASK}@127.0.0.1:1/0"


def test_a_secret_is_known_in_clients_forms() -> None:
    keep_secret(credentials_of("redis://ada:p%40ss%2Fw%C3%B6rd@h"))
    assert redacted("AUTH p@ss/wörd failed") == f"AUTH {MASK} failed"
