"""Messages become turns: at their absolute index, with their speaker's name, without what is to be masked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec

from models import ids
from models.messages import ChatMessage
from models.turns import Turn, TurnSource, metadata_text
from processors.conversations.message_ids import IdPage, LoadIds
from processors.conversations.sequence import Sequencer, SequenceState
from processors.retrieval.recall.masking import Mask

#: A longer name is none.
_LONGEST_NAME = 256


class TurnsState(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """State of a conversation: its sequence, and the arrival of its message 0 (epoch seconds)."""

    sequence: SequenceState = SequenceState()
    began_at: float = 0.0


class End(NamedTuple):
    """Before the turn ``before`` of the life that began at ``began_at``, the conversation was over."""

    tenant_id: str
    began_at: datetime
    before: int


class TurnFold:
    """Folds a run of one conversation's messages into its turns.

    ``turns`` collects them, ``masked`` what was replaced in them, by kind, ``ends`` where somebody said that
    the conversation was over: after how many of ``turns``; ``erasures`` are those that were asked for, as
    (tenant, person or ``""``, arrival in epoch seconds).  ``source`` is the topic and the partition that the
    messages come from; ``metadata_keys`` are the fields of ``metadata`` that turns keep.  Nothing here reads a
    clock.
    """

    def __init__(
        self,
        conversation_id: str,
        state: TurnsState,
        *,
        forget_seconds: float,
        load_ids: LoadIds,
        source: tuple[str, int],
        mask: Mask,
        metadata_keys: Sequence[str] = (),
    ) -> None:
        self._conversation_id = conversation_id
        self._sequence = Sequencer(state.sequence, forget_seconds, load_ids)
        self._began_at = state.began_at
        self._source = source
        self._mask = mask
        self._metadata_keys = metadata_keys
        self.turns: list[Turn] = []
        self.erasures: list[tuple[str, str, float]] = []
        self.masked: Counter[str] = Counter()
        self.ends: dict[int, End] = {}

    @property
    def changed(self) -> bool:
        """True if there is anything to store."""
        return self._sequence.changed

    @property
    def duplicates(self) -> int:
        """How many messages were seen before."""
        return self._sequence.duplicates

    @property
    def id_pages(self) -> Mapping[IdPage, bytes | None]:
        """The pages of message ids to store (:class:`MessageIds`)."""
        return self._sequence.ids.pages

    def is_second_copy(self, origin: str, offset: int, came: float, arrived: float) -> bool:
        """Say whether a record was copied here before (:meth:`Sequencer.is_second_copy`)."""
        return self._sequence.is_second_copy(origin, offset, came, arrived)

    def add(self, run: Iterable[tuple[ChatMessage, int, float]]) -> None:
        """Take the next messages, in offset order: (message, offset, time of the record in epoch seconds)."""
        for index, message, offset, arrived in self._sequence.place(run):
            assert message is not None  # silences are not asked for
            if not index:
                self._began_at = arrived
            self.turns.append(self._turn(index, message, offset, arrived))

    def tick(self, arrived: float) -> None:
        """A punctuation arrived (epoch seconds): what was silent too long until then is forgotten."""
        self._sequence.forget(arrived)

    def close(self, tenant_id: str, offset: int) -> None:
        """Somebody says that the conversation is over: that ends an episode, and changes no turn."""
        if self._sequence.next_index and tenant_id == self._sequence.tenant_id:
            began_at = datetime.fromtimestamp(self._began_at, UTC)
            self.ends[len(self.turns)] = End(tenant_id, began_at, self._sequence.next_index)

    def erase(self, tenant_id: str, user_id: str, offset: int, arrived: float) -> None:
        """Somebody of this tenant wants gone what was said until now, by a person or (``""``) by everybody."""
        if self._sequence.erase(tenant_id, user_id, offset, arrived):
            self.erasures.append((tenant_id, user_id, arrived))

    def finish(self) -> TurnsState | None:
        """Return the new state; ``None``: the conversation is forgotten."""
        sequence = self._sequence.state()
        return None if sequence is None else TurnsState(sequence, self._began_at)

    def _turn(self, index: int, message: ChatMessage, offset: int, arrived: float) -> Turn:
        text, masked = self._mask(message.content)
        speaker, named = self._mask(speaker_of(message.metadata))
        masked += named
        metadata: dict[str, str] = {}
        for key in self._metadata_keys:
            if (value := metadata_text(message.metadata.get(key))) is not None:
                metadata[key], hidden = self._mask(value)
                masked += hidden
        self.masked += masked
        topic, partition = self._source
        return Turn(
            turn_id=ids.turn_id(message.tenant_id, self._conversation_id, message.message_id),
            message_id=message.message_id,
            conversation_id=self._conversation_id,
            user_id=message.user_id,
            role=message.role,
            text=text,
            sent_at=message.sent_at,
            arrived_at=datetime.fromtimestamp(arrived, UTC),
            began_at=datetime.fromtimestamp(self._began_at, UTC),
            index=index,
            source=TurnSource(topic=topic, partition=partition, offset=offset),
            speaker=speaker,
            masked=masked.total(),
            tenant_id=message.tenant_id,
            metadata=metadata,
        )


def speaker_of(metadata: dict[str, Any]) -> str:
    """Return the name under which a message was said: ``metadata.name``; ``""`` if that is no name."""
    name = metadata.get("name")
    if not isinstance(name, str):
        return ""
    name = " ".join(name.split())
    return name if len(name) <= _LONGEST_NAME and name.isprintable() else ""
