"""Facts and vectors for the tests of the fact index."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import msgspec
import numpy as np
from numpy.typing import NDArray

from models import ids
from models.facts import Fact, FactChange, FactStatus, Provenance
from models.index import FactFilter, VectorSpace
from models.statements import Kind

DIMENSIONS = 8

SPACE = VectorSpace("words-1", DIMENSIONS)

ADA = FactFilter(user_id="ada")


def make_fact(statement: str = "Ada likes blueberries", **changes: object) -> Fact:
    user = str(changes.get("user_id", "ada"))
    tenant = str(changes.get("tenant_id", "default"))
    fact = Fact(
        fact_id=ids.text_fact_id(tenant, user, statement),
        slot_id=ids.slot_id(tenant, user, "", ""),
        user_id=user,
        kind=Kind.PREFERENCE,
        statement=statement,
        confidence=0.7,
        status=FactStatus.ACTIVE,
        change=FactChange.CREATED,
        version=1,
        evidence_count=1,
        provenance=(
            Provenance(
                conversation_id="c-1",
                window_id="w-1",
                window_end_id="m-10",
                message_ids=("m-3", "m-4"),
                quote="I like blueberries",
                topic="chat.messages.v1",
                partition=3,
                offsets=(41, 2**40),
                sent_at=datetime(2026, 3, 1, 12, 30, 16, tzinfo=UTC),
                arrived_at=datetime(2026, 3, 1, 12, 30, 16, tzinfo=UTC),
            ),
        ),
        valid_from=datetime(2026, 3, 1, 12, 30, 15, 123456, tzinfo=UTC),
        learned_at=datetime(2026, 3, 1, 14, 30, 16, tzinfo=timezone(timedelta(hours=2))),
        changed_at=datetime(2026, 3, 1, 14, 30, 16, tzinfo=timezone(timedelta(hours=2))),
        last_evidence_at=datetime(2026, 3, 1, 14, 30, 16, tzinfo=timezone(timedelta(hours=2))),
        tenant_id=tenant,
    )
    return msgspec.structs.replace(fact, **changes)


def unit(*numbers: float) -> NDArray[np.float32]:
    vector = np.zeros(DIMENSIONS, dtype=np.float32)
    vector[: len(numbers)] = numbers
    return vector / np.linalg.norm(vector)
