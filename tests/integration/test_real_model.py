"""Extraction and an answer by a real engine: Gemma 3 270M on llama.cpp.  Run by `make test-model`.

So small a model says little that is true: what is asserted is shape, provenance and the checks.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from memo_rig import Rig, rig

from models.answers import Dialogue, Ended, Trouble
from models.memo import Outcome
from models.ports import Extracted
from processors.prompts import extraction
from streams.llm.factory import provider
from tests import prompt_examples as examples

ENGINE = os.environ.get("SWITCHBOARD_TEST_ENGINE", "")

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.engine,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(not ENGINE, reason="there is no engine: make test-model"),
]

__all__ = ["rig"]

#: On a busy machine it writes a few words a second.
PATIENCE: dict[str, Any] = {"model_timeout_seconds": 600, "step_timeout_seconds": 1200}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = Path(os.environ.get("SWITCHBOARD_TEST_ENGINE_FOLDER") or tmp_path_factory.mktemp("gemma"))
    command = [ENGINE, str(Path(__file__).parent / "serve_gemma.py"), str(folder)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as engine:
        assert engine.stdin is not None and engine.stdout is not None
        yield f"{engine.stdout.readline().decode().strip()}/v1"
        engine.kill()


def asked_of(url: str, most_tokens: int) -> dict[str, Any]:
    extra = f'{{"max_tokens": {most_tokens}}}'
    return {"model_api": "openai", "model_url": url, "model_name": "gemma", "request_extra": extra, **PATIENCE}


async def test_the_engine_takes_strict_schemas_and_tools(rig: Rig, url: str) -> None:
    client = provider(rig.settings.model_copy(update=asked_of(url, 40)).model_endpoint)
    await client.check()
    found = await client.abilities()
    assert (found.structured, found.tools) == ("strict", True)
    await client.close()


async def test_a_window_is_read_by_schema_and_remembered(rig: Rig, url: str) -> None:
    extractor = await rig.extractor(**asked_of(url, 300))
    window = examples.window()
    (found,) = await extractor.extract([window])
    assert isinstance(found, Extracted) and extractor.name == f"gemma/{extraction.VERSION}"
    said = {message.message_id: message.content for message in window.messages}
    for each in found.statements:
        assert any(each.quote in text for text in said.values()), "a quote that nobody said"
    ((_, memo),) = await rig.memos()
    assert memo is not None
    assert (memo.outcome, memo.model, memo.cost_usd) == (Outcome.ANSWERED, "gemma", 0.0)
    assert isinstance(msgspec.json.decode(memo.text)["notes"], list), "not the answer about one window"
    assert 0 < memo.output_tokens <= 300 < memo.input_tokens
    calls = rig.metrics.model_calls_total.labels("extraction", "gemma", "answered")
    assert await extractor.extract([window]) == [found]
    assert calls._value.get() == 1, "asked again, not read from the memo"


async def test_an_answer_is_streamed(rig: Rig, url: str) -> None:
    responder = (await rig.chat_models(**asked_of(url, 30))).responder
    assert responder is not None
    asked = Dialogue(
        version="v", system="Answer in one sentence.", user="What is tea?", most_tokens=30, user_id="mara"
    )
    async with aclosing(responder.stream(asked)) as stream:
        *spoken, ended = [piece async for piece in stream]
    assert len(spoken) > 3
    assert isinstance(ended, Ended) and ended.output_tokens > 3
    assert ended.trouble is None or ended.trouble.problem is Trouble.CUT
