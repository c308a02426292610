"""``docker-compose.yml`` and what it mounts agree with the code: nothing here needs Docker."""

from __future__ import annotations

import json
import re
import shlex
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from running import health, parse, settings_of

from deploy.local.kafka_config import server_properties
from deploy.local.kafka_jars import KAFKA_VERSION
from streams.config.settings import Settings, load_settings
from streams.config.settings.services import health_port
from streams.queries.services import ANSWERING, stated_places
from streams.server.api.access import Access

ROOT = Path(__file__).parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, Any] = COMPOSE["services"]
OURS = sorted(name for name, service in SERVICES.items() if "build" in service)
WORKERS = [name for name in OURS if SERVICES[name]["command"][0] in ("worker", "serve")]
DOCKERFILE = (ROOT / "deploy/docker/Dockerfile").read_text()


@pytest.fixture
def container(monkeypatch, request) -> dict[str, str]:
    """The environment that compose gives to the service, set here; nobody passes a variable on."""
    environment = {name: _unset(value) for name, value in SERVICES[request.param]["environment"].items()}
    settings_of(environment, monkeypatch)
    return environment


def _unset(value: str) -> str:
    """Return a value with ${VARIABLE:-default} and ${VARIABLE:+replacement} where no variable is set."""
    return re.sub(r"\$\{\w+:\+[^}]*\}", "", re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", value))


@pytest.mark.parametrize("container", WORKERS, indirect=True)
def test_who_asks_the_services_finds_each_in_its_container(container):
    """None has another's notes: by the defaults each took its own port for that of all."""
    places = stated_places(load_settings())
    assert places == {name: [(int(container["SWITCHBOARD_METRICS_PORT"]), name)] for name in ANSWERING}


@pytest.mark.parametrize("container", OURS, indirect=True)
def test_the_settings_of_each_service_exist_and_are_valid(container):
    settings = load_settings()  # refuses unknown names and bad values
    assert settings.bootstrap_servers == "kafka:9092"
    assert settings.qdrant_url == "http://qdrant:6333"
    access = Access.of(settings)  # refuses an address that strangers reach
    assert access.answers_to("localhost:8371")
    assert access.answers_to("serve:8371")
    assert not access.answers_to("attacker.example")


def test_a_key_is_handed_over_as_a_file(composed, tmp_path, monkeypatch):
    key = tmp_path / "gemini.key"
    key.write_text("a key\n")
    project = json.loads(composed("compose", ROOT / "docker-compose.yml", f"GEMINI_API_KEY_FILE={key}"))
    assert project["secrets"]["gemini_api_key"]["file"] == str(key)
    memory = project["services"]["memory"]
    assert [secret["source"] for secret in memory["secrets"]] == [
        "gemini_api_key",
        "openai_api_key",
        "erasure_key",
    ]
    environment = memory["environment"]
    assert environment["GEMINI_API_KEY_FILE"] == "/run/secrets/gemini_api_key"  # where Compose puts it
    settings = settings_of(environment | {"GEMINI_API_KEY_FILE": str(key)}, monkeypatch)
    assert settings.gemini_api_key.get_secret_value() == "a key"


def healthcheck(port: int, *path: str) -> bool:
    script, environment = ROOT / "deploy/docker/healthcheck", {"SWITCHBOARD_METRICS_PORT": str(port)}
    done = subprocess.run([script, *path], env=environment, capture_output=True, timeout=30, check=False)
    return done.returncode == 0


def test_the_health_check_says_what_the_health_server_says():
    with health() as port:
        assert healthcheck(port)
    with health(ready=False) as port:
        assert not healthcheck(port)
        assert healthcheck(port, "/healthz")
    assert not healthcheck(port), "nobody listens any more"


@pytest.mark.parametrize("service", OURS)
def test_the_command_line_takes_the_command_of_each_service(service):
    parse(SERVICES[service]["command"])


@pytest.mark.parametrize("container", WORKERS, indirect=True)
def test_health_is_asked_where_it_is_answered(container, request):
    service = request.node.callspec.params["container"]
    assert SERVICES[service]["healthcheck"]["test"] == ["CMD", "healthcheck"]
    assert container["SWITCHBOARD_METRICS_PORT"] == str(health_port(load_settings(), service))


@pytest.mark.parametrize("service", ["kafka", "qdrant"])
def test_a_store_is_healthy_while_its_port_is_open(service):
    kind, *command = SERVICES[service]["healthcheck"]["test"]
    asked = re.search(r"/dev/tcp/127.0.0.1/(\d+)", command[-1])
    published = str(SERVICES[service].get("ports")) + str(COMPOSE["x-worker"]["environment"])
    assert kind == "CMD" and asked is not None and f":{asked[1]}" in published
    with socket.create_server(("127.0.0.1", 0)) as server:
        words = [word.replace(asked[1], str(server.getsockname()[1])) for word in command]
        assert subprocess.run(words, timeout=30, check=False).returncode == 0
    assert subprocess.run(words, timeout=30, check=False, stderr=subprocess.DEVNULL).returncode != 0


@pytest.mark.parametrize("container", WORKERS, indirect=True)
def test_a_worker_has_time_to_drain(container):
    grace = float(SERVICES["ingest"]["stop_grace_period"].removesuffix("s"))
    assert grace > load_settings().shutdown_timeout_seconds


@pytest.mark.parametrize("service", SERVICES)
def test_what_each_service_refers_to_exists(service):
    description = SERVICES[service]
    assert set(description.get("depends_on", {})) <= set(SERVICES)
    for name, condition in description.get("depends_on", {}).items():
        if condition["condition"] == "service_healthy":
            assert "test" in SERVICES[name]["healthcheck"]
    for volume in description.get("volumes", []):
        source = volume.split(":")[0]
        assert (ROOT / source).is_file() if source.startswith(".") else source in COMPOSE["volumes"]
    if service not in OURS:
        _, tag = description["image"].split(":")
        assert tag != "latest"


def test_published_ports_are_for_this_machine_only():
    for service in SERVICES.values():
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))


def test_kafka_is_the_one_that_runs_without_docker_too():
    kafka = SERVICES["kafka"]
    assert kafka["image"] == f"apache/kafka:{KAFKA_VERSION}"
    local = dict(line.split("=", 1) for line in server_properties(Path("/data"), 1, 2).splitlines())
    addresses = {"controller.quorum.voters", "listeners", "advertised.listeners", "log.dirs"}
    addresses |= {"listener.security.protocol.map", "inter.broker.listener.name"}
    for name, value in kafka["environment"].items():
        prefix, _, rest = name.partition("_")
        key = rest.lower().replace("_", ".")
        if prefix == "KAFKA" and key not in addresses:
            assert local[key] == value, key
    inside, _ = kafka["environment"]["KAFKA_ADVERTISED_LISTENERS"].split(",")
    assert inside == f"INSIDE://{SERVICES['ingest']['environment']['SWITCHBOARD_BOOTSTRAP_SERVERS']}"


def test_the_image_copies_only_existing_unignored_files():
    let_through = {
        line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")
    }
    for line in re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.MULTILINE):
        *sources, _ = [word for word in shlex.split(line) if not word.startswith("--")]
        for source in sources:
            assert (ROOT / source).exists()
            assert source == "." or Path(source).parts[0] in let_through
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests", "benchmarks"}
    assert packages | {"pyproject.toml", "requirements.lock"} <= let_through


def test_the_image_runs_the_command_as_an_ordinary_user():
    assert 'ENTRYPOINT ["switchboard"]' in DOCKERFILE
    assert re.search(r"^USER \d+:\d+$", DOCKERFILE, re.MULTILINE), "a number: Kubernetes reads no /etc/passwd"
    for name in re.findall(r"\bSWITCHBOARD_(\w+)=", DOCKERFILE):
        assert name.lower() in Settings.model_fields
