"""The key of the memo, and what a policy changes of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import samples

from models.memo import Memo, memo_id
from models.policies import Rules
from models.statements import Kind
from processors.prompts.prompt import Prompt
from streams.llm.questions import Purpose, Question
from streams.llm.windows import WindowQuestions
from tests import prompt_examples as examples


class Asked:
    """Keeps questions and prompts; answers nothing."""

    model = "model-1"

    def __init__(self) -> None:
        self.questions: list[Question] = []
        self.prompts: list[Prompt] = []

    async def answers(self, purpose: Purpose, questions: Sequence[Question]) -> list[Memo | None]:
        self.questions += questions
        self.prompts.append(await purpose.compose([*range(len(questions))]))
        return [None for _ in questions]


async def asked(policies: samples.Policies | None) -> tuple[Question, Prompt]:
    asking: Any = Asked()
    await WindowQuestions(asking, 4, policies=policies).answers([examples.window()])
    return asking.questions[0], asking.prompts[0]


async def test_another_policy_is_another_question() -> None:
    tenant = examples.window().tenant_id
    none, plain = await asked(None)
    other_tenant, _ = await asked(samples.Policies(**{"somebody-else": Rules(instructions="Note all.")}))
    one, shown = await asked(samples.Policies(**{tenant: Rules(instructions="Note all.")}))
    two, _ = await asked(samples.Policies(**{tenant: Rules(instructions="Note nothing.")}))
    assert none == other_tenant, "what was answered without a policy stays known"
    assert len({none.asked, one.asked, two.asked}) == 3
    assert "Note all." in shown.system and "Note all." not in plain.system


async def test_how_long_notes_are_shown_is_no_other_question() -> None:
    tenant = examples.window().tenant_id
    rules = {tenant: Rules(expires_after={Kind.EVENT: "9d"})}
    plain, shown = await asked(None), await asked(samples.Policies(**rules))
    assert plain[0] == shown[0]


PARTS = ("extraction-1", "a-model", "temperature=0", "default", "mara", "what?")


def test_the_same_question_has_the_same_key() -> None:
    assert memo_id(*PARTS) == memo_id(*PARTS)
    assert len(memo_id(*PARTS)) == 32


@pytest.mark.parametrize(
    "number", range(len(PARTS)), ids=("prompt", "model", "parameters", "tenant", "user", "asked")
)
def test_whatever_it_depends_on_makes_another(number: int) -> None:
    other = [*PARTS]
    other[number] += "x"
    assert memo_id(*other) != memo_id(*PARTS)
