"""Which passages go when they are said again, and which stay because they belong to something else."""

from __future__ import annotations

import pytest

from processors.responses.filter import ResponseFilter, filter_text
from processors.responses.filter_state import FilterState

OPENING = "The museum opens at nine in the morning."
PARKING = "You can leave your car behind the house."
TICKETS = "Tickets are sold at the old town hall."
GARDEN = "The garden has a pond with two black swans."

WAY = "How to get there today:\n\n- by the old red bus\n- by the small boat"
STEPS = "How to build it here:\n\n```\n  make  everything\n```"
SHORT = "Bring some warm water. Take some bread too."


@pytest.mark.parametrize(
    ("before", "again", "after"),
    [
        # What it introduces goes with the line that does, wherever the response says it again.
        (f"{TICKETS}\n\n{WAY}\n\n{GARDEN}", WAY, "Bye."),
        (
            f"{TICKETS}\n\n今天怎么去老城的博物馆最方便：\n\n- 坐红色的大巴\n- 坐小船\n\n{GARDEN}",
            "今天怎么去老城的博物馆最方便：\n\n- 坐红色的大巴\n- 坐小船",
            "Bye.",
        ),
        # A sentence that is too short to go by itself goes with one that does.
        (f"{TICKETS}\n\nBring some water. {OPENING}\n\n{GARDEN}", f"Bring some water. {OPENING}", "Bye."),
        # A section, wherever it stands, with the code or quotation that it ends with.
        (
            f"# A\n\n- {OPENING}\n- {PARKING}\n\n# B\n\n{TICKETS}",
            f"# A\n\n- {OPENING}\n- {PARKING}",
            "# C\n\nBye.",
        ),
    ],
)
def test_a_passage_that_is_said_again_goes_as_a_whole(before: str, again: str, after: str) -> None:
    text = f"{before}\n\n{again}\n\n{after}"
    result = filter_text(text)
    assert (result.text, result.errors) == (f"{before}\n\n{after}", ())
    response_filter, state, sent = ResponseFilter(), FilterState(), ""
    for character in text:
        step = response_filter.push(state, character, 0.0)
        state, sent = step.state, sent + step.text
    assert sent + response_filter.push(state, "", 0.0, final=True).text == result.text


@pytest.mark.parametrize(
    "text",
    [
        # Under another heading it is about another thing.
        f"# A\n\n{OPENING}\n\n{WAY}\n\n# B\n\n{TICKETS}\n\n{WAY}\n\nBye.",
        # Of sentences that are too short to go by themselves, not those of another paragraph.
        f"{TICKETS}\n\n{SHORT}\n\n{GARDEN}\n\n{SHORT} Bye.",
        f"{TICKETS}\n\nSorry! It should read ten.\n\n{GARDEN}\n\nSorry! It should read ten.\n\nBye.",
        f"# A\n\n{PARKING} {STEPS}\n\n{GARDEN}\n\n# A\n\n{PARKING} {STEPS}\n\n{TICKETS}",
    ],
)
def test_what_belongs_to_something_else_stays(text: str) -> None:
    result = filter_text(text)
    assert (result.text, result.errors) == (text, ())
