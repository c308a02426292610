"""Summary requests of a conversation, and the use of their answers (requirement 5.2).

:mod:`.token_table` says when and which messages; here they are put into a request, and the summary is kept.
"""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import accumulate

import msgspec

from models import ids
from models.summaries import Summary
from processors.conversations import token_table
from processors.conversations.bodies import Bodies
from processors.conversations.drafts import SummaryRequestDraft, joined, source_of
from processors.conversations.sequence import Sequencer
from processors.conversations.state import ConversationPolicy, ConversationState, Kept, KeptSummary
from processors.conversations.token_table import RequestPlan, TokenTable

_encode = msgspec.json.Encoder().encode

#: Bytes of encoded messages that a request may carry, a little less than its topic takes.  A larger request
#: could not be published, and neither it nor any later message of its conversation would ever be folded.
REQUEST_BYTES = 2_000_000


class Summarizing:
    """The token table of one conversation, and the requests that follow from it.

    ``counts`` are the tokens of messages that the table does not hold yet; ``requests`` are to be published.
    """

    __slots__ = (
        "_bodies",
        "_conversation_id",
        "_policy",
        "_sequence",
        "_source_topic",
        "counts",
        "requests",
        "summaries",
        "tokens",
    )

    def __init__(
        self,
        conversation_id: str,
        state: ConversationState,
        policy: ConversationPolicy,
        sequence: Sequencer,
        bodies: Bodies,
        source: tuple[str, int],
    ) -> None:
        self._conversation_id = conversation_id
        self._policy = policy
        self._sequence = sequence
        self._bodies = bodies
        self._source_topic = source
        self.tokens = state.tokens
        self.summaries = state.summaries
        self.counts: list[int] = []
        self.requests: list[SummaryRequestDraft] = []

    def count(self, now: float) -> None:
        """Enter ``counts`` into the table, and ask for a summary if one is due (``now``: epoch seconds)."""
        self.tokens = token_table.add(self.tokens, self.counts)
        self.counts.clear()
        if self.tokens.open is None:
            plan = token_table.due(self.tokens, self._policy.token_threshold)
            if plan is not None:
                self._ask(plan, now)

    def repeat(self, now: float) -> None:
        """Ask again for what was not answered, if that is overdue (``now``: epoch seconds)."""
        plan = token_table.repeat_due(self.tokens, now, self._policy.summary_retry_seconds)
        if plan is not None:
            self._ask(plan, now)

    def answer(self, summary: Summary) -> bool:
        """Take a summary; ``False`` if it does not answer the open request (a duplicate, a late answer).

        One that is refused for its length is an answer too, but nothing of it is kept.
        """
        request, refused = self.tokens.open, token_table.is_refused(self.tokens, summary.tokens)
        tokens = token_table.accept(self.tokens, summary.request_id, summary.summary_id, summary.tokens)
        if tokens is self.tokens or request is None:
            return False
        self.tokens = tokens
        if refused:
            return True
        source, content = summary.source, _encode(summary.summary)
        kept = KeptSummary(content, source.first_offset, source.last_offset, request.arrived_at)
        self.summaries = (kept,) if request.roll_up else (*self.summaries, kept)
        return True

    def begin_anew(self, from_index: int) -> None:
        """Know nothing of what came before the message ``from_index``."""
        self.tokens, self.summaries = TokenTable(from_index), ()

    def _ask(self, plan: RequestPlan, now: float) -> None:
        if plan.roll_up:
            messages: list[Kept] = []
            previous = tuple([msgspec.Raw(summary.body) for summary in self.summaries])
            request_id = ids.roll_up_id(self._sequence.tenant_id, self._conversation_id, plan.replaces)
            first = min(summary.first_offset for summary in self.summaries)
            last = max(summary.last_offset for summary in self.summaries)
            arrived = max(summary.arrived_at for summary in self.summaries)
        else:
            messages = _fitting(self._bodies.between(plan.from_index, plan.to_index))
            if len(messages) <= plan.to_index - plan.from_index:
                plan = token_table.shortened(self.tokens, plan, plan.from_index + len(messages) - 1)
            begins, ends = messages[0], messages[-1]
            request_id = ids.summary_id(
                self._sequence.tenant_id, self._conversation_id, begins.message_id, ends.message_id
            )
            previous, first, last, arrived = (), begins.offset, ends.offset, ends.arrived_at
        self.requests.append(
            SummaryRequestDraft(
                request_id,
                self._conversation_id,
                self._sequence.user_id,
                plan.from_index,
                plan.to_index,
                joined(messages),
                plan.tokens,
                self._policy.token_threshold,
                source_of(self._source_topic, first, last),
                datetime.fromtimestamp(arrived, UTC),
                previous,
                plan.replaces,
                plan.roll_up,
                plan.attempt,
                self._sequence.tenant_id,
            )
        )
        self.tokens = token_table.opened(self.tokens, plan, request_id, now, arrived_at=arrived)


def _fitting(messages: list[Kept]) -> list[Kept]:
    """Return as many of the first messages as a request can carry, at least one."""
    ends = accumulate(len(message.body) + 1 for message in messages)
    fitting = sum(end <= REQUEST_BYTES for end in ends)
    return messages[: max(1, fitting)]
