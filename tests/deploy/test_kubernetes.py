"""``deploy/kubernetes``: valid for Kubernetes, and each flag, setting, port and path in it is one of ours."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import crds
import httpx
import kubernetes_validate
import pytest
import strimzi_kinds
import yaml
from running import health, parse, settings_of
from typer.testing import CliRunner

from deploy.kubernetes import users
from streams.cli.main import app
from streams.clients.catalog import catalog_for, load_catalog
from streams.config.settings import load_settings
from streams.config.settings.services import SERVICES
from streams.queries.services import ANSWERING, stated_places

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy/kubernetes"
DOCKERFILE = (ROOT / "deploy/docker/Dockerfile").read_text()
SIZE_PAGE = (ROOT / "docs/how-to/size.md").read_text()
OVERLAYS = sorted(path.name for path in (FOLDER / "overlays").iterdir())
KUBERNETES = "1.34"
OPERATORS = crds.GROUPS | {strimzi_kinds.GROUP}

Objects = list[dict[str, Any]]

#: Objects that were looked at already: overlays share most of theirs.
_TAKEN: set[str] = set()


@pytest.fixture(scope="module")
def build(composed):
    @cache
    def built(folder: str) -> Objects:
        return list(yaml.load_all(composed("kustomize", FOLDER / folder), yaml.CSafeLoader))

    return built


@pytest.fixture(params=OVERLAYS)
def objects(build, request) -> Objects:
    return build(f"overlays/{request.param}")


@pytest.fixture(scope="module")
def with_models(build, tmp_path_factory) -> Objects:
    """An overlay of somebody's own: the small one, and a language model."""
    folder = tmp_path_factory.mktemp("own")
    there = [
        str(Path("../" * len(folder.parts[1:])) / str(path)[1:])
        for path in (FOLDER / "overlays/small", FOLDER / "components/models", FOLDER / "components/erasures")
    ]
    written = {"kind": "Kustomization", "resources": there[:1], "components": there[1:]}
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(written))
    return build(folder)


class Container(NamedTuple):
    """One of ours: the pod's specification, the container, and its environment as Kubernetes fills it."""

    name: str
    pod: dict[str, Any]
    container: dict[str, Any]
    environment: dict[str, str]


def ours(objects: Objects) -> Iterator[Container]:
    maps = {each["metadata"]["name"]: each["data"] for each in objects if each["kind"] == "ConfigMap"}
    for each in objects:
        pod = each.get("spec", {}).get("template", {}).get("spec", {})
        for container in pod.get("containers", ()):
            if container["image"].partition(":")[0] != "switchboard":
                continue
            environment = {
                name: value
                for source in container["envFrom"]
                for name, value in maps[source["configMapRef"]["name"]].items()
            }
            for variable in container["env"]:
                if "value" in variable:
                    environment[variable["name"]] = variable["value"]
                else:
                    field = variable["valueFrom"]["fieldRef"]["fieldPath"]
                    known = {"metadata.name": f"{each['metadata']['name']}-0", "metadata.namespace": "blue"}
                    environment[variable["name"]] = known[field]
            yield Container(each["metadata"]["name"], pod, container, environment)


def named(objects: Objects, kind: str) -> dict[str, dict[str, Any]]:
    return {each["metadata"]["name"]: each for each in objects if each["kind"] == kind}


def test_kubernetes_takes_every_object(objects) -> None:
    new = {str(each): each for each in objects if str(each) not in _TAKEN}
    for each in new.values():
        if group_of(each) not in OPERATORS:
            kubernetes_validate.validate(each, KUBERNETES, strict=True)
    check_by_operators([each for each in new.values() if group_of(each) in OPERATORS])
    _TAKEN.update(new)


def group_of(each: dict[str, Any]) -> str:
    return str(each["apiVersion"]).partition("/")[0]


def check_by_operators(objects: Objects) -> None:
    """Check objects against the schemas or classes of their operators."""
    try:
        for each in objects:
            if group_of(each) in crds.GROUPS:
                crds.validate(each)
        found = strimzi_kinds.problems([each for each in objects if group_of(each) == strimzi_kinds.GROUP])
    except crds.CannotLoad as error:
        pytest.skip(str(error))  # no Go or JDK here to read the schemas with
    assert not found, "\n".join(found)


def test_each_container_runs_a_command_with_valid_settings(objects, monkeypatch, tmp_path) -> None:
    containers = list(ours(objects))
    assert [each.name for each in containers if each.name in ANSWERING] == sorted(
        ANSWERING, key=_order(containers)
    )
    for each in containers:
        parse(each.container["args"])
        settings = settings_of(_with_files(each, tmp_path), monkeypatch)
        assert settings.api_auth == "on"
        assert settings.instance_id == f"{each.name}-0"
        if each.name in SERVICES:
            assert each.container["args"] == ["worker", each.name]
        places = stated_places(settings)
        assert places == {name: [(9464, name)] for name in ANSWERING}


def _order(containers: list[Container]) -> Any:
    return [each.name for each in containers].index


def _with_files(each: Container, tmp_path: Path) -> dict[str, str]:
    """Return the environment, with the files that it names as the pod's volumes would hold them."""
    mounts = {mount["mountPath"]: mount["name"] for mount in each.container["volumeMounts"]}
    volumes = {volume["name"]: volume for volume in each.pod["volumes"]}
    environment = dict(each.environment)
    for name, value in environment.items():
        if name.endswith("_FILE"):
            assert "secret" in volumes[mounts[str(Path(value).parent)]], f"{name}={value} is in no volume"
            file = tmp_path / Path(value).name
            file.write_text("a-secret\n")
            environment[name] = str(file)
    return environment


def test_a_model_gets_its_key_and_a_way_out(with_models, monkeypatch, tmp_path) -> None:
    for each in ours(with_models):
        settings = settings_of(_with_files(each, tmp_path), monkeypatch)
        assert settings.reads_with_model and settings.gemini_api_key.get_secret_value() == "a-secret"
    assert "models" in named(with_models, "NetworkPolicy")


def test_each_pod_is_confined_as_the_image_allows(objects) -> None:
    user, group = re.search(r"^USER (\d+):(\d+)$", DOCKERFILE, re.MULTILINE).groups()
    data = re.search(r"SWITCHBOARD_DATA_DIR=(\S+)", DOCKERFILE)[1]
    for each in ours(objects):
        rights = each.pod["securityContext"]
        assert (str(rights["runAsUser"]), str(rights["fsGroup"])) == (user, group)
        assert each.container["securityContext"]["readOnlyRootFilesystem"]
        assert data in [mount["mountPath"] for mount in each.container["volumeMounts"]]
        # Else SWITCHBOARD_..._SERVICE_HOST of a Service of that name would be a setting that there is not.
        assert each.pod["enableServiceLinks"] is False


def test_probes_ask_what_each_service_answers(objects, monkeypatch, tmp_path) -> None:
    with health() as port, httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client:
        for each in ours(objects):
            if each.name not in ANSWERING:
                continue
            ports = {given["name"]: given["containerPort"] for given in each.container["ports"]}
            assert re.search(rf"SWITCHBOARD_METRICS_PORT={ports['metrics']}\b", DOCKERFILE)
            for kind in ("startupProbe", "livenessProbe", "readinessProbe"):
                asked = each.container[kind]["httpGet"]
                assert (asked["port"], client.get(asked["path"]).status_code) == ("metrics", 200)
            settings = settings_of(_with_files(each, tmp_path), monkeypatch)
            assert each.pod["terminationGracePeriodSeconds"] > settings.shutdown_timeout_seconds + 5
            if each.name == "serve":
                assert ports["http"] == settings.api_port


def test_selectors_find_pods_and_names_are_there(objects) -> None:
    templates = [
        each["spec"]["template"]
        for each in objects
        if "template" in each.get("spec", {}) and group_of(each) not in OPERATORS
    ]
    pods = [template["metadata"]["labels"] for template in templates]
    selectors = [each["spec"]["selector"] for each in objects if each["kind"] == "Service"]
    for kind in ("PodDisruptionBudget", "StatefulSet", "Deployment", "PodMonitor"):
        selectors += [each["spec"]["selector"]["matchLabels"] for each in named(objects, kind).values()]
    selectors += [
        each["spec"]["podSelector"]["matchLabels"] for each in named(objects, "NetworkPolicy").values()
    ]
    for selector in selectors:
        assert any(selector.items() <= labels.items() for labels in pods), selector
    assert set(named(objects, "PodDisruptionBudget")) >= set(ANSWERING)
    assert {
        each["spec"]["podManagementPolicy"]
        for name, each in named(objects, "StatefulSet").items()
        if name in SERVICES
    } == {"Parallel"}
    for name in SERVICES:
        assert named(objects, "StatefulSet")[name]["spec"]["serviceName"] in named(objects, "Service")


def test_pods_may_reach_what_their_settings_name(objects, monkeypatch, tmp_path) -> None:
    policy = named(objects, "NetworkPolicy")["switchboard"]["spec"]
    open_ports = {port["port"] for rule in policy["egress"] if "to" not in rule for port in rule["ports"]}
    services = named(objects, "Service")
    for each in ours(objects):
        settings = settings_of(_with_files(each, tmp_path), monkeypatch)
        places = [urlsplit(f"//{server}") for server in settings.bootstrap_servers.split(",")]
        places += [urlsplit(settings.qdrant_url), urlsplit(settings.redis_url)]
        for place in places:
            assert place.port in open_ports, place
            if place.hostname == "kafka-kafka-bootstrap":  # Strimzi makes it, for the listener of that port
                assert place.port in [
                    one["port"] for one in named(objects, "Kafka")["kafka"]["spec"]["kafka"]["listeners"]
                ]
            else:
                assert place.port in [port["port"] for port in services[place.hostname]["spec"]["ports"]]


def test_users_have_the_least_rights_of_their_roles(build) -> None:
    """Else: python -m deploy.kubernetes.users."""
    assert users.FILE.read_text() == users.rendered(load_catalog())
    objects = build("overlays/strimzi")
    known = named(objects, "KafkaUser")
    for each in ours(objects):
        user = each.environment["SWITCHBOARD_KAFKA_SASL_USERNAME"]
        assert user in known
        assert user in [volume.get("secret", {}).get("secretName") for volume in each.pod["volumes"]]
        assert user.removeprefix("switchboard-") in (each.name, "apply")


def test_keda_adds_at_most_a_pod_a_partition(build) -> None:
    objects, settings = build("overlays/keda"), load_settings()
    scaled = named(objects, "ScaledObject")
    assert set(scaled) == set(SERVICES)
    for name, each in scaled.items():
        assert each["spec"]["scaleTargetRef"]["name"] == name
        assert each["spec"]["maxReplicaCount"] == catalog_for(settings).most_processes(name)
        assert each["spec"]["triggers"][0]["metadata"]["consumerGroup"] == settings.group(name)
        assert "replicas" not in named(objects, "StatefulSet")[name]["spec"], "the number is KEDA's"
    secrets = {*named(objects, "Secret"), *named(objects, "KafkaUser"), "kafka-cluster-ca-cert"}
    for entry in named(objects, "TriggerAuthentication")["kafka"]["spec"]["secretTargetRef"]:
        assert entry["name"] in secrets


_UNITS = {"Mi": 2**20, "Gi": 2**30}


def in_bytes(quantity: str) -> float:
    return float(quantity[:-2]) * _UNITS[quantity[-2:]]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_an_overlay_has_room_for_the_load_that_it_names(build, overlay) -> None:
    text = (FOLDER / "overlays" / overlay / "kustomization.yaml").read_text()
    [command] = re.findall(r"^#   switchboard (size .+)$", text, re.MULTILINE)
    row = next(line for line in SIZE_PAGE.splitlines() if line.startswith(f"| `{overlay}`"))
    assert f"`switchboard {command}`" in row, "docs/how-to/size.md names another load"
    done = CliRunner().invoke(app, [*command.split(), "--json"])
    assert done.exit_code == 0, done.output
    size, objects = json.loads(done.stdout), build(f"overlays/{overlay}")
    limit = {}
    for each in objects:
        for container in each.get("spec", {}).get("template", {}).get("spec", {}).get("containers", ()):
            limit[each["metadata"]["name"]] = in_bytes(container["resources"]["limits"]["memory"])
    for each in ours(objects):
        if each.name in ANSWERING:
            assert limit[each.name] >= size["process_bytes"][each.name], each.name
            [data] = [volume for volume in each.pod["volumes"] if volume["name"] == "data"]
            assert in_bytes(data["emptyDir"]["sizeLimit"]) >= size["process_disk_bytes"][each.name], each.name
    for name, pods in size["processes"].items():
        kind = "StatefulSet" if name in SERVICES else "Deployment"
        assert named(objects, kind)[name]["spec"].get("replicas", 1) >= pods, name
    claimed = named(objects, "StatefulSet")["qdrant"]["spec"]["volumeClaimTemplates"][0]["spec"]["resources"]
    assert in_bytes(claimed["requests"]["storage"]) >= size["qdrant_bytes"]
    assert limit["qdrant"] >= size["qdrant_bytes"]
    assert limit["valkey"] >= size["redis_bytes"]
    if pools := named(objects, "KafkaNodePool"):
        pool = pools["brokers"]["spec"]
        brokers, disk = pool["replicas"], pool["storage"]["volumes"][0]["size"]
        limit["kafka"] = in_bytes(pool["resources"]["limits"]["memory"])
    else:
        brokers = named(objects, "StatefulSet")["kafka"]["spec"].get("replicas", 1)
        claim = named(objects, "StatefulSet")["kafka"]["spec"]["volumeClaimTemplates"][0]
        disk = claim["spec"]["resources"]["requests"]["storage"]
    assert brokers >= size["brokers"]
    assert limit["kafka"] >= size["broker_bytes"]
    assert in_bytes(disk) >= size["kafka_disk_bytes"] / size["brokers"]


def test_the_monitoring_labels_what_alerts_ask_for(build) -> None:
    spec = named(build("overlays/strimzi"), "PodMonitor")["switchboard"]["spec"]
    assert spec["jobLabel"] == "app.kubernetes.io/name"
    assert spec["selector"]["matchLabels"] == {"app.kubernetes.io/name": "switchboard"}
    assert 'job="switchboard"' in (ROOT / "deploy/prometheus/alerts.yml").read_text()
    [endpoint] = spec["podMetricsEndpoints"]
    assert [each["targetLabel"] for each in endpoint["relabelings"]] == ["service"]
