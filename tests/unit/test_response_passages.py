"""Which passages go when they are said again, and which stay because they belong to something else."""

from __future__ import annotations

import pytest

from processors.responses.filter import ResponseFilter, filter_text
from processors.responses.filter_state import FilterState
from processors.responses.history import BOLD_LEVEL, MEMORY, History, Said, key
from processors.responses.lines import Kind

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
        (f"{TICKETS}\n\n*{WAY.replace(':', ':*')}\n\n{GARDEN}", f"*{WAY.replace(':', ':*')}", "Bye."),
        (
            f"{TICKETS}\n\n今天怎么去老城的博物馆最方便：\n\n- 坐红色的大巴\n- 坐小船\n\n{GARDEN}",
            "今天怎么去老城的博物馆最方便：\n\n- 坐红色的大巴\n- 坐小船",
            "Bye.",
        ),
        (f"{TICKETS}\n\nGood to know. {WAY}\n\n{GARDEN}", f"Good to know. {WAY}", "Bye."),
        # A sentence that is too short to go by itself goes with one that does.
        (f"{TICKETS}\n\nBring some water. {OPENING}\n\n{GARDEN}", f"Bring some water. {OPENING}", "Bye."),
        # The beginning of the response, however little it says: eight words are enough.
        (
            "Parking:\n\n- behind the old house every single day",
            "Parking:\n\n- behind the old house every single day",
            "Bye.",
        ),
        (f"{SHORT}\n\n{GARDEN}", SHORT, "Bye."),
        (f"{TICKETS}\n\n{SHORT}\n\n{GARDEN}", SHORT, "Bye."),
        # A section, wherever it stands, with the code or quotation that it ends with.
        (
            f"# A\n\n- {OPENING}\n- {PARKING}\n\n# B\n\n{TICKETS}",
            f"# A\n\n- {OPENING}\n- {PARKING}",
            "# C\n\nBye.",
        ),
        (
            f"Hello.\n\n# A\n\n{PARKING}\n\n```\nmake everything\n```\n\n# B\n\n{TICKETS}",
            f"# A\n\n{PARKING}\n\n```\nmake everything\n```",
            "# C\n\nBye.",
        ),
        (
            f"Hello.\n\n# A\n\nHe wrote us this.\n\n“{OPENING}”\n\n# B\n\n{TICKETS}",
            f"# A\n\nHe wrote us this.\n\n“{OPENING}”",
            "# C\n\nBye.",
        ),
        # Code and quotations go where what stands before and after them goes.
        (f"{TICKETS}\n\n{STEPS}\n\n{PARKING}\n\n{GARDEN}", f"{STEPS}\n\n{PARKING}", "Bye."),
        (
            f"{OPENING}\n\n“Come in.” “Come in again.”\n\n{PARKING}\n\n{GARDEN}",
            f"{OPENING}\n\n“Come in.” “Come in again.”\n\n{PARKING}",
            "Bye.",
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
        f"# A\n\n{OPENING}\n\n**Way**\n\n{WAY}\n\n# B\n\n{TICKETS}\n\n**Way**\n\n{WAY}\n\nBye.",
        # Of sentences that are too short to go by themselves, not those of another paragraph.
        f"{TICKETS}\n\n{SHORT}\n\n{GARDEN}\n\n{SHORT} Bye.",
        # A chorus, a paragraph with a correction, with a label, of a few words.
        f"{OPENING}\n\nRow the boat,\nrow it.\nDown the stream.\n\n{GARDEN}\n\nRow the boat,\nrow it.\n"
        "Down the stream.\n\nBye.",
        f"{TICKETS}\n\nSorry! It should read ten.\n\n{GARDEN}\n\nSorry! It should read ten.\n\nBye.",
        f"{TICKETS}\n\nYes. Well.\n\n{GARDEN}\n\nYes. Well.\n\nBye.",
        # What only leads to something else.
        f"# Mail\n\nHi Michael,\n\n{OPENING}\n\n# Mail\n\nHi Michael,\n\n{PARKING}",
        # A line under an item that nothing leads to.
        "1. One:\n   \\[\n   3 > 2\n   \\]\n   It is so.\n\n"
        "2. Two:\n   \\[\n   4 > 2\n   \\]\n   It is so.\n\nBye.",
        # Code ends no passage, unless its section ends with it.
        f"{TICKETS}\n\nIt is easy. {STEPS}\n\n{GARDEN}\n\nIt is easy. {STEPS}\n\nBye.",
        f"{TICKETS}\n\nIt is easy. {STEPS}\n\n# B\n\n{GARDEN}\n\nIt is easy. {STEPS}\n\nBye.",
        f"# A\n\n{PARKING} {STEPS}\n\n{GARDEN}\n\n# A\n\n{PARKING} {STEPS}\n\n{TICKETS}",
        f"# A\n\n{PARKING} So:\n\n  $$\n  x = 1\n  $$\n\n{GARDEN}\n\n"
        f"# A\n\n{PARKING} So:\n\n  $$\n  x = 1\n  $$\n\n{TICKETS}",
        f"# A\n\n- {PARKING}\n- {STEPS}\n\n{GARDEN}\n\n# A\n\n- {PARKING}\n- {STEPS}\n\n{TICKETS}",
    ],
)
def test_what_belongs_to_something_else_stays(text: str) -> None:
    result = filter_text(text)
    assert (result.text, result.errors) == (text, ())


def test_a_quotation_begins_no_passage() -> None:
    said = f"{TICKETS}\n\n“Come in,” said the guide. {OPENING}\n\n{GARDEN}"
    again = f"“Come in,” said the guide. {OPENING}"
    assert filter_text(f"{said}\n\n{again}\n\nBye.").text == f"{said}\n\n“Come in,” said the guide.\n\nBye."


def test_nothing_repeats_what_was_too_long_to_be_kept() -> None:
    response_filter = ResponseFilter()
    said = f"{OPENING}\n\n{'word ' * 1000}\n\n{OPENING}\n\n"
    step = response_filter.push(FilterState(), said, 0.0)
    assert response_filter.push(step.state, "Hello there", 0.0).text.endswith("Hello there")


def test_a_section_is_that_of_the_last_heading() -> None:
    said = (Said("## Way", Kind.HEADING), Said("**By bus**", Kind.HEADING), Said("#1 is red.", Kind.LINE))
    assert History(said).section() == (1, BOLD_LEVEL)
    assert History(said[:1]).section() == (0, 2)
    assert History(said[2:]).section() == (-1, 0)


@pytest.mark.parametrize("asked_each", [1, 3, 20])
@pytest.mark.parametrize("before", [0, MEMORY - 30])
def test_where_a_block_begins_is_found_as_by_looking_at_all_that_was_said(before: int, asked_each: int) -> None:
    """However much of it was forgotten in between, and however often it is looked for."""
    texts = (OPENING, "# Way", "So:", PARKING, "", "# Way", TICKETS)
    kinds = (Kind.SENTENCE, Kind.HEADING, Kind.SENTENCE, Kind.SENTENCE, Kind.LINE, Kind.HEADING, Kind.SENTENCE)
    all_said = [
        Said(texts[at % 7], kinds[at % 7], first=at % 3 == 0) for at in range(60)
    ]  # in each place, each of them begins a block, and goes on with one
    history, found = History([Said(OPENING, first=True)] * before), 0
    for number, said in enumerate(all_said):
        history.add(said)
        if number % asked_each:
            continue
        for element in all_said[:7]:
            expected = [
                at
                for at in range(max(0, len(history) - MEMORY), len(history))
                if (history[at].first or history[at].introduces) and element.text and history[at].same(element)
            ]
            assert [*history.beginning(element)] == expected
            found += len(expected)
    assert found


def test_a_heading_without_end_is_not_compared_with_each_before_it() -> None:
    """Each was looked for among all that was said: 64 KB of them took seconds."""
    before = sum(key.cache_info()[:2])
    text = "# a\n" * 1_500
    assert filter_text(text).text == text
    assert sum(key.cache_info()[:2]) - before < 20 * 1_500
