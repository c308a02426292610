"""The certificate of an erasure: signed here, verified anywhere, and refused once a byte of it was changed."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from models.errors import ConfigurationError, InvalidRecord, NotFound
from streams.cli import main
from streams.clients.erasure_key import public_key, signing_key
from streams.config.settings import Settings
from streams.queries.erasure import certificate
from streams.queries.erasure.certificate import Certificate, issue, verify
from streams.queries.erasure.receipts import Asked, of_person, seal, unseal

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path, backups="nightly=35, yearly=400")


def issued(settings: Settings, user: str = "ada") -> bytes:
    return issue(
        settings,
        of_person("default", user, ["c-2", "c-1"], NOW, 0),
        cluster_id="abc",
        issued_at=NOW,
        version="0.1.0",
        stores=[*certificate.topics(settings, NOW), *certificate.backups(settings, NOW)],
    )


def test_the_ledger_of_erasures_is_said_to_stay(settings: Settings) -> None:
    [ledger] = [each for each in verify(issued(settings)).stores if each.store == "topic memory.erasures.v1"]
    assert (ledger.state, ledger.gone_by) == ("remains", None)


def test_a_certificate_says_where_what_remains_until_when(settings: Settings) -> None:
    told = verify(issued(settings))
    assert (told.user_id, told.conversation_ids, told.erased_until) == ("ada", ("c-1", "c-2"), NOW)
    gone = {each.store: each.gone_by for each in told.stores}
    assert gone["backup nightly"] == NOW + timedelta(days=35)
    assert gone["topic memory.facts.v1"] == NOW + timedelta(days=1)
    messages = gone["topic chat.messages.v1"]
    assert messages is not None and timedelta(days=30) <= messages - NOW <= timedelta(days=40)
    assert "topic chat.messages.v1.dlq" in gone and "topic switchboard-memory-facts-changelog" in gone


def test_a_certificate_names_every_generation(settings: Settings) -> None:
    gone = {each.store: each.gone_by for each in certificate.topics(settings, NOW, ["b"])}
    assert gone["topic generation-b.memory.facts.v1"] == gone["topic memory.facts.v1"]
    assert "topic generation-b.chat.messages.v1" not in gone, "all generations share it"
    assert certificate.other_views("", [""]) == []
    for serving, unasked in (("", "views of generation b"), ("b", "views of generation live")):
        [other] = certificate.other_views(serving, ["", "b"])
        assert (other.store, other.state) == (unasked, "unchecked")


@pytest.mark.parametrize(
    ("qdrant_url", "told"),
    [("", ("remains", NOW + timedelta(hours=1))), ("http://qdrant:6333", ("unchecked", None))],
)
def test_a_certificate_says_by_when_files_of_indexes_are_clean(
    qdrant_url: str, told: tuple[str, datetime | None], settings: Settings
) -> None:
    served = settings.model_copy(update={"qdrant_url": qdrant_url})
    found = {each.store: (each.state, each.gone_by) for each in certificate.elsewhere(served, 0, NOW)}
    assert found["files of the indexes"] == told


@pytest.mark.parametrize("change", ["adb", "ad", "eve"])
def test_a_changed_certificate_is_refused(settings: Settings, change: str) -> None:
    text = issued(settings).replace(b'"ada"', json.dumps(change).encode())
    with pytest.raises(InvalidRecord, match="changed after it was signed"):
        verify(text)


@pytest.mark.parametrize("text", [b"", b"{}", b"[1]", b'{"signature": "!"}', b"\xff"])
def test_another_file_is_no_certificate(text: bytes) -> None:
    with pytest.raises(InvalidRecord, match="no certificate"):
        verify(text)


def test_the_certificate_of_another_deployment_is_refused(settings: Settings, tmp_path: Path) -> None:
    other = public_key(signing_key(Settings(data_dir=tmp_path / "other")))
    own = public_key(signing_key(settings))
    assert isinstance(verify(issued(settings), own), Certificate)
    with pytest.raises(InvalidRecord, match="another deployment"):
        verify(issued(settings), other)


def test_the_key_stays_and_is_its_owners(settings: Settings) -> None:
    first = public_key(signing_key(settings))
    assert public_key(signing_key(settings)) == first
    assert (settings.folder / "erasure-key.pem").stat().st_mode & 0o777 == 0o600


def test_a_file_without_a_key_is_refused(settings: Settings, tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    path.write_text("no key")
    with pytest.raises(ConfigurationError, match="SWITCHBOARD_ERASURE_KEY_FILE"):
        signing_key(settings.model_copy(update={"erasure_key_file": path}))


def test_a_backup_without_days_is_refused(settings: Settings) -> None:
    with pytest.raises(ConfigurationError, match="nightly=35"):
        certificate.backups(settings.model_copy(update={"backups": "nightly"}), NOW)


def test_nothing_is_erased_if_the_certificate_could_not_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SWITCHBOARD_DATA_DIR", str(tmp_path))
    (tmp_path / "there").write_text("x")
    for path in (tmp_path / "there", tmp_path / "no" / "folder"):
        assert main.run(["erase", "person", "ada", "--yes", "--certificate", str(path)]) == 78
        assert "nothing was erased" in capsys.readouterr().err


def test_verify_needs_nothing_that_runs(
    settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "ada.json"
    path.write_bytes(issued(settings))
    assert main.run(["erase", "verify", str(path)]) == 0
    assert "ada of tenant default was erased" in capsys.readouterr().out
    path.write_bytes(path.read_bytes().replace(b"c-1", b"c-9"))
    assert main.run(["erase", "verify", str(path)]) == 65


def test_an_erasure_is_known_by_id_with_the_key(settings: Settings, tmp_path: Path) -> None:
    key = signing_key(settings)
    asked = Asked("default", "conversation", "ada", "ada", ("c-1",), NOW, 2)
    erasure_id = seal(asked, key)
    assert unseal(erasure_id, key) == asked
    assert "ada" not in erasure_id and erasure_id.isascii() and "/" not in erasure_id
    other = signing_key(Settings(data_dir=tmp_path / "other"))
    for text, reader in ((erasure_id, other), (erasure_id[:-2] + "AA", key), ("", key), ("é", key)):
        with pytest.raises(NotFound):
            unseal(text, reader)


def test_a_person_of_many_conversations_has_a_short_id(settings: Settings) -> None:
    key = signing_key(settings)
    asked = of_person("default", "ada", [f"conversation-{number}" for number in range(10_000)], NOW, 0)
    erasure_id = seal(asked, key)
    assert len(erasure_id) < 4_000
    assert unseal(erasure_id, key) == asked._replace(conversation_ids=())
