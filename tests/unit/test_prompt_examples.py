"""Each prompt has an example of what it is asked about and of a good answer, which is read as it is meant."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from processors.prompts import extraction, fence, merging, summary, understanding
from processors.prompts.prompt import Prompt
from tests import prompt_examples as examples

#: What a prompt is made of its example, by version.
PROMPTS: dict[str, Callable[[], Prompt]] = {
    extraction.VERSION: lambda: extraction.prompt([examples.window()]),
    summary.VERSION: lambda: summary.prompt(examples.summary_request()),
    merging.VERSION: lambda: merging.prompt(examples.CLUSTERS),
    understanding.VERSION: lambda: understanding.prompt(examples.ASKED),
}


@pytest.mark.parametrize("version", PROMPTS)
def test_it_is_shown_as_data(version: str) -> None:
    prompt = PROMPTS[version]()
    assert prompt.version == version
    assert fence.opened(prompt.user)
