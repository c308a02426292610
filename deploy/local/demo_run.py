"""One run of the demo on parts that run: send, watch, ask, report."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

from deploy.local import demo_report as report
from deploy.local.demo_input import InputMessage
from deploy.local.demo_parts import Parts
from deploy.local.demo_send import response_id, send_messages, send_response
from deploy.local.demo_watch import View, Watcher
from models.errors import ConfigurationError, DependencyUnavailable, NotFound
from streams.cli import context, costs, search
from streams.clients import commands
from streams.clients.catalog import catalog_for
from streams.clients.kafka import broker
from streams.config.settings.services import SERVICES
from streams.queries import services
from streams.stores.search import Wanted

#: Questions about the people of the examples; the first whose person is known is asked.
_QUESTIONS = (("amara", "what does she like for breakfast?"), ("tomas", "which programming language?"))
_ANY_QUESTION = "what do they like?"

#: No change of anything for so long, with work left, means that something is stuck.
_PATIENCE_SECONDS = 120.0
_LOOK_SECONDS = 0.2


class Run:
    """Sends what was not sent before and waits until everything that follows from it has happened."""

    def __init__(
        self, parts: Parts, messages: Sequence[InputMessage], progress: report.Progress, response: str
    ) -> None:
        self._parts = parts
        self._settings = parts.settings
        self._catalog = catalog_for(parts.settings)
        self._messages = messages
        self._progress = progress
        self._response = response
        self._view = View((line.message for line in messages), response_id(response))
        self._sent = 0
        self._announced: set[str] = set()

    async def run(self) -> None:
        """Do everything and print it.

        Raises :class:`DependencyUnavailable` when a part ends by itself or nothing moves any more.
        """
        async with broker.reading(self._settings) as consumer:
            watcher = Watcher(consumer, self._catalog, self._view)
            self._progress.update("  reading what is there already")
            await watcher.catch_up(self._settings)
            self._announced |= self._view.summaries.keys()
            following = asyncio.create_task(watcher.follow())
            try:
                rates = await self._send_and_settle(watcher)
                await self._filter_a_response()
                await watcher.caught_up()
            finally:
                following.cancel()
                await asyncio.gather(following, return_exceptions=True)
        report.print_facts(self._view, _QUESTIONS[0][0])
        report.print_changes(self._view)
        await self._ask()
        report.print_response(self._response, list(self._view.duplicates.values()))
        report.print_rates(rates)
        if self._parts.model.name != "builtin":
            report.heading("What the model was asked for")
            costs.print_costs(await costs.costs(self._settings, costs.By.PURPOSE, None))

    async def _send_and_settle(self, watcher: Watcher) -> report.Rates:
        view = self._view
        fresh = [
            line
            for line in self._messages
            if (line.message.conversation_id, line.message.message_id) not in view.messages
        ]
        windows, episodes, facts = len(view.windows), len(view.episodes), len(view.facts)
        summaries = len(view.summaries)
        began = time.monotonic()
        # The context that is shown is made when its last message arrives: by then the rest is known.
        last = self._last_of_the_shown(fresh)
        others = [line for line in fresh if line is not last]
        sending = 0.0
        for part in [others] if last is None else [others, [last]]:
            started = time.monotonic()
            await send_messages(self._settings, self._catalog, part, self._tell_sent(len(fresh)))
            sending += time.monotonic() - started
            await self._close(part)
            await self._settle(part, len(fresh))
        await watcher.caught_up()
        return report.Rates(
            sent=len(fresh),
            there_before=len(self._messages) - len(fresh),
            sending=sending,
            windows=len(view.windows) - windows,
            episodes=len(view.episodes) - episodes,
            facts=len(view.facts) - facts,
            summaries=len(view.summaries) - summaries,
            settling=time.monotonic() - began,
        )

    def _last_of_the_shown(self, fresh: Sequence[InputMessage]) -> InputMessage | None:
        """Return the last message of the person whose context is shown, if it is not the only one."""
        people = {line.message.user_id for line in self._messages}
        user = next((user for user, _ in _QUESTIONS if user in people), None)
        latest = next((line for line in reversed(fresh) if line.message.user_id == user), None)
        return latest if len(fresh) > 1 else None

    async def _close(self, sent: Sequence[InputMessage]) -> None:
        """Say that the conversations are over: they are history, and nobody waits for their next message."""
        ended = dict.fromkeys((line.message.conversation_id, line.message.tenant_id) for line in sent)
        await commands.send(self._settings, [commands.closing(*each) for each in ended])

    async def _settle(self, sent: Sequence[InputMessage], total: int) -> None:
        """Wait until each message is in a window and nothing is left to read: every vector is stored.

        ``total``: how many messages this run sends.
        """
        view = self._view
        needed = {(line.message.conversation_id, line.message.message_id) for line in sent}
        moved, calm = time.monotonic(), 0
        before: tuple[int, ...] = ()
        while calm < 2:
            self._parts.check()
            behind = await self._behind()
            self._announce_summaries()
            # One stage feeds the next: how much is left grows and falls, so only who still reads is shown.
            self._show(total, ", ".join(service for service, lag in behind.items() if lag) or "none")
            finished = needed <= view.windowed and not any(behind.values())
            calm = calm + 1 if behind and finished and await self._ready() else 0
            now = (len(view.windows), len(view.facts), *behind.values())
            if now != before:
                moved, before = time.monotonic(), now
            elif time.monotonic() - moved > _PATIENCE_SECONDS:
                raise await self._stuck(len(needed - view.windowed), behind)
            await asyncio.sleep(_LOOK_SECONDS)

    async def _behind(self) -> dict[str, int]:
        """Return how many records each service has yet to read; nothing if the broker is not able to say.

        A broker that has just started cannot for a moment; if it stays so, nothing moves any more.
        """
        sources = services.sources_by_group(self._settings)
        try:
            lags = await broker.group_lags(self._settings, sources)
        except DependencyUnavailable:
            return {}
        return {
            service: sum(row.lag for row in lags if row.group == self._settings.group(service))
            for service in SERVICES
        }

    async def _ready(self) -> bool:
        reports = await services.ask_services(self._settings, self._parts.metrics_ports)
        return all(row.ready for row in reports)

    async def _stuck(self, missing: int, behind: dict[str, int]) -> DependencyUnavailable:
        reports = await services.ask_services(self._settings, self._parts.metrics_ports)
        reasons = [f"{row.service}: {'; '.join(row.reasons) or 'ready'}" for row in reports]
        return DependencyUnavailable(
            "the demo",
            f"nothing has moved for {_PATIENCE_SECONDS:.0f} s; {missing:,} messages are in no window, left to "
            f"read: {behind}; {' | '.join(reasons)}. The logs in {self._parts.folder / 'logs'} say more",
        )

    def _announce_summaries(self) -> None:
        for summary_id in self._view.summaries.keys() - self._announced:
            self._announced.add(summary_id)
            self._progress.say(f"  {report.summary_line(self._view.summaries[summary_id])}")

    def _tell_sent(self, total: int) -> Callable[[int], None]:
        before = self._sent

        def tell(number: int) -> None:
            self._sent = before + number
            self._show(total, "")

        return tell

    def _show(self, total: int, behind: str) -> None:
        view = self._view
        sent = f"sent {self._sent:,}/{total:,}" if total else "nothing new to send"
        self._progress.update(
            f"  {sent} | windows {len(view.windows):,} | facts {len(view.facts):,} | "
            f"summaries {len(view.summaries):,}{f' | still reading: {behind}' if behind else ''}"
        )

    async def _filter_a_response(self) -> None:
        """Stream a response as a model would, unless a run before has, and wait until it has come back."""
        if not self._view.response_is_complete:
            await send_response(self._settings, self._catalog, self._response)
        self._progress.update("  streaming a response")
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not await self._is_filtered():
            self._parts.check()
            if time.monotonic() > deadline:
                raise await self._stuck(0, {"respond": 1})
            await asyncio.sleep(_LOOK_SECONDS)
        self._progress.clear()

    async def _is_filtered(self) -> bool:
        """Tell whether the end of the response has come back, and with it each repetition that was found.

        The two are in topics of their own, and where a machine is busy one is there long before the other.  Of
        what the service has read to the end it has written all.
        """
        return self._view.response_is_complete and (await self._behind()).get("respond") == 0

    async def _ask(self) -> None:
        people = {fact.user_id for fact in self._view.known}
        if not people:
            return
        questions = [(user, query) for user, query in _QUESTIONS if user in people]
        user, query = questions[0] if questions else (min(people), _ANY_QUESTION)
        report.print_search(query, user, (await self._search(query, user)).results)
        await self._show_context(user)

    async def _show_context(self, user: str) -> None:
        """Print the context for the next turn of the latest conversation; the API answers by now."""
        latest = next(line.message for line in reversed(self._messages) if line.message.user_id == user)
        try:
            answer = await context.find(self._settings, latest.tenant_id, user, latest.conversation_id)
        except NotFound:
            return  # of a conversation sent long ago nothing is kept any more
        report.print_context(answer)

    async def _search(self, query: str, user: str) -> search.Answer:
        """Ask the API, which opens a moment after its service is ready."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                return await search.search(self._settings, Wanted(query=query, user_id=user))
            except (ConfigurationError, DependencyUnavailable):
                self._parts.check()
                if time.monotonic() > deadline:
                    raise
            await asyncio.sleep(_LOOK_SECONDS)
