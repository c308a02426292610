"""What the response filter takes out, what it leaves as it is, and when text leaves."""

from __future__ import annotations

import pytest

from models.errors import ConfigurationError
from processors.responses.filter import ResponseFilter, filter_text
from processors.responses.filter_state import Duplicate, FilterPolicy, FilterState
from processors.responses.history import MEMORY, SeenElement, before_response

OPENING = "The museum opens at nine in the morning."
PARKING = "You can leave your car behind the house."
TICKETS = "Tickets are sold at the old town hall."


class Stream:
    """A response, piece by piece."""

    def __init__(self, policy: FilterPolicy | None = None, said: tuple[str, ...] = ()) -> None:
        self.filter = ResponseFilter(policy)
        self.state = FilterState(said=before_response(tuple(SeenElement(each, first=True) for each in said)))
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
        f"```\n{OPENING}\n{OPENING}\n\n\n```\n",
        f"Code:\n\n    {OPENING}\n    {OPENING}\n",
        f"a | b\n--- | :-:\n{OPENING} | yes\n{OPENING} | no\n{PARKING} {OPENING} | no\n",
        # So is what has a label.
        f"{TICKETS} Our guide says: {OPENING} Our guide says: {OPENING}",
        "**Bring an umbrella!** Bye.\n\n**Bring an umbrella!**",
        # A correction may repeat what it corrects.
        "Instead of “is now”, write “was then”, please. Instead of “is now”, write “was then”, please.",
        "Q: When does the museum open?\nA: It opens at nine in the morning.\n\n"
        "Q: And the garden?\nA: It opens at nine in the morning.\n",
    ],
)
def test_text_without_duplicates_is_byte_for_byte_the_same(text: str) -> None:
    result = filter_text(text)
    assert result.text == text
    assert (result.duplicates, result.errors) == ((), ())


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (f"{OPENING} {PARKING} {OPENING} {TICKETS}", f"{OPENING} {PARKING} {TICKETS}"),
        (f"{OPENING}\n\n{OPENING}\n\n{TICKETS}", f"{OPENING}\n\n{TICKETS}"),
        (f"$$\nx = 1\n$$\n\n{OPENING}\n\n{OPENING}", f"$$\nx = 1\n$$\n\n{OPENING}"),
        ("您对花生过敏。请避免坚果。您对花生过敏。", "您对花生过敏。请避免坚果。"),
        (f"- {OPENING}\n- {TICKETS}\n\n{OPENING} Bye.", f"- {OPENING}\n- {TICKETS}\n\nBye."),
        (f"# A\n\n{OPENING}\n\n# A\n\n{OPENING}\n\n{TICKETS}\n", f"# A\n\n{OPENING}\n\n# A\n\n{TICKETS}\n"),
                # A label has four words at most, and a line of verse less than sixty characters.
        ("All of its opening hours: it opens at nine. All of its opening hours: it opens at nine.",
         "All of its opening hours: it opens at nine."),
        (f"{OPENING}\n\n{'So ' * 10}the boat goes down the stream for us.\n{OPENING}\n\nBye.",
         f"{OPENING}\n\n{'So ' * 10}the boat goes down the stream for us.\n\nBye."),
    ],
)  # fmt: skip
def test_a_duplicate_goes_and_leaves_clean_white_space(text: str, kept: str) -> None:
    result = filter_text(text)
    assert (result.text, result.errors) == (kept, ())


@pytest.mark.parametrize(
    "text",
    [
        # The rest of a wrapped item, or a paragraph under it, goes with its list only.
        f"- See the garden.\n{OPENING}\n- See the house.\n{OPENING}\n",
        # What begins in lower case goes on with what is shown before it.
        "    a = b\n\nwhere `b` is the price of it.\n\n    c = b\n\nwhere `b` is the price of it.",
        # Under another heading it says something about another thing.
        f"# A\n\n{OPENING}\n\n# B\n\n{OPENING}\n\n# C\n",
        # What an overview lists is said again where it is explained.
        f"1. **One**: {OPENING}\n2. **Two**: {PARKING}\n\n## One\n\n{OPENING}\n\n## Two\n\n{PARKING}",
        # What an item quotes may be used in the text that it is for.
        f'- **Opening**: "{OPENING}"\n- **Body**: be brief.\n\nDear Ada, hello. {OPENING} Bye.',
    ],
)
def test_what_is_shown_again_on_purpose_stays(text: str) -> None:
    result = filter_text(text)
    assert result.text == text
    assert all(each.kept for each in result.duplicates)


def test_the_venue_list_of_the_seed_appears_once() -> None:
    venues = (
        "Here are some Italian restaurants in South Philly:\n\n"
        "1. **Villa di Roma** - 936 S 9th St, a red gravy place with an open kitchen.\n"
        "2. **Ralph's** - 760 S 9th St, the oldest Italian restaurant in America.\n"
    )
    result = filter_text(f"{venues}\nLet me check the prices.\n\n{venues}\nBoth are in your range.\n")
    assert result.text == f"{venues}\nLet me check the prices.\n\nBoth are in your range.\n"
    assert [duplicate.score for duplicate in result.duplicates] == [1.0, 1.0, 1.0]


def test_a_removal_tells_what_it_repeats_and_where() -> None:
    section = f"# Visit\n\n{OPENING}\n\n**By car**\n\n- {PARKING}\n"
    text = f"{section}\nSo much for today.\n\n{section}\n# End\n\n{TICKETS} {OPENING}\n"
    result = filter_text(text)
    assert result.text == f"{section}\nSo much for today.\n\n# End\n\n{TICKETS}\n"
    again = text.index("# Visit", 1)
    places = [
        ("# Visit", again),
        (OPENING, text.index(OPENING, again)),
        ("**By car**", text.rindex("**By car**")),
    ]
    places += [(f"- {PARKING}", text.rindex("- ")), (OPENING, text.rindex(OPENING))]
    gone = sorted(result.duplicates, key=lambda each: each.position)
    assert gone == [Duplicate(each, each, 1.0, at) for each, at in places]


def test_code_is_not_taken_out_by_itself() -> None:
    shown = "Here is the code for it:\n\n```py\nopen(museum)\n```"
    text = f"{OPENING}\n\n{shown}\n\n{PARKING}\n\n{shown}\n\n{TICKETS}"
    assert filter_text(text).text == text
    section = f"# A\n\n{shown}\n\n# B\n"
    assert filter_text(f"{section}\n{section}").text == f"{section}\n{section}"
    section = f"# A\n\n1. {OPENING}\n\n   $$\n   x = 1\n   $$\n"
    assert filter_text(f"{section}\n# B\n\n{TICKETS}\n\n{section}").text == f"{section}\n# B\n\n{TICKETS}\n"
    whole = f"# A\n\n{shown}\n\nThen {PARKING}\n"
    assert filter_text(f"{whole}\n# B\n\n{TICKETS}\n\n{whole}").text == f"{whole}\n# B\n\n{TICKETS}\n"


#: Differ in one thing that matters: number, unit, letter, symbol, negation, quantity, name, tense.
DIFFERENT = [
    ("Room 12 is free for the whole week.", "Room 13 is free for the whole week."),
    ("The licence that we offer is exclusive here.", "The licence that we offer is non-exclusive here."),
    ("The table is booked for Anna Weber today.", "The table is booked for Hanna Weber today."),
    ("The museum opens at nine in the morning?", "The museum opens at nine in the morning."),
    ("El museo abre hoy a las nueve en punto.", "El museo no abre hoy a las nueve en punto."),
    ("今天的天气真的非常好我们可以出去。", "今天的天气真的非常好我们不可以出去。"),
]


@pytest.mark.parametrize(("first", "second"), DIFFERENT)
def test_what_differs_in_one_thing_that_matters_is_kept(first: str, second: str) -> None:
    for a, b in ((first, second), (second, first)):
        for text in (f"{a} {b}", f"{a}\n\n{b}", f"- {a}\n\n{b}", f"Note well:\n\n- {a}\n\nNote well:\n\n- {b}"):
            result = filter_text(text)
            assert result.text == text
            assert all(duplicate.kept for duplicate in result.duplicates)


def test_similar_sentences_are_kept_unless_the_filter_is_fuzzy() -> None:
    again = "The museum is opening at nine in the morning."
    text = f"{OPENING} {PARKING} {again}"
    result = filter_text(text)
    (duplicate,) = result.duplicates
    assert result.text == text
    assert (duplicate.sentence, duplicate.similar, duplicate.kept) == (again, OPENING, True)
    assert duplicate.position == text.index(again)
    assert 0.85 <= duplicate.score < 1.0
    fuzzy = filter_text(text, FilterPolicy(fuzzy=True))
    assert fuzzy.text == f"{OPENING} {PARKING}"
    assert [each.kept for each in fuzzy.duplicates] == [False]


def test_exact_repetitions_are_found_anywhere_similar_ones_in_the_window() -> None:
    others = [f"{a}{b}{a} walks along {b}{a} street with {a}{a}." for a in "ABCDEFGH" for b in "stuvwxyz"]
    similar = "The museum is opening at nine in the morning."
    text = f"{OPENING} {' '.join(others)} {similar} {OPENING}"
    result = filter_text(text)
    assert result.text == f"{OPENING} {' '.join(others)} {similar}"
    assert [duplicate.kept for duplicate in result.duplicates] == [False]
    wider = filter_text(text, FilterPolicy(window_sentences=100))
    assert [duplicate.kept for duplicate in wider.duplicates] == [True, False]


def test_memory_is_bounded() -> None:
    text = " ".join(f"The number of this very sentence is {number}." for number in range(MEMORY + 10))
    step = ResponseFilter().push(FilterState(), text, 0.0, final=True)
    assert len(step.state.said) == MEMORY
    assert step.text == text


@pytest.mark.uncounted
@pytest.mark.parametrize(
    "piece",
    [*(" ", "\n", "\t\r\n", "-", "- ", "=\t", "`", "```", "~", "$", "x\n\n", "```\n", "# ", ": ", "|", ">"),
     *("> ", "1. ", "*a* ", "``` x", "\n```\n\n   ", "\n~~~~\n>", "\n$$\n  ")],
)  # fmt: skip
@pytest.mark.parametrize("before", ["and", "\n```\n", "\na | b\n- | -\n"])
def test_whatever_is_said_without_end_the_state_stays_small(before: str, piece: str) -> None:
    text = f"{OPENING}{before}" + piece * (8_000 // len(piece))
    stream, sent, held = Stream(), "", []
    for at in range(0, len(text), 997):
        sent += stream.push(text[at : at + 997])
        held.append(len(stream.state.text))
    half = len(held) // 2
    assert max(held[half:]) < min(max(held[:half]) + 997, 5_000), "what is held grows with what is said"
    sent += stream.push("", final=True)
    assert sent == filter_text(text).text


@pytest.mark.parametrize("ending", [" and nothing else.", " ", ""])
@pytest.mark.parametrize("held", [" The museum op", " ", f" {OPENING}", f" {OPENING} "])
def test_held_text_leaves_when_the_filter_is_off(held: str, ending: str) -> None:
    stream = Stream()
    sent = stream.push(OPENING + held)
    stream.filter = ResponseFilter(FilterPolicy(threshold=1.0))
    sent += stream.push(ending) + stream.push("", final=True)
    assert sent in (OPENING + held + ending, OPENING + ending)
    assert (stream.state.text, stream.state.held_since) == ("", None)


@pytest.mark.parametrize(
    ("policy", "why"),
    [
        ({"threshold": 1.1}, "between 0 and 1"),
        ({"window_sentences": 0}, "at least 1 sentence"),
        ({"idle_seconds": 0.0}, "more than 0 s"),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(policy: dict[str, float], why: str) -> None:
    with pytest.raises(ConfigurationError, match=why):
        FilterPolicy(**policy)  # type: ignore[arg-type]  # a test's values
