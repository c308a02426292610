"""Settings: what is refused and how it is said, what is shown, and secrets in files."""

from __future__ import annotations

import os

import pytest

from models.errors import ConfigurationError
from streams.clients.kafka import connection
from streams.config.settings import Settings, describe, load_settings
from streams.config.settings.access import SECRETS
from streams.config.settings.text import env_name


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in list(os.environ):
        if variable.upper().startswith("SWITCHBOARD_") or variable == "GEMINI_API_KEY":
            monkeypatch.delenv(variable)


def refusal(monkeypatch: pytest.MonkeyPatch, **environment: str) -> str:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigurationError) as caught:
        load_settings()
    return str(caught.value)


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("SWITCHBOARD_API_PORT", "abc", "whole number from 0 to 65535"),
        ("SWITCHBOARD_BOOTSTRAP_SERVERS", "kafka", "host:port"),
        ("SWITCHBOARD_TOPIC_PREFIX", "a b", "letters, digits"),
        ("SWITCHBOARD_LOG_FORMAT", "xml", "console or json"),
        ("SWITCHBOARD_IDLE_SECONDS", "nan", "finite"),
        ("SWITCHBOARD_SESSION_TIMEOUT_SECONDS", "2", "number from 6 to 1800"),
    ],
)
def test_a_bad_value_is_named_with_what_is_allowed(monkeypatch, variable, value, said):
    text = refusal(monkeypatch, **{variable: value})
    assert f"{variable}={value!r}" in text
    assert said in text
    assert len(text.splitlines()) == 2


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"TURN_LOG_DAYS": "30"}, "TURN_LOG_DAYS=30 (days) must be 0 or at least"),
        ({"WINDOW_OVERLAP": "10"}, "WINDOW_OVERLAP=10 must be below SWITCHBOARD_WINDOW_SIZE=10"),
        ({"STEP_TIMEOUT_SECONDS": "120"}, "below SWITCHBOARD_HANG_TIMEOUT_SECONDS=120"),
        ({"RETRY_MIN_SECONDS": "31"}, "at most SWITCHBOARD_RETRY_MAX_SECONDS=30"),
        ({"WINDOW_SIZE": "16"}, "may exceed the 1,000,000 bytes"),
    ],
)
def test_settings_that_contradict_each_other_are_both_named(monkeypatch, environment, said):
    assert said in refusal(monkeypatch, **{f"SWITCHBOARD_{name}": value for name, value in environment.items()})


@pytest.mark.parametrize("name", ["Ingest-0", "ingest_0", "-ingest-0"])
def test_an_impossible_pod_name_is_refused_in_kubernetes(monkeypatch, name):
    monkeypatch.setenv("SWITCHBOARD_INSTANCE_ID", name)
    assert load_settings().instance_id == name, "a host may be called so"
    said = refusal(monkeypatch, KUBERNETES_SERVICE_HOST="10.0.0.1", SWITCHBOARD_INSTANCE_ID=name)
    assert name in said and "take it from metadata.name" in said
    monkeypatch.setenv("SWITCHBOARD_INSTANCE_ID", "ingest-0")
    assert load_settings().instance_id == "ingest-0"


@pytest.mark.parametrize("schedule", ["25:00", "never"])
def test_a_senseless_schedule_is_refused_with_advice(monkeypatch, schedule):
    said = refusal(monkeypatch, SWITCHBOARD_CONSOLIDATE_AT=schedule)
    assert 'a time of day (UTC) between 00:00 and 23:59, such as 03:00, or "off"' in said


def test_a_misspelt_name_is_an_error_with_suggestion(monkeypatch):
    text = refusal(monkeypatch, SWITCHBOARD_WINDW_SIZE="20", SWITCHBOARD_QQQQ="1", SWITCHBOARD_AIP_PORT="1")
    assert "SWITCHBOARD_WINDW_SIZE: no such setting; did you mean SWITCHBOARD_WINDOW_SIZE?" in text
    assert "SWITCHBOARD_AIP_PORT: no such setting; did you mean SWITCHBOARD_API_PORT?" in text
    assert "SWITCHBOARD_QQQQ: no such setting; `switchboard settings` lists them" in text


def test_injected_kubernetes_variables_are_no_misspelling(monkeypatch):
    for name, value in {
        "SWITCHBOARD_SERVICE_HOST": "10.0.0.1",
        "SWITCHBOARD_SERVICE_PORT": "80",
        "SWITCHBOARD_PORT": "tcp://10.0.0.1:80",
        "SWITCHBOARD_MEMORY_SERVICE_PORT_HTTP": "8371",
        "SWITCHBOARD_MEMORY_PORT_8371_TCP_ADDR": "10.0.0.1",
    }.items():
        monkeypatch.setenv(name, value)
    load_settings()
    assert "enableServiceLinks" in refusal(monkeypatch, SWITCHBOARD_API_PORT="tcp://10.0.0.1:8371")


SASL = {"kafka_security_protocol": "SASL_SSL", "kafka_sasl_username": "ada", "kafka_sasl_password": "canary"}


def test_a_user_comes_with_tls_and_a_mechanism():
    options = connection(load_settings(**SASL))
    assert options.pop("ssl_context").check_hostname
    assert options == {
        "bootstrap_servers": "127.0.0.1:9092",
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_plain_username": "ada",
        "sasl_plain_password": "canary",
    }


@pytest.mark.parametrize("name", SECRETS)
def test_every_secret_may_stand_in_a_file(name, monkeypatch, tmp_path):
    file = tmp_path / "secret"
    file.write_text("canary of mine\r\n")
    env = env_name(name, Settings.model_fields[name])
    monkeypatch.setenv(f"{env}_FILE", str(file))
    if name == "kafka_sasl_password":
        monkeypatch.setenv("SWITCHBOARD_KAFKA_SECURITY_PROTOCOL", "SASL_SSL")
        monkeypatch.setenv("SWITCHBOARD_KAFKA_SASL_USERNAME", "ada")
    settings = load_settings()
    assert getattr(settings, name).get_secret_value() == "canary of mine"
    assert "canary" not in f"{settings!r} {describe(settings)}"

    monkeypatch.setenv(env, "another")
    with pytest.raises(ConfigurationError, match=f"{env} and {env}_FILE are both set") as caught:
        load_settings()
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "said"), [(None, "cannot be read: No such file"), (b"\n", "is empty"), (b"\xff", "is no text")]
)
def test_a_file_without_a_secret_is_named(content, said, tmp_path):
    file = tmp_path / "secret"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ConfigurationError, match=f"SWITCHBOARD_QDRANT_API_KEY_FILE={file} {said}"):
        load_settings(qdrant_api_key_file=file)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"kafka_sasl_username": "ada"}, "KAFKA_SECURITY_PROTOCOL=PLAINTEXT knows no user"),
        ({"kafka_ssl_ca_file": "ca.pem"}, "KAFKA_SECURITY_PROTOCOL=PLAINTEXT uses no TLS"),
        (SASL | {"kafka_sasl_username": ""}, "needs SWITCHBOARD_KAFKA_SASL_USERNAME and"),
        (SASL | {"kafka_sasl_mechanism": "GSSAPI"}, "PLAIN or SCRAM-SHA-256 or SCRAM-SHA-512 or OAUTHBEARER"),
    ],
)
def test_what_contradicts_itself_is_refused_with_the_way_out(given, said):
    with pytest.raises(ConfigurationError, match=said) as caught:
        load_settings(**given)
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_a_file_of_authorities_that_cannot_be_used_is_named(content, tmp_path):
    ca = tmp_path / "ca.pem"
    if content is not None:
        ca.write_text(content)
    with pytest.raises(ConfigurationError, match=f"SWITCHBOARD_KAFKA_SSL_CA_FILE={ca} cannot be used"):
        connection(load_settings(**SASL, kafka_ssl_ca_file=ca))
