"""recall/context-log: the latest context of each conversation in Redis, a view of ``memory.context.v1``.

A record without a value erases the contexts of its conversation; its header says whose that is.
"""

from __future__ import annotations

from models.context import Context
from models.errors import InvalidRecord
from models.messages import DEFAULT_TENANT
from processors.text.validation import decode
from streams.agents.contexts.requests import CONTEXTS
from streams.clients.erasures import TENANT_HEADER
from streams.clients.records import RecordBatch, header
from streams.config.settings import Settings
from streams.runtime.effects import Effects
from streams.runtime.stage import Stage, StateReader
from streams.stores.context_log import ContextLog


class ContextView:
    """The step around the contexts in Redis."""

    def __init__(self, settings: Settings, contexts: ContextLog) -> None:
        self._settings = settings
        self._contexts = contexts

    def stage(self) -> Stage:
        """Return the stage."""
        return Stage(
            name="context-log",
            sources=(CONTEXTS,),
            async_step=self.step,
            batch_records=8 * self._settings.call_batch_records,
            view_marks=self._contexts.marks,
        )

    async def step(self, batch: RecordBatch, state: StateReader) -> Effects:
        """Store the latest context of each conversation of the batch, for each person."""
        effects = Effects()
        latest: dict[tuple[str, str], dict[str, Context]] = {}
        erased: set[tuple[str, str]] = set()
        for record in batch.records:
            try:
                if record.value is None:
                    tenant = (header(record.headers, TENANT_HEADER) or DEFAULT_TENANT.encode()).decode()
                    gone = tenant, (record.key or b"").decode()
                    latest.pop(gone, None)
                    erased.add(gone)
                    continue
                context = decode(Context, record.value)
            except UnicodeDecodeError as error:
                effects.dead_letter(record, InvalidRecord("invalid_key", f"the key is not UTF-8: {error}"))
                continue
            except InvalidRecord as error:
                effects.dead_letter(record, error)
                continue
            of_all = latest.setdefault((context.tenant_id, context.conversation_id), {})
            known = of_all.get(context.user_id)
            if known is None or _is_later(context, known):
                of_all[context.user_id] = context
        for tenant, conversation in erased:
            await self._contexts.erase(tenant, conversation)
        await self._contexts.write([each for of_all in latest.values() for each in of_all.values()])
        await self._contexts.set_mark((batch.source, batch.partition), batch.next_position)
        return effects


def _is_later(context: Context, known: Context) -> bool:
    return (context.began_at, context.after_index, context.by_meaning) >= (
        known.began_at,
        known.after_index,
        known.by_meaning,
    )
