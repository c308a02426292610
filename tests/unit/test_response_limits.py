"""The filter where a response is very long, where nothing comes for a while, and where it is turned off."""

from __future__ import annotations

import pytest

from processors.responses.filter import ResponseFilter, filter_text
from processors.responses.filter_state import FilterPolicy, FilterState
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


@pytest.mark.parametrize(
    ("before", "rest", "kept"),
    [
        # Something was taken out just now: of the white space around it one part is left.
        (f"{OPENING}\n\n{OPENING}\n\n", ["Bye."], f"{OPENING}\n\nBye."),
        (f"{OPENING}\n\n{OPENING}\n\n", [" ", "Bye. ", OPENING], f"{OPENING}\n\n Bye. {OPENING}"),
        (f"{OPENING}\n\n{OPENING}\n\n", ["\n", ""], f"{OPENING}\n\n\n"),
        # A heading was taken out with what stood under it: what comes now stands under it, too.
        (f"# A\n\n{OPENING}\n\n# A\n\n{OPENING}\n\nThe", [" way."], f"# A\n\n{OPENING}\n\n# A\n\nThe way."),
        # Something was held.
        (
            f"{TICKETS}\n\n{WAY}\n\n{OPENING}\n\n{WAY}",
            [" of ours."],
            f"{TICKETS}\n\n{WAY}\n\n{OPENING}\n\n{WAY} of ours.",
        ),
        (f"{OPENING} The museum op", ["ens late."], f"{OPENING} The museum opens late."),
        (f"{OPENING} The museum op", [""], f"{OPENING} The museum op"),
    ],
)
def test_what_was_begun_goes_on_when_the_filter_is_turned_off(before: str, rest: list[str], kept: str) -> None:
    step = ResponseFilter().push(FilterState(), before, 0.0)
    sent, off = step.text, ResponseFilter(FilterPolicy(threshold=1.0))
    for number, text in enumerate(rest):
        step = off.push(step.state, text, 0.0, final=number == len(rest) - 1)
        sent += step.text
        assert not text.strip() or step.state.text == "", "text waits for nothing"
    assert sent == kept
    assert (step.state.text, step.held) == ("", 0)
