"""What the response filter takes out, what it leaves as it is, and when text leaves."""

from __future__ import annotations

import pytest

from models.errors import ConfigurationError
from processors.responses.filter import ResponseFilter, filter_text
from processors.responses.filter_state import EXACT_MEMORY, Detection, FilterPolicy, FilterState
from processors.responses.text import Unit, read_unit

OPENING = "The museum opens at nine in the morning."
PARKING = "You can leave your car behind the house."
TICKETS = "Tickets are sold at the old town hall."


class Stream:
    """A response, piece by piece."""

    def __init__(self, policy: FilterPolicy | None = None, said: tuple[str, ...] = ()) -> None:
        self.filter = ResponseFilter(policy)
        self.state = FilterState(said=said)
        self.now = 0.0
        self.held = 0
        self.waited: list[float] = []

    def push(self, text: str, *, final: bool = False, after: float = 0.0) -> str:
        self.now += after
        step = self.filter.push(self.state, text, self.now, final=final)
        self.state = step.state
        self.held += step.held
        if step.waited is not None:
            self.waited.append(step.waited)
        return step.text

    def tick(self, after: float) -> str:
        self.now += after
        step = self.filter.tick(self.state, self.now)
        self.state = step.state
        if step.waited is not None:
            self.waited.append(step.waited)
        return step.text


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\t\n",
        "Yes. No. Yes. No. Thank you. Thank you.",
        "# Our museum and its garden\n\ntext\n\n# Our museum and its garden\n",
        "Our museum and its garden\n=====\n\nOur museum and its garden\n=====\n",
        "**Our museum and its garden**\n\nfoo\n\n**Our museum and its garden**\n",
        f"```\n{OPENING}\n{OPENING}\n\n\n```\n",
        f"~~~~ text\n{OPENING}\n~~~\n{OPENING}\n~~~~\n",
        f"- item\n\n  ```py\n  {OPENING}\n  {OPENING}\n  ```\n",
        f"Code:\n\n    {OPENING}\n    {OPENING}\n",
        f"| a | {OPENING} |\n| - | - |\n| a | {OPENING} |\n",
        "Name of the dish | Price of the dish\n--- | ---\nName of the dish | Price of the dish\n",
        f"a | b\n--- | :-:\n{OPENING} | yes\n{OPENING} | no\n{PARKING} {OPENING} | no\n",
        "---\n\n---\n\n* * *\n\n* * *\n",
        "https://example.com/a/very/long/address\nhttps://example.com/a/very/long/address\n",
        "[docs](https://example.com/a/very/long/address)\n\n[docs](https://example.com/a/very/long/address)\n",
        "<br>\n<details open>\n<br>\n<details open>\n",
        "$$\nx = 1\n$$\n\n1 + 2 + 3 + 4 = 10\n1 + 2 + 3 + 4 = 10\n",
        "$$\n\\text{profit} = \\text{revenue}\n$$\n\nor\n\n$$\n\\text{profit} = \\text{revenue}\n$$\n",
        "\\[\n\\text{profit} = \\text{sum}\n\\]\nor\n\\[\n\\text{profit} = \\text{sum}\n\\]\n",
        "He is at the U.S. Open, i.e. in New York, e.g. on 5.5. at 9 a.m. and pays $3.50 approx. daily.",
        "Windows\r\nline ends.\r\n\r\n* one\r\n* two\r\n",
        "“Quoted. Twice.” and 'single' — «guillemets. Too.»",
        "今天天气很好。我们去公园吧！「走吧。」",
        "مرحبا بالعالم. كيف حالك اليوم؟ \u200fنعم.",
        "Family: 👩‍👩‍👧‍👦 flags: 🇩🇪🇫🇷 e\u0301 — fine.",
        "no final stop and trailing white space  \n\n  ",
        "Room 12 is free for the whole week. Room 13 is free for the whole week.",
        "1. one\n2. two\n\n10) ten\n   - [ ] nested\n   - [x] done\n> quoted\n> \n> again\n",
    ],
)
def test_text_without_duplicates_is_byte_for_byte_the_same(text: str) -> None:
    result = filter_text(text)
    assert result.text == text
    assert result.duplicates == ()


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (f"{OPENING} {PARKING} {OPENING} {TICKETS}", f"{OPENING} {PARKING} {TICKETS}"),
        (f"{OPENING} {OPENING}", OPENING),
        (f"{OPENING}\n\n{OPENING}\n", f"{OPENING}\n"),
        (f"{OPENING}\n\n{OPENING}\n\n{TICKETS}", f"{OPENING}\n\n{TICKETS}"),
        (f"{OPENING}\n\n{OPENING} {TICKETS}", f"{OPENING}\n\n{TICKETS}"),
        (f"{OPENING} {OPENING}\n\n{TICKETS}", f"{OPENING}\n\n{TICKETS}"),
        (f"{OPENING}\r\n\r\n{OPENING}\r\n\r\n{TICKETS}\r\n", f"{OPENING}\r\n\r\n{TICKETS}\r\n"),
        (f"- {OPENING}\n- {OPENING}\n- {TICKETS}\n", f"- {OPENING}\n- {TICKETS}\n"),
        (f"- {OPENING}\n- {OPENING} {TICKETS}\n", f"- {OPENING}\n- {TICKETS}\n"),
        (f"{OPENING}\n\n1. {OPENING}\n2. {TICKETS}\n\nBye.", f"{OPENING}\n\n2. {TICKETS}\n\nBye."),
        (f"- {OPENING}\n- {TICKETS}\n- {OPENING}\n\nBye.", f"- {OPENING}\n- {TICKETS}\n\nBye."),
        (f"> {OPENING}\n\n> {OPENING}\n\nBye.", f"> {OPENING}\n\nBye."),
        (f"{OPENING}\n\n{OPENING}\n\n```\nx\n```\n", f"{OPENING}\n\n```\nx\n```\n"),
        (f"# A\n\n{OPENING}\n\n# B\n\n{OPENING}\n\n# C\n", f"# A\n\n{OPENING}\n\n# B\n\n# C\n"),
        (f"a | b\n-|-\n1 | 2\n\n{OPENING}\n\n{OPENING}", f"a | b\n-|-\n1 | 2\n\n{OPENING}"),
        (f"$$\nx = 1\n$$\n\n{OPENING}\n\n{OPENING}", f"$$\nx = 1\n$$\n\n{OPENING}"),
        (f"$$ means cheap.\n\n{OPENING}\n\n{OPENING}", f"$$ means cheap.\n\n{OPENING}"),
        ("No stop at the end of this\n\nNo stop at the end of this", "No stop at the end of this"),
        ("Wrapped text\ngoes on.\n\nWrapped text goes on.", "Wrapped text\ngoes on."),
        ('"Say it. Say it again." Go home. "Say it. Say it again."', '"Say it. Say it again." Go home.'),
        ("今天的天气真的非常好。我们走吧。今天的天气真的非常好。", "今天的天气真的非常好。我们走吧。"),
        ("**Bring an umbrella!** Bye.\n\n**Bring an umbrella!**", "**Bring an umbrella!** Bye."),
        ("المتحف مفتوح كل يوم. المتحف مفتوح كل يوم. نعم.", "المتحف مفتوح كل يوم. نعم."),
        ("the cat sat on the mat. the cat sat on the mat. done", "the cat sat on the mat. done"),
    ],
)  # fmt: skip
def test_a_duplicate_goes_and_leaves_clean_white_space(text: str, kept: str) -> None:
    assert filter_text(text).text == kept


def test_the_venue_list_of_the_seed_appears_once() -> None:
    """Seed 003, test_south_philly_duplicate."""
    venues = (
        "Here are some Italian restaurants in South Philly:\n\n"
        "1. **Villa di Roma** - 936 S 9th St, a red gravy place with an open kitchen.\n"
        "2. **Ralph's** - 760 S 9th St, the oldest Italian restaurant in America.\n"
    )
    result = filter_text(f"{venues}\nLet me check the prices.\n\n{venues}\nBoth are in your range.\n")
    assert result.text == f"{venues}\nLet me check the prices.\n\nBoth are in your range.\n"
    assert [duplicate.score for duplicate in result.duplicates] == [1.0, 1.0, 1.0]


def test_what_was_taken_out_is_told_with_what_it_repeats() -> None:
    again = "The museum is opening at nine in the morning."
    (duplicate,) = filter_text(f"{OPENING} {PARKING}\n- {again}").duplicates
    assert (duplicate.sentence, duplicate.similar) == (again, OPENING)
    assert duplicate.position == len(f"{OPENING} {PARKING}\n- ")
    assert 0.85 <= duplicate.score < 1.0


def test_nothing_is_held_as_long_as_nothing_was_said() -> None:
    stream = Stream()
    pieces = ["\n", "# He", "ading\n\nThe mu", "seum ", "opens", " at nine", " in the morning", "."]
    assert [stream.push(piece) for piece in pieces] == pieces
    assert stream.held == 0


def test_text_leaves_in_the_middle_of_a_sentence() -> None:
    stream = Stream()
    stream.push(OPENING)
    assert stream.push(" The mus") == ""
    assert stream.push("eum gar") == " The museum gar"
    assert stream.push("den is") == "den is"
    assert stream.push(" open at nine") == " open at nine"
    assert stream.push(".") == "."


def test_a_structural_line_leaves_as_soon_as_it_is_known() -> None:
    stream = Stream(said=(OPENING,))
    assert stream.push("#") == ""
    assert stream.push("# The") == "## The"
    assert stream.push(" museum opens") == " museum opens"
    assert stream.push("\n") == ""
    assert stream.push("| The mus") == "\n| The mus"


def test_held_text_leaves_when_its_time_is_over_and_its_sentence_passes() -> None:
    stream = Stream()
    stream.push(OPENING)
    assert stream.push(" The museum", after=1.0) == ""
    assert stream.filter.wake_at(stream.state) == 1.5
    assert stream.tick(0.499) == ""
    assert stream.tick(0.001) == " The museum"
    assert stream.waited == [0.5]
    assert stream.push(" opens at nine in the morning.") == " opens at nine in the morning."
    assert stream.push(f" {OPENING}") + stream.push("", final=True) == ""


def test_a_late_chunk_counts_like_the_clock() -> None:
    stream = Stream()
    stream.push(OPENING)
    assert stream.push(" The museum opens") == ""
    assert (
        stream.push(" at nine in the morning. ", after=0.5, final=True)
        == " The museum opens at nine in the morning. "
    )


def test_white_space_alone_has_no_hold_time() -> None:
    stream = Stream()
    stream.push(OPENING)
    assert stream.push("\n\n") == ""
    assert stream.filter.wake_at(stream.state) is None
    assert stream.push(OPENING, after=60.0) == ""
    assert stream.push("\n\nBye", after=0.1) == "\n\nBye"


def test_the_final_chunk_releases_everything() -> None:
    stream = Stream(said=(OPENING,))
    assert stream.push("The museum opens at", final=True) == "The museum opens at"
    assert Stream(said=(OPENING,)).push("- ", final=True) == "- "


def test_an_exact_repetition_is_found_anywhere_a_similar_one_in_the_window_only() -> None:
    others = [f"{a}{b}{a} walks along {b}{a} street with {a}{a}." for a in "ABCDEFGH" for b in "stuvwxyz"]
    similar = "The museum is opening at nine in the morning."
    text = f"{OPENING} {' '.join(others)} {similar} {OPENING}"
    assert filter_text(text).text == f"{OPENING} {' '.join(others)} {similar}"
    assert filter_text(text, FilterPolicy(window_sentences=100)).text == f"{OPENING} {' '.join(others)}"


def test_memory_is_bounded() -> None:
    text = " ".join(f"The number of this very sentence is {number}." for number in range(EXACT_MEMORY + 10))
    step = ResponseFilter().push(FilterState(), text, 0.0, final=True)
    assert len(step.state.said) == EXACT_MEMORY
    assert step.text == text


def test_a_sentence_without_end_passes() -> None:
    endless = "word " * 1000
    assert filter_text(f"{endless}\n\n{endless}").text == f"{endless}\n\n{endless}"
    state = ResponseFilter().push(FilterState(), endless, 0.0).state
    assert len(state.text) < 10


@pytest.mark.parametrize(
    "piece",
    [*(" ", "\n", "\t\r\n", "-", "- ", "=\t", "`", "```", "~", "$", "x\n\n", "```\n", "# ", ": ", "|", ">"),
     *("> ", "1. ", "*a* ", "``` x", "\n```\n\n   ", "\n~~~~\n>", "\n$$\n  ")],
)  # fmt: skip
@pytest.mark.parametrize(
    "before", ["", "and", f"\n\n{OPENING}", "\n```\n", "\na | b\n- | -\n", "\n$$\n", "\n- x"]
)
def test_whatever_is_said_without_end_the_state_stays_small(before: str, piece: str) -> None:
    """A state that fits into no record would stop every worker that reads it."""
    text = f"{OPENING}{before}" + piece * (20_000 // len(piece))
    stream, sent = Stream(), ""
    for at in range(0, len(text), 997):
        sent += stream.push(text[at : at + 997])
        assert len(stream.state.text) < 5_000
    sent += stream.push("", final=True)
    assert sent == filter_text(text).text


def test_a_long_text_at_once_takes_no_more_than_its_chunks_would(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its sentences are read one by one; reading all the rest for each would be quadratic."""
    lengths: list[int] = []

    def noting(text: str, *, line_begins: bool, final: bool) -> Unit:
        lengths.append(len(text))
        return read_unit(text, line_begins=line_begins, final=final)

    monkeypatch.setattr("processors.responses.filter.read_unit", noting)
    filter_text(f"{OPENING} {PARKING}\n" * 1000)
    assert max(lengths) < 5_000


def test_a_threshold_of_one_turns_the_filter_off() -> None:
    text = f"{OPENING} {OPENING}\n\n{OPENING}"
    stream = Stream(FilterPolicy(threshold=1.0), said=(OPENING,))
    assert [stream.push(character) for character in text] == list(text)
    assert stream.push("", final=True) == ""


@pytest.mark.parametrize("ending", [" and nothing else.", " ", ""])
@pytest.mark.parametrize("held", [" The museum op", " ", f" {OPENING}", f" {OPENING} "])
def test_what_was_held_still_leaves_when_the_filter_is_turned_off(held: str, ending: str) -> None:
    """A worker that starts again with another threshold goes on with the state that is there."""
    stream = Stream()
    sent = stream.push(OPENING + held)
    stream.filter = ResponseFilter(FilterPolicy(threshold=1.0))
    sent += stream.push(ending) + stream.push("", final=True)
    assert sent in (OPENING + held + ending, OPENING + ending)
    assert (stream.state.text, stream.state.held_since) == ("", None)


def test_a_lower_threshold_filters_paraphrases() -> None:
    said = "The company said on Friday that it will close two of its five plants."
    again = "On Friday the company said it would be closing two of five plants."
    assert filter_text(f"{said} {again}").text == f"{said} {again}"
    assert filter_text(f"{said} {again}", FilterPolicy(threshold=0.42)).text == said


def test_errors_in_detection_let_the_text_through_and_are_counted() -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    response_filter = ResponseFilter(detection=Detection(fail, fail, fail))  # type: ignore[arg-type]  # it fails
    first = response_filter.push(FilterState(), f"{OPENING} ", 0.0)
    second = response_filter.push(first.state, f"{OPENING} ", 0.0, final=True)
    assert first.text + second.text == f"{OPENING} {OPENING} "
    errors = (*first.errors, *second.errors)
    assert errors
    assert all(isinstance(error, ZeroDivisionError) for error in errors)
    assert second.duplicates == ()


@pytest.mark.parametrize(
    "policy",
    [
        {"threshold": 1.1},
        {"threshold": -0.1},
        {"window_sentences": 0},
        {"hold_seconds": -1.0},
        {"idle_seconds": 0.0},
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(policy: dict[str, float]) -> None:
    with pytest.raises(ConfigurationError):
        FilterPolicy(**policy)  # type: ignore[arg-type]  # a test's values
