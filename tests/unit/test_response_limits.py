"""The filter where a response is very long, where nothing comes for a while, and where it is turned off."""

from __future__ import annotations

import pytest

from processors.responses.filter import ResponseFilter, filter_text
from processors.responses.filter_state import FilterState
from processors.responses.sentences import LONGEST_GAP

OPENING = "The museum opens at nine in the morning."
TICKETS = "Tickets are sold at the old town hall."
WAY = "How to get there today:\n\n- by the old red bus\n- by the small boat"

ENDLESS = "word " * 300
LINES = "\n" * (LONGEST_GAP + 500)
SPACES = " " * (LONGEST_GAP + 500)


def in_pieces(text: str, size: int) -> str:
    response_filter, state, sent = ResponseFilter(), FilterState(), ""
    for at in range(0, len(text), size):
        step = response_filter.push(state, text[at : at + size], 0.0)
        state, sent = step.state, sent + step.text
    return sent + response_filter.push(state, "", 0.0, final=True).text


@pytest.mark.parametrize(
    "text",
    [
        f"{OPENING}{LINES}{TICKETS}",
        f"{LINES}{OPENING}",
        f"The museum{SPACES}opens at nine.",
        f"{ENDLESS}{SPACES}more of it.\n\n{OPENING}",
        f"```\n{OPENING}{LINES}{OPENING}\n```\n{TICKETS}",
        f"- One.{SPACES}\n- Two.{LINES}Bye.",
        f"{OPENING}\n\n{TICKETS}{LINES}{WAY}{LINES}Bye.",
    ],
)
def test_white_space_without_end_changes_nothing(text: str) -> None:
    assert filter_text(text).text == in_pieces(text, 7) == in_pieces(text, 600) == text
