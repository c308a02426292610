"""Asking a language model: from the memo, or within limits and budget, and into the memo before it is used.

::

    questions ─► known? ─► the tenant's budget left? ─► grouped by person ─► limiter ─► call ─► memo ─► answers

What was answered before is not asked again.  What cannot be answered now is to be tried later, and what was
answered meanwhile is in the memo by then.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

import msgspec

from models.errors import DependencyUnavailable, Unanswered
from models.memo import Erased, Memo, Outcome, memo_id
from models.ports import TryLater
from models.windows import WindowMessage
from processors.prompts.prompt import Prompt
from processors.text.tokens import TokenCounter
from streams.adapters.gemini.account import Account, Call, pause_of
from streams.adapters.gemini.answers import Declined, Said
from streams.adapters.gemini.client import GeminiClient
from streams.adapters.gemini.failures import DEPENDENCY, Throttled
from streams.adapters.gemini.limiter import Limiter
from streams.adapters.memo.memo import MemoLog
from streams.settings import Settings
from streams.telemetry.metrics import Metrics

#: Of the time that a stage's step may take, how much is spent on waiting and calling.
_SHARE_OF_STEP = 0.8

#: What else an answer depends on, besides prompt, model and material: how it is sampled.
PARAMETERS = "temperature=0"

#: Characters of an answer that are kept: what is longer was not asked for.
_MOST_CHARACTERS = 200_000


class Question(NamedTuple):
    """What is asked about a person: ``asked`` is all that the answer depends on, besides prompt and model.

    ``said``: who said what it is about, and when that arrived.
    """

    tenant_id: str
    user_id: str
    conversation_id: str
    asked: str
    said: tuple[tuple[str, datetime], ...] = ()


class Purpose(Protocol):
    """What the questions of a purpose have in common.

    ``compose`` writes the prompt about some questions of one person, given by their numbers; ``divide`` cuts
    its answer into one for each of them, "" where there is none.
    """

    name: str
    version: str
    per_call: int

    def compose(self, numbers: Sequence[int]) -> Prompt: ...
    def divide(self, answer: str, numbers: Sequence[int]) -> Sequence[str]: ...


class Asking:
    """What every purpose is asked through.  ``count`` estimates the tokens of a prompt."""

    def __init__(
        self,
        settings: Settings,
        client: GeminiClient,
        limiter: Limiter,
        memos: MemoLog,
        metrics: Metrics,
        count: TokenCounter,
    ) -> None:
        self.model = settings.gemini_model
        self._settings = settings
        self.client = client
        self.limiter = limiter
        self.memos = memos
        self._metrics = metrics
        self._count = count
        self.account = Account(settings, self.model, memos, metrics)
        self._schemas: dict[str, int] = {}

    def tokens_of(self, prompt: Prompt) -> int:
        """Estimate the tokens that are paid for a prompt, in: those of the schema of its answer, too."""
        if (schema := self._schemas.get(prompt.version)) is None:
            schema = self._schemas[prompt.version] = self._count(json.dumps(prompt.schema))
        return self._count(prompt.system) + self._count(prompt.user) + schema

    async def answers(self, purpose: Purpose, questions: Sequence[Question]) -> list[Memo | TryLater | Erased]:
        """Return what became of each question, in their order; ``Erased``: nobody is asked about what is.

        Raises:
            DependencyUnavailable: memo or limiter cannot be reached; what was answered is in the memo.
        """
        ids = [
            memo_id(purpose.version, self.model, PARAMETERS, each.tenant_id, each.user_id, each.asked)
            for each in questions
        ]
        found: dict[str, Memo | TryLater] = {**await self.memos.find(ids)}
        erased = await self._erased(questions, ids, found)
        self._metrics.model_questions_total.labels(purpose.name, "memo").inc(
            sum(key in found for number, key in enumerate(ids) if number not in erased)
        )
        self._metrics.model_questions_total.labels(purpose.name, "erased").inc(len(erased))
        new = {
            key: number
            for number, key in reversed([*enumerate(ids)])
            if key not in found and number not in erased
        }
        deadline = asyncio.get_running_loop().time() + _SHARE_OF_STEP * self._settings.step_timeout_seconds
        groups = _groups(sorted(new.values()), questions, purpose.per_call)
        errands = [_Errand(self, purpose, questions, ids, deadline) for _ in groups]
        try:
            async with asyncio.TaskGroup() as tasks:
                for errand, group in zip(errands, groups, strict=True):
                    tasks.create_task(errand.run(group))
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from None
        for errand in errands:
            found |= errand.found
        if new:
            # What was erased meanwhile: who erased it may have looked before the answer was there.
            erased |= await self._erased(questions, ids, found)
        return [erased[number] if number in erased else found[key] for number, key in enumerate(ids)]

    async def _erased(
        self, questions: Sequence[Question], ids: Sequence[str], found: Mapping[str, Memo | TryLater]
    ) -> dict[int, Erased]:
        """Return the questions, by number, that are about what was erased; what was answered to them goes."""
        about = [(each.tenant_id, each.conversation_id) for each in questions if each.said]
        known = await self.memos.erased(about) if about else {}
        erased = {
            number: until
            for number, each in enumerate(questions)
            if (until := known.get((each.tenant_id, each.conversation_id))) is not None
            and until.touches(each.said)
        }
        wanted = {key for number, key in enumerate(ids) if number not in erased}
        answers = [found[ids[number]] for number in erased if ids[number] in found.keys() - wanted]
        if gone := [each for each in answers if isinstance(each, Memo)]:
            await self.memos.erase(gone)
        return erased


def said_in(messages: Iterable[WindowMessage]) -> tuple[tuple[str, datetime], ...]:
    """Return who said something in messages, and when it arrived."""
    return tuple((each.user_id, each.arrived_at) for each in messages)


def unavailable(answer: TryLater) -> DependencyUnavailable:
    """Return the error that a question without an answer is, for who has no other."""
    kind = Unanswered if answer.unanswered else DependencyUnavailable
    return kind(DEPENDENCY, answer.message.removeprefix(f"{DEPENDENCY}: "))


def _groups(numbers: Sequence[int], questions: Sequence[Question], size: int) -> list[list[int]]:
    """Put together what may be asked in one call: questions about one person, in their order."""
    by_person: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for number in numbers:
        by_person[questions[number].tenant_id, questions[number].user_id].append(number)
    return [own[at : at + size] for own in by_person.values() for at in range(0, len(own), size)]


class _Errand:
    """Some questions about one person, on their way to the model and back."""

    def __init__(
        self,
        asking: Asking,
        purpose: Purpose,
        questions: Sequence[Question],
        ids: Sequence[str],
        deadline: float,
    ) -> None:
        self._asking = asking
        self._purpose = purpose
        self._questions = questions
        self._ids = ids
        self._deadline = deadline
        self.found: dict[str, Memo | TryLater] = {}
        #: Tokens of calls that answered nothing, which the next answer bears.
        self._owed = 0, 0

    async def run(self, group: Sequence[int]) -> None:
        """Ask about a group in one call, and what that leaves open each alone."""
        asking, tenant = self._asking, self._questions[group[0]].tenant_id
        prompt = self._purpose.compose(group)
        tokens = asking.tokens_of(prompt)
        most = asking.account.cost(tokens, prompt.most_tokens)
        async with asking.account.reserve(tenant, most) as granted:
            if not granted:
                await self._write(self._memo(number, Outcome.OVER_BUDGET) for number in group)
                return
            try:
                said = await self._call(prompt, tokens + prompt.most_tokens // len(group) // 4)
            except DependencyUnavailable as error:
                if error.dependency != DEPENDENCY:
                    raise
                later = TryLater(str(error), unanswered=isinstance(error, Unanswered))
                self.found |= {self._ids[number]: later for number in group}
                return
            # Before it is let go of: in between nobody would count it.
            left = await self._take(group, said)
        for number in left:
            await self.run([number])

    async def _take(self, group: Sequence[int], said: Said | Declined) -> list[int]:
        """Write down what was answered; return which ones of several were not, to be asked about alone."""
        call = uuid.uuid4().hex
        alone = len(group) == 1
        if isinstance(said, Declined):
            answers = {number: "" for number in group if alone}
        else:
            parts = self._purpose.divide(said.text, group)
            cut = [part[:_MOST_CHARACTERS] for part in parts]
            answers = {number: part for number, part in zip(group, cut, strict=True) if alone or part}
        said = said._replace(
            input_tokens=said.input_tokens + self._owed[0], output_tokens=said.output_tokens + self._owed[1]
        )
        self._owed = (0, 0) if answers else (said.input_tokens, said.output_tokens)
        shares = _shares(said, max(1, len(answers)))
        memos = []
        for (number, text), (input_tokens, output_tokens) in zip(answers.items(), shares, strict=False):
            refused = isinstance(said, Declined)
            memo = self._memo(number, Outcome.REFUSED if refused else Outcome.ANSWERED)
            memos.append(
                msgspec.structs.replace(
                    memo,
                    call=call,
                    text=text,
                    reason=said.reason if isinstance(said, Declined) else "",
                    message=said.message if isinstance(said, Declined) else "",
                    input_tokens=input_tokens,
                    output_tokens=output_tokens,
                    cost_usd=self._asking.account.cost(input_tokens, output_tokens),
                )
            )
        await self._write(memos)
        return [number for number in group if number not in answers]

    def _memo(self, number: int, outcome: Outcome) -> Memo:
        question = self._questions[number]
        return Memo(
            memo_id=self._ids[number],
            tenant_id=question.tenant_id,
            user_id=question.user_id,
            conversation_id=question.conversation_id,
            purpose=self._purpose.name,
            prompt=self._purpose.version,
            model=self._asking.model,
            outcome=outcome,
            asked_at=self._asking.account.clock(),
            arrived_at=min((arrived_at for _, arrived_at in question.said), default=None),
        )

    async def _write(self, memos: Iterable[Memo]) -> None:
        """Into the log first; what then counts is what the log says."""
        written = list(memos)
        if not written:
            return
        self.found |= await self._asking.memos.write(written)
        count = self._asking._metrics.model_questions_total
        for memo in written:
            count.labels(memo.purpose, memo.outcome.value).inc()

    # -- one call ------------------------------------------------------------------------------------------

    async def _call(self, prompt: Prompt, tokens: int) -> Said | Declined:
        """Make a call, and after a while of silence, if so wished, a second one beside it: both are paid."""
        hedge = self._asking._settings.gemini_hedge_seconds
        made: list[Call] = []
        first = asyncio.create_task(self._turn(prompt, tokens, made))
        calls = [first]
        try:
            if hedge:
                await asyncio.wait(calls, timeout=hedge)
                if not first.done():
                    calls.append(asyncio.create_task(self._turn(prompt, tokens, made)))
            while True:
                done, _ = await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
                good = [each for each in done if each.exception() is None]
                if good or len(done) == len(calls):
                    return _with_all(made, (good or calls)[0].result())
                calls = [each for each in calls if each not in done]
        finally:
            for each in calls:
                each.cancel()
            await asyncio.gather(*calls, return_exceptions=True)

    async def _turn(self, prompt: Prompt, tokens: int, made: list[Call]) -> Said | Declined:
        """Make a call when it is its turn; it is noted in ``made`` when it goes out."""
        asking = self._asking
        async with asking.limiter.turn(tokens, self._deadline):
            with asking.account.call(self._purpose.name) as call:
                made.append(call)
                try:
                    said = await asking.client.generate(asking.model, prompt)
                except Throttled as error:
                    call.outcome = "throttled"
                    await asking.limiter.pause(pause_of(error))
                    raise
                call.ended(said, "refused" if isinstance(said, Declined) else "answered")
        return said


def _with_all(made: Sequence[Call], said: Said | Declined) -> Said | Declined:
    """Return what was answered, with the tokens of all calls that were made for it."""
    for call in made:
        call.let_go(said)
    return said._replace(
        input_tokens=sum(call.input_tokens for call in made),
        output_tokens=sum(call.output_tokens for call in made),
    )


def _shares(said: Said | Declined, count: int) -> list[tuple[int, int]]:
    """Share the tokens of a call out among ``count`` answers, without losing any."""

    def share(tokens: int, n: int) -> int:
        return tokens * (n + 1) // count - tokens * n // count

    return [(share(said.input_tokens, n), share(said.output_tokens, n)) for n in range(count)]
