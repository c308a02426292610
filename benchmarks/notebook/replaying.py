"""Recordings as the script of a model's server: it answers a window as was recorded, whatever part is shown.

A recording is about a whole session, a service's window about a part of it, behind other known notes: messages
are found by their texts, and the known note that a recording means is the one that shares most words with it.
Windows without a recording are left to the scripted model, by the built-in rules.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, NamedTuple

from pydantic import SecretStr

from benchmarks.notebook.recorded import Recording, recordings
from deploy.local import scripted_model as scripted
from deploy.local.model_server import KEY, ModelServer
from models.errors import DependencyUnavailable
from models.memo import Memo, Outcome
from models.ports import Extractor, KnownNotes
from processors.prompts import extraction, fence
from processors.prompts.checks import words_of
from streams.config.settings import Settings
from streams.llm.builtin_extractor import BuiltinExtractor
from streams.llm.extractor import ModelExtractor
from streams.llm.factory import provider
from streams.llm.onnx_embedder import OnnxEmbedder
from streams.llm.onnx_reader import OnnxReader
from streams.llm.port import Answer, Provider
from streams.llm.questions import Purpose, Question
from streams.llm.windows import WindowQuestions
from streams.telemetry.metrics import Metrics

#: Of the words of the known note that a recording means, by weight, so many stand in the one that is shown.
_SAME_NOTE = 0.5

#: How long the server may take to start and to stop.
_START_SECONDS = 30.0

_PROMPTS = tuple(f"Task {version}:" for version in (extraction.VERSION, extraction.WITH_GRAPH))


class Replay:
    """Implements :data:`deploy.local.model_server.Script`.  ``missed``: texts of windows not recorded."""

    def __init__(self, recordings: Iterable[Recording]) -> None:
        self._recorded = [_Recorded.of(each) for each in recordings]
        self.missed: list[str] = []

    def __call__(self, body: Mapping[str, Any]) -> str | None:
        """Return the answer to a request for notes; of other requests ``None``."""
        system, material = scripted.texts(body)
        if not system.startswith(_PROMPTS):
            return None
        records = fence.opened(material)
        shown = {each["k"]: frozenset(words_of(each["known"])) for each in records if "k" in each}
        windows: dict[int, list[dict[str, Any]]] = {}
        for each in records:
            if "n" in each:
                windows.setdefault(each.get("window", 1), []).append(each)
        notes: list[dict[str, Any]] = []
        for window in windows.values():
            said = self._said([each["text"] for each in window], window[0]["n"], shown)
            if said is None:
                self.missed.append(window[0]["text"])
                return None
            notes += said
        answer = {"notes": notes}
        if system.startswith(f"Task {extraction.WITH_GRAPH}:"):
            answer["relations"] = json.loads(scripted.said(body)).get("relations", [])
        return json.dumps(answer, ensure_ascii=False)

    def _said(
        self, texts: Sequence[str], first: int, shown: Mapping[int, frozenset[str]]
    ) -> list[dict[str, Any]] | None:
        for recorded in self._recorded:
            if (before := recorded.before(texts)) is not None:
                return [
                    {**note, "n": note["n"] - before - 1 + first, "k": _number(recorded.known(note), shown)}
                    for note in recorded.notes
                    if before < note["n"] <= before + len(texts)
                ]
        return None


class _Recorded(NamedTuple):
    texts: list[str]
    notes: list[dict[str, Any]]
    names: list[str]

    @classmethod
    def of(cls, recording: Recording) -> _Recorded:
        texts = [each["text"] for each in extraction.records_of(recording.window)]
        return cls(texts, json.loads(recording.answer)["notes"], [each.text for each in recording.known])

    def before(self, texts: Sequence[str]) -> int | None:
        """Return how many messages stand before these in the session, ``None`` if they are of another."""
        places = range(len(self.texts) - len(texts) + 1)
        return next((at for at in places if self.texts[at : at + len(texts)] == [*texts]), None)

    def known(self, note: Mapping[str, Any]) -> str:
        return self.names[note["k"] - 1] if note["k"] else ""


def _number(meant: str, shown: Mapping[int, frozenset[str]]) -> int:
    """Return the number of the known note that is meant, 0 if it is not shown.

    A word counts the less, the more of the notes have it: all have "user".
    """
    words = frozenset(words_of(meant))
    having = Counter(word for each in shown.values() for word in each)
    weight = {word: 1 / max(1, having[word]) for word in words}
    shared = {k: sum(weight[word] for word in words & each) for k, each in shown.items()}
    best = max(shared, key=lambda k: (shared[k], -k), default=0)
    return best if best and shared[best] >= _SAME_NOTE * sum(weight.values()) else 0


class _Direct:
    """Asks a provider, without limits, budget and memo; see :class:`streams.llm.asking.Asking`."""

    model = "recorded"

    def __init__(self, client: Provider) -> None:
        self._client = client

    async def answers(self, purpose: Purpose, questions: Sequence[Question]) -> list[Memo]:
        found = []
        for number, question in enumerate(questions):
            answer = await self._client.generate(await purpose.compose([number]))
            if not isinstance(answer, Answer):
                raise DependencyUnavailable("recordings", f"it declines a window: {answer}")
            (text,) = purpose.divide(answer.text, [number])
            found.append(
                Memo(
                    memo_id=str(number),
                    user_id=question.user_id,
                    purpose=purpose.name,
                    prompt=purpose.version,
                    model=self.model,
                    outcome=Outcome.ANSWERED,
                    asked_at=question.said[-1][1],
                    text=text,
                )
            )
        return found


@asynccontextmanager
async def replaying(
    replay: Replay, embedder: OnnxEmbedder, known: KnownNotes, metrics: Metrics
) -> AsyncIterator[Extractor]:
    """Open the deployment's extractor, which asks a server that replays recordings."""
    async with ModelServer() as server:
        server.scripts.append(replay)
        client = provider(Settings(model_url=server.url, model_api_key=SecretStr(KEY)).model_endpoint)
        try:
            asking: Any = _Direct(client)
            yield ModelExtractor(WindowQuestions(asking, 1, known), BuiltinExtractor(OnnxReader()), metrics)
        finally:
            await client.close()


@contextmanager
def served() -> Iterator[str]:
    """Serve the recordings from a thread; yield the model's name as ``make demo MODEL=`` takes it."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="recordings", daemon=True)
    thread.start()
    server = ModelServer()
    server.scripts.append(Replay(each for _, each in recordings()))
    try:
        asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(_START_SECONDS)
        yield f"{server.url}/v1#scripted"
        asyncio.run_coroutine_threadsafe(server.__aexit__(), loop).result(_START_SECONDS)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
