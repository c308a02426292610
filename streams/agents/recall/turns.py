"""recall/turns: every message becomes a turn, at its absolute index and without what must not be stored, and
asks for its vector.

It reads along with ``ingest``, which answers for what is wrong with the log: invalid messages, those of another
tenant, records without a key or in the wrong partition are dead-lettered or put right there, and passed over
here.  Messages are counted by the same sequencer, so a turn has the index that the windows say.  What is kept
of a turn elsewhere is a view of ``memory.turns.v1``.
"""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from models.errors import InvalidRecord
from models.messages import ChatMessage, Punctuation, PunctuationKind
from models.vectors import TurnPlace, VectorKind
from processors.facts.merging.sayings import saying_of
from processors.facts.recurring.sentences import requests_for
from processors.retrieval.embedding.wording import EMBEDDED_CHARACTERS, request_for
from processors.retrieval.recall.turns import TurnFold, TurnsState
from streams.agents import id_pages
from streams.agents.contexts import requests as context_requests
from streams.agents.emitting import emit
from streams.agents.masking import mask_of
from streams.agents.message_log import decode_item, fold_into, taken
from streams.agents.recall.punctuations import TURNS, punctuate
from streams.agents.vectors import requests as embedding_requests
from streams.clients import cloudevents, erasures
from streams.clients.erasure_ledger import NobodyErased, Refusing
from streams.clients.records import SourceRecord
from streams.clients.topics import MESSAGES
from streams.config.settings import Settings
from streams.runtime.codec import Codec
from streams.runtime.keyed import Run, Source, Work, keyed_stage
from streams.runtime.stage import Stage

__all__ = ["TURNS", "Turns"]

STATE: Codec[TurnsState] = Codec(
    "turns",
    TurnsState,
    version=2,
    older={1: msgspec.msgpack.Decoder(TurnsState).decode},  # without pages of message ids
)


class Asked(msgspec.Struct, frozen=True, array_like=True):
    """Up to which arrival (epoch seconds) vectors were asked for by a table that was forgotten since."""

    until: float


ASKED: Codec[Asked] = Codec("asked", Asked)


def asked_key(partition: int) -> bytes:
    """Return the key under which :class:`Asked` is stored; no conversation is called so."""
    return f"\x00asked/{partition}".encode()


#: The settings that decide which messages count and what is said of them.
DECIDING = (
    "conversation_forget_days",
    "max_content_bytes",
    "mask",
    "mask_patterns",
    "recurring_fact_similarity",
    "metadata_keys",
)

_SOURCE = "/switchboard/recall"


class Turns:
    """Handlers of messages and punctuations.  ``ledger``: as that of the ingest stage."""

    def __init__(self, settings: Settings, ledger: Refusing | None = None) -> None:
        self._settings = settings
        self._ledger = ledger or NobodyErased()
        self._forget_seconds = settings.conversation_forget_days * 86_400
        self._mask = mask_of(settings)

    def stage(self) -> Stage:
        """Return the stage."""
        return keyed_stage(
            name="turns",
            table="turns",
            codec=STATE,
            others=(ASKED, id_pages.IDS),
            sources={MESSAGES: Source(decode=self._decode, fold=self._fold, key=_key)},
            batch_records=self._settings.batch_records,
            decided_by=self._settings.chosen(*DECIDING),
            observes_only=True,
        )

    def _decode(self, record: SourceRecord) -> ChatMessage | Punctuation | None:
        if record.key is None:
            return None  # it comes again under its key
        try:
            return decode_item(record, self._settings.max_content_bytes)
        except InvalidRecord:
            return None  # the ingest service has dead-lettered it

    def _fold(
        self, before: TurnsState | None, run: Run[ChatMessage | Punctuation | None], work: Work
    ) -> TurnsState | None:
        items = taken([(item, record) for item, record in run.items if item is not None], self._ledger)
        fold = TurnFold(
            run.key.decode(),
            before or TurnsState(),
            forget_seconds=self._forget_seconds,
            load_ids=id_pages.loading(run.key, work),
            source=(MESSAGES, run.last.partition),
            mask=self._mask,
            metadata_keys=self._settings.searched_metadata,
        )
        if duplicates := fold_into(fold, items) + fold.duplicates:
            work.skip("duplicate", by=duplicates)
        asked = work.get(asked_key(run.last.partition), ASKED)
        asked_until = asked.until if asked is not None else 0.0
        causes = {record.offset: record.headers for _, record in items if record.headers}
        for number, turn in enumerate(fold.turns):
            self._end(fold, number, run.key, work)
            cause = cloudevents.incoming(causes.get(turn.source.offset))
            emit(work, turn, cause=cause)
            text = turn.text[:EMBEDDED_CHARACTERS].strip()
            if text and turn.arrived_at.timestamp() > asked_until:
                place = TurnPlace(
                    conversation_id=turn.conversation_id, began_at=turn.began_at, index=turn.index
                )
                request = request_for(
                    VectorKind.TURN, turn.turn_id, text, turn.user_id, turn.tenant_id, place, saying_of(turn)
                )
                embedding_requests.ask(work, request, _SOURCE)
                for each in requests_for(turn) if self._settings.looks_for_recurring else ():
                    embedding_requests.ask(work, each, _SOURCE)
        self._end(fold, len(fold.turns), run.key, work)
        for tenant_id, user_id, arrived in fold.erasures:
            until = datetime.fromtimestamp(arrived, UTC)
            erasure = erasures.Erasing(tenant_id, run.key.decode(), user_id, until)
            erasures.announce(work, TURNS, erasure, run.last.partition, _SOURCE)
            # Behind what was asked for before: only who makes contexts knows when the last of those is written.
            requests = context_requests.CONTEXT_REQUESTS
            erasures.announce_by_key(work, requests, erasure, run.last.partition, _SOURCE)
        # Neither for what was asked for before a reset, nor with what an erasure in this run was about.
        since = max([asked_until, *[arrived for _, _, arrived in fold.erasures]])
        context_requests.ask_after(work, [turn for turn in fold.turns if turn.arrived_at.timestamp() > since])
        for kind, count in fold.masked.items():
            work.count("masked_passages_total", kind, by=count)
        if not fold.changed:
            return before
        after = fold.finish()
        id_pages.store(run.key, fold.id_pages, work)
        return after

    @staticmethod
    def _end(fold: TurnFold, number: int, conversation: bytes, work: Work) -> None:
        """Say among the turns that the conversation was over, if it was after ``number`` of them."""
        if (end := fold.ends.get(number)) is not None:
            punctuate(
                work, PunctuationKind.CLOSE, end.tenant_id, conversation.decode(), end.began_at, end.before
            )


def _key(item: ChatMessage | Punctuation | None) -> bytes:
    """Return the conversation; what says nothing is folded into none."""
    return item.conversation_id.encode() if item is not None else b""
