"""The ledger of erasures: which messages it refuses."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest
import samples

from models.erasures import ErasedPerson
from models.messages import ChatMessage
from models.turns import Turn
from models.windows import Window
from streams.agents.ingest.conversations import Conversations
from streams.agents.recall.turns import TURNS, Turns
from streams.clients.erasure_ledger import ErasureLedger, PersonHash
from streams.clients.topics import WINDOWS
from streams.config.settings import Settings
from streams.llm.tokenizer import cl100k_counter
from streams.runtime.testing import StageHarness

UNTIL = datetime(2026, 3, 1, 9, tzinfo=UTC)


def message(sent_at: datetime, user_id: str = "ada", tenant_id: str = "default") -> ChatMessage:
    return samples.message(0, sent_at=sent_at, user_id=user_id, tenant_id=tenant_id)


def ledger_of(settings: Settings, hashed: PersonHash) -> ErasureLedger:
    ledger = ErasureLedger(settings)
    person_id = hashed.of("default", "ada")
    ledger._set({person_id: ErasedPerson(person_id=person_id, key_id=hashed.key_id, until=UNTIL)})
    return ledger


@pytest.mark.parametrize(
    ("sent", "arrived", "refused"),
    [
        (timedelta(0), timedelta(hours=1), True),
        (timedelta(days=-400), timedelta(days=400), True),
        (timedelta(seconds=1), timedelta(hours=1), False),  # said afterwards
        (timedelta(days=-2), timedelta(days=-1), False),  # in the log before the erasure, which erases it
        (timedelta(days=-2), timedelta(seconds=9), False),  # not every service may know it yet
    ],
)
def test_messages_sent_before_the_erasure_are_refused_after(
    sent: timedelta, arrived: timedelta, refused: bool, tmp_path: Path
) -> None:
    settings = Settings(data_dir=tmp_path)
    ledger = ledger_of(settings, PersonHash(settings))
    assert ledger.refuses(message(UNTIL + sent), (UNTIL + arrived).timestamp()) is refused


def test_nobody_else_is_refused(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    ledger = ledger_of(settings, PersonHash(settings))
    late = (UNTIL + timedelta(days=1)).timestamp()
    assert not ledger.refuses(message(UNTIL, user_id="bea"), late)
    assert not ledger.refuses(message(UNTIL, tenant_id="acme"), late)


def test_an_erasure_under_another_key_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = Settings(data_dir=tmp_path / "here")
    own = PersonHash(settings)
    ledger = ledger_of(settings, PersonHash(Settings(data_dir=tmp_path / "elsewhere")))
    assert not ledger.refuses(message(UNTIL), (UNTIL + timedelta(days=1)).timestamp())
    assert "SWITCHBOARD_ERASURE_KEY_FILE" in capsys.readouterr().out
    assert own.of("default", "ada") not in "".join(map(str, tmp_path.rglob("*")))


def test_whoever_counts_messages_leaves_out_what_is_refused(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, window_size=2, window_overlap=0)
    ledger = ledger_of(settings, PersonHash(settings))
    start = UNTIL + timedelta(hours=1)
    late = msgspec.structs.replace(message(UNTIL), message_id="before")
    new = [msgspec.structs.replace(message(start), message_id=f"since-{number}") for number in range(2)]
    ingest = StageHarness(Conversations(settings, cl100k_counter(), ledger).stage(), start=start)
    recall = StageHarness(Turns(settings, ledger).stage(), start=start)
    for harness in (ingest, recall):
        harness.feed(*map(harness.record, (late, *new)))
    assert [each.message_ids for each in ingest.values(WINDOWS, Window)] == [("since-0", "since-1")]
    turns = recall.values(TURNS, Turn)
    assert [(each.message_id, each.index) for each in turns] == [("since-0", 0), ("since-1", 1)]
