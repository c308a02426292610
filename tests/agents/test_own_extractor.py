"""An extractor of one's own, as docs/how-to/extractor.md shows one: named, opened, asked by the stage."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from memory_samples import said, window

from models.errors import ConfigurationError
from models.facts import FactCandidate
from models.memo import Erased
from streams.agents.memory.extraction import Extraction
from streams.clients.topics import CANDIDATES
from streams.config.settings import Settings
from streams.llm.extraction_models import open_extraction_models
from streams.llm.own_extractor import OwnExtractor, load
from streams.llm.tokenizer import cl100k_counter
from streams.runtime.testing import StageHarness
from streams.telemetry.metrics import Metrics

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "extractor.md"
TALK = window(
    said("I drink tea.", "assistant: I drink cocoa.", "Later I drink mate.", "I drink juice."), overlap=1
)


async def nothing_erased(_: Iterable[tuple[str, str]]) -> Mapping[tuple[str, str], Erased]:
    return {}


@pytest.fixture
def shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Where the example of the page can be imported from."""
    (code,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    (tmp_path / "shown_extractor.py").write_text(
        code + "\n\nnumber = 7\n\n\ndef broken():\n    raise OSError('no model')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield "shown_extractor"


async def test_a_page_s_names_open_candidates(shown: str, tmp_path: Path) -> None:
    (line,) = re.findall(
        r"^SWITCHBOARD_EXTRACTOR=(\S+) switchboard worker memory$", PAGE.read_text(), re.MULTILINE
    )
    settings = Settings(data_dir=tmp_path, extractor=line.replace("my_package.reading", shown))
    async with AsyncExitStack() as resources:
        readers = await open_extraction_models(settings, Metrics(), cl100k_counter(), resources)
        assert isinstance(readers.extractor, OwnExtractor) and readers.extractor.name == "drinks-1"
    harness = StageHarness(Extraction(settings, OwnExtractor(load(settings.extractor), nothing_erased)).stage())
    await harness.call(harness.record(TALK))
    found = harness.values(CANDIDATES, FactCandidate)
    assert [(each.attribute, each.value, each.extractor) for each in found] == [
        ("favourite/drink", "mate", "drinks-1"),
        ("favourite/drink", "juice", "drinks-1"),
    ]
    assert harness.dead_letters == []


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ("no_such_package:Reader", "No module named 'no_such_package'"),
        ("{shown}:broken", "OSError: no model"),
        ("builtins:dict", "no attribute 'name'"),
    ],
)
def test_what_cannot_be_opened_says_why_and_what_to_do(shown: str, where: str, why: str) -> None:
    with pytest.raises(ConfigurationError, match=why) as refused:
        load(where.format(shown=shown))
    assert "package.module:name" in str(refused.value)
