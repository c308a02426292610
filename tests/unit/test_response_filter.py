"""What the response filter takes out, what it leaves as it is, and when text leaves."""

from __future__ import annotations

import msgspec
import pytest

from models.errors import ConfigurationError
from processors.responses.elements import Context, Element, read_element
from processors.responses.filter import ResponseFilter, filter_text
from processors.responses.filter_state import Duplicate, FilterPolicy, FilterState
from processors.responses.history import MEMORY, Said, before_response
from processors.responses.release import join_gaps

OPENING = "The museum opens at nine in the morning."
PARKING = "You can leave your car behind the house."
TICKETS = "Tickets are sold at the old town hall."


class Stream:
    """A response, piece by piece."""

    def __init__(self, policy: FilterPolicy | None = None, said: tuple[str, ...] = ()) -> None:
        self.filter = ResponseFilter(policy)
        self.state = FilterState(said=before_response(tuple(Said(each, first=True) for each in said)))
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
        # Items go with their list only: each may say the same of something else.
        f"- {OPENING}\n- {OPENING}\n- {TICKETS}\n",
        f"{OPENING}\n\n1. {OPENING}\n2. {TICKETS}\n\nBye.",
        f"# A\n\n- {OPENING}\n- {TICKETS}\n\n# B\n\n- {OPENING}\n- {TICKETS}\n",
        # Quoted: that somebody said it is another thing than saying it.
        f"> {OPENING}\n\n> {OPENING}\n\nBye.",
        f"{OPENING}\n\n> {OPENING}\n\n“{OPENING}”",
        '"Say it. Say it again." Go home. "Say it. Say it again."',
        # What stands in brackets is not taken out of them, whatever else stands there.
        f"{OPENING} She said (of `f(x)`: it is so. {OPENING}) Bye.",
        f"{OPENING} She said (as (we all) know: it is so. {OPENING}) Bye.",
        f"{OPENING} She said, “it is\nas we all know. {OPENING} Yes.” Bye.",
        f"**“{OPENING}”** Bye.\n\n**“{OPENING}”**",
        # So is what has a label.
        f"{TICKETS} Our guide says: {OPENING} Our guide says: {OPENING}",
        "One of its hours: it opens at nine in the morning. One of its hours: it opens at nine in the morning.",
        # A line without a stop may be a label, a line of verse, a title.
        "No stop at the end of this\n\nNo stop at the end of this",
        "Row, row, row your boat now,\nGently down the stream today.\nRow, row, row your boat now,\nGently.\n",
        f"The boat goes down the stream until nine.\n{'So ' * 9}the boat goes down the stream for us.\n" * 2,
        # Too short to be said again by mistake (fewer than five words).
        "Wrapped text\ngoes on.\n\nWrapped text goes on.",
        "**Bring an umbrella!** Bye.\n\n**Bring an umbrella!**",
        "المتحف مفتوح كل يوم. المتحف مفتوح كل يوم. نعم.",
        # What introduces something goes with it only.
        "Here is how you do it today:\n\n- one\n\nHere is how you do it today:\n\n- two\n",
        # A correction may repeat what it corrects.
        "Instead of “is now”, write “was then”, please. Instead of “is now”, write “was then”, please.",
        "It should read nine in the morning. It should read nine in the morning.",
        "Change nine to ten in the first line. Change nine to ten in the first line.",
        "The meeting is at nine.\n\nFixed: the meeting is at nine.\n\nFixed: the meeting is at nine.",
        "def f():\n    return 1\n\ndef f():\n    return 1\n",
        "for each in rooms:\n    show(each)\nclose()\n\nfor each in rooms:\n    show(each)\nclose()\n",
        "total = price_of(room) + tax_of(room);\ntotal = price_of(room) + tax_of(room);\n",
        "a + b = c + d = 12 - 4\n\na + b = c + d = 12 - 4\n",
        '{"name": "ada", "age": 36}\n\n{"name": "ada", "age": 36}\n',
        '```json\n{"name": "ada", "age": 36}\n```\n\n```json\n{"name": "ada", "age": 36}\n```\n',
        "town:\n  hall: old, red\n  open: nine to five\n\ntown:\n  hall: old, red\n  open: nine to five\n",
        "name: the old town hall\nopen: at nine in the morning\n\nname: the old town hall\nopen: at ten\n",
        # What stands under a heading goes with it only: labels.
        f"# A\n\n**Guide**\nOld town, 2020\n\n- {OPENING}\n\n# B\n\n**Guide**\nOld town, 2020\n\n- {TICKETS}\n",
        f'# A\n\n**Body:**\n"{OPENING}"\n\n# B\n\n**Body:**\n"{OPENING}"\n\nBye.',
        f"# A\n\n**Guide**\n- {OPENING}\n- {PARKING}\n\n# B\n\n**Guide**\n- {OPENING}\n- {PARKING}\n\nBye.",
        # Written in bold the second time, a list is another one.
        f"# A\n\n- {OPENING}\n- {TICKETS}\n\n# A\n\n- **{OPENING}**\n- {TICKETS}\n",
        # So does what is indented under an item.
        f"# A\n\n1. {OPENING}\n\n   ```\n   x = 1\n   ```\n\n# A\n\n1. {OPENING}\n\n   ```\n   x = 2\n   ```\n",
        # A list with something new in it is a new list, from its first item on.
        f"Note:\n\n1. {OPENING}\n2. {PARKING}\n\nBye.\n\nNote:\n\n1. {OPENING}\n2. {PARKING}\n3. {TICKETS}\n",
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
        (f"{OPENING} {OPENING}", OPENING),
        (f"{OPENING} Really.{OPENING} Bye.", f"{OPENING} Really. Bye."),
        (f"{OPENING}\n\n{OPENING}\n", f"{OPENING}\n"),
        (f"{OPENING}\n\n{OPENING}\n\n{TICKETS}", f"{OPENING}\n\n{TICKETS}"),
        (f"{OPENING}\n\n{OPENING} {TICKETS}", f"{OPENING}\n\n{TICKETS}"),
        (f"{OPENING} {OPENING}\n\n{TICKETS}", f"{OPENING}\n\n{TICKETS}"),
        (f"{OPENING}\r\n\r\n{OPENING}\r\n\r\n{TICKETS}\r\n", f"{OPENING}\r\n\r\n{TICKETS}\r\n"),
        (f"{OPENING}\n\n{OPENING}\n\n```\nx\n```\n", f"{OPENING}\n\n```\nx\n```\n"),
        (f"a | b\n-|-\n1 | 2\n\n{OPENING}\n\n{OPENING}", f"a | b\n-|-\n1 | 2\n\n{OPENING}"),
        (f"$$\nx = 1\n$$\n\n{OPENING}\n\n{OPENING}", f"$$\nx = 1\n$$\n\n{OPENING}"),
        (f"$$ means cheap.\n\n{OPENING}\n\n{OPENING}", f"$$ means cheap.\n\n{OPENING}"),
        ("Wrapped text goes\non and on.\n\nWrapped text goes on and on.", "Wrapped text goes\non and on."),
        ("今天的天气真的非常好。我们走吧。今天的天气真的非常好。", "今天的天气真的非常好。我们走吧。"),
        ("您对花生过敏。请避免坚果。您对花生过敏。", "您对花生过敏。请避免坚果。"),
        ("المتحف مفتوح كل يوم للجميع. المتحف مفتوح كل يوم للجميع. نعم.", "المتحف مفتوح كل يوم للجميع. نعم."),
        (f"- {OPENING}\n- {TICKETS}\n\n{OPENING} Bye.", f"- {OPENING}\n- {TICKETS}\n\nBye."),
        (f"# A\n\n{OPENING}\n\n# A\n\n{OPENING}\n\n# C\n", f"# A\n\n{OPENING}\n\n# C\n"),
        (f"# A\n\n{OPENING}\n\n# A\n\n{OPENING}\n\n{TICKETS}\n", f"# A\n\n{OPENING}\n\n# A\n\n{TICKETS}\n"),
        ("You should be able to do it instead of me. " * 2, "You should be able to do it instead of me."),
        (f"{OPENING} {PARKING}" * 3, f"{OPENING} {PARKING}"),
        ("the cat sat on the mat. the cat sat on the mat. done", "the cat sat on the mat. done"),
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
        f"- The garden\n\n  {OPENING}\n\n- The house\n\n  {OPENING}\n",
        # A line that was wrapped before a link does not end its sentence.
        f"For more of it, see\n[the whole of it](a).\n\n{OPENING} For others, see\n[the whole of it](a).",
        # Code that is only indented, its comments too.
        f"So:\n\n    # {OPENING}\n    open(a)\n    close(a)\n\nOr:\n\n    # {OPENING}\n    open(a)\n\nBye.",
        # What begins in lower case goes on with what is shown before it.
        "    a = b\n\nwhere `b` is the price of it.\n\n    c = b\n\nwhere `b` is the price of it.",
        # A list that is shorter now is another one, under the same heading too.
        f"# A\n\n- {OPENING}\n- {PARKING}\n- {TICKETS}\n\n# A\n\n- {OPENING}\n- {PARKING}\n\n# B\n",
        # Under another heading it says something about another thing.
        f"# A\n\n{OPENING}\n\n# B\n\n{OPENING}\n\n# C\n",
        f"# A\n\n{OPENING} {PARKING}\n\n# B\n\n{OPENING} {PARKING} {TICKETS}\n",
        # What an overview lists is said again where it is explained.
        f"1. **One**: {OPENING}\n2. **Two**: {PARKING}\n\n## One\n\n{OPENING}\n\n## Two\n\n{PARKING}",
        # A draft, and the draft revised: after a line or a heading that announces it, with or without rules.
        f"A draft:\n\n{OPENING} {PARKING}\n\nRevised:\n\n{OPENING} Bring a friend. {PARKING}\n\nBye.",
        f"# Draft\n\n---\n\n{OPENING}\n\n{PARKING}\n\n# Final\n\n---\n\n{OPENING}\n\n{PARKING}\n\n---\n\nBye.",
        f"**Hi Ada,**\n\n{OPENING} {TICKETS}\n\n## Again\n\n**Hi Ada,**\n\nIt is open. {TICKETS} Bye.\n",
        # The same plan under the heading that calls it an example, part by part.
        f"## Plan\n\n### May 1\n\n- {OPENING}\n- {PARKING}\n\n### May 2\n\n- {TICKETS}\n- {PARKING}\n\n"
        f"## Example\n\n### May 1\n\n- {OPENING}\n- {PARKING}\n\n### May 2\n\n- {TICKETS}\n- {PARKING}\n\nBye.",
        # What an item quotes may be used in the text that it is for.
        f'- **Opening**: "{OPENING}"\n- **Body**: be brief.\n\nDear Ada, hello. {OPENING} Bye.',
    ],
)
def test_what_is_shown_again_on_purpose_stays(text: str) -> None:
    result = filter_text(text)
    assert result.text == text
    assert all(each.kept for each in result.duplicates)


@pytest.mark.parametrize(
    "again", [OPENING, f"{OPENING} {PARKING}", f"Hello to all of you out there. {OPENING}"]
)
def test_what_is_said_again_after_a_draft_was_shown_again_goes(again: str) -> None:
    said = (
        f"Hello to all of you out there. {OPENING} {PARKING}\n\n# Draft\n\nThe garden is open all day.\n\n"
        "The shop is closed on Mondays.\n\n# Final\n\nThe garden is open all day.\n\nBye for now, my friends."
    )
    assert filter_text(f"{said}\n\n{again}\n\nDone.").text == f"{said}\n\nDone."


def test_what_a_draft_shows_again_ends_with_its_section() -> None:
    plan = f"#### Plan\n\n- {OPENING}\n- {PARKING}\n\n"
    garden = "The garden is open all day.\n\n"
    said = f"### Draft\n\n{garden}{plan}### Final\n\n{garden}### Bye\n\n"
    assert filter_text(f"{said}So long.\n\n{plan}### End\n").text == f"{said}So long.\n\n### End\n"


@pytest.mark.parametrize("last", ["  $$\n  x = 1\n  $$\n", "- Ask the server:\n"])
def test_a_section_goes_whatever_its_list_ends_with(last: str) -> None:
    """What a list shows belongs to it; a line that leads on leads nowhere if its section is over."""
    section = f"## Plan\n\n- {OPENING}\n{last}\n"
    text = f"{section}The rest of it is easy.\n\n"
    assert filter_text(f"{text}{section}## End\n").text == f"{text}## End\n"


def test_what_a_draft_shows_again_goes_when_it_comes_a_third_time() -> None:
    plan = f"## Plan\n\n- {OPENING}\n- {PARKING}\n\n"
    said = f"# Draft\n\n{plan}# Final\n\n{plan}{TICKETS}\n\n"
    assert filter_text(f"{said}{plan}# End\n").text == f"{said}# End\n"


def test_a_draft_is_known_however_much_was_said_before() -> None:
    """What is remembered is bounded: the oldest goes, and the place of the draft moves."""
    lines = [f"Sentence number {number} stands here alone." for number in range(MEMORY)]
    draft = f"# Draft\n\n{OPENING}\n\n{PARKING}\n\n{TICKETS}\n\n"
    again = f"# Final\n\n{OPENING}\n\nBring a friend.\n\n{PARKING}\n\nBring two.\n\n{TICKETS}\n\n"
    text = "\n\n".join(lines) + f"\n\n{draft}{again}{OPENING}\n\nBye."
    assert filter_text(text).text == text.replace(f"{again}{OPENING}\n\n", again)


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


@pytest.mark.parametrize(
    ("before", "after", "leads", "left"),
    [
        (" ", "  ", False, " "),
        ("", " ", False, " "),
        ("", " ", True, ""),
        ("  ", "\n\n", False, "\n\n"),
        ("\n", "\n\n  ", False, "\n\n  "),
        ("\n\n\n ", "\n\n  ", False, "\n\n\n  "),
        ("\n\n", "\n", False, "\n\n"),
        ("", "\n\n  ", True, "  "),
    ],
)
def test_the_white_space_around_what_went_becomes_one(before: str, after: str, leads: bool, left: str) -> None:
    assert join_gaps(before, after, leads=leads) == left


def test_of_what_goes_is_told_what_it_repeats_and_where_it_stood() -> None:
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


@pytest.mark.parametrize("pause", [0.02, 0.07, 0.2])
def test_the_venue_list_streamed_piece_by_piece_appears_once(pause: float) -> None:
    """Seed 003, as its bug report has it: the list comes again in a stream that takes its time."""
    venues = (
        "Here are some Italian restaurants in South Philly:\n\n"
        "1. **Villa di Roma** - 936 S 9th St, a red gravy place with an open kitchen.\n"
        "2. **Ralph's** - 760 S 9th St, the oldest Italian restaurant in America.\n"
    )
    text = f"{venues}\nLet me check the prices.\n\n{venues}\nBoth are in your range.\n"
    stream, sent = Stream(), ""
    for at in range(0, len(text), 5):
        if (due := stream.filter.wake_at(stream.state)) is not None and due <= stream.now + pause:
            sent += stream.tick(due - stream.now)
        sent += stream.push(text[at : at + 5], after=pause, final=at + 5 >= len(text))
    assert sent == f"{venues}\nLet me check the prices.\n\nBoth are in your range.\n"


#: An answer with what an answer has: short sentences, lists, steps, code between them, a table, a quotation.
ANSWER = f"""Certainly! Here is how you plan it:

1. **Come early**: {OPENING}
2. **Park well**: {PARKING}

### Step 1: Look it up

First, ask the server:

```python
import museum

print(museum.opening("Monday"))
```

Then read the table.

| Day | Opens |
| --- | --- |
| Monday | nine |

### Step 2: Go

> {TICKETS}

- Bring a jacket:

  ```sh
  ls jackets
  ```

- Bring an umbrella

Have fun!"""


@pytest.mark.parametrize("pause", [0.01, 0.4, 1.0])
def test_an_answer_said_twice_appears_once_however_slowly_it_comes(pause: float) -> None:
    """An element may wait for ten seconds; a passage of any length may go on as long as it is the same."""
    stream, sent = Stream(), ""
    text = f"{ANSWER}\n\n{ANSWER}\n"
    for at in range(0, len(text), 12):
        if (due := stream.filter.wake_at(stream.state)) is not None and due <= stream.now + pause:
            sent += stream.tick(due - stream.now)
        sent += stream.push(text[at : at + 12], after=pause, final=at + 12 >= len(text))
    assert sent == f"{ANSWER}\n"


def test_a_stream_that_stands_still_lets_go_of_all_that_is_held() -> None:
    stream = Stream()
    stream.push("Bring these things with you:\n\n- a warm jacket\n- an umbrella\n- a hat\n\nBye.\n\n")
    assert stream.push("Bring these things with you:\n\n- a warm jacket\n", after=9.0) == ""
    assert stream.push("- an umb", after=9.0) == ""
    assert stream.tick(9.0) == ""
    assert stream.tick(1.0) == "\n\nBring these things with you:\n\n- a warm jacket\n- an umb"


def test_a_label_under_another_heading_does_not_make_its_text_wait() -> None:
    stream = Stream()
    stream.push("# A\n\n**Steps**\n\n1. Open the lid\n\nTake these:\n\n- one\n\n# B\n\n")
    stream.push("**Steps**\n\n")
    assert stream.push("1. Open").endswith("1. Open")
    stream.push(" it\n\nTake these:\n\n")
    assert stream.push("- one").endswith("- one")


@pytest.mark.parametrize("stop", [".", "!", "?"])
def test_a_long_quotation_waits_sentence_by_sentence(stop: str) -> None:
    quoted = " ".join(f"The number of this very sentence is {number}{stop}" for number in range(20))
    text = f'# A\n\nShe said this of it.\n\n"{quoted}"\n\nAnd so on, and so on.\n\n'
    stream, sent = Stream(), ""
    for at in range(0, len(text + text), 6):
        if (due := stream.filter.wake_at(stream.state)) is not None and due <= stream.now + 0.5:
            sent += stream.tick(due - stream.now)
        sent += stream.push((text + text)[at : at + 6], after=0.5)
    assert sent + stream.push("", final=True) == text


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


@pytest.mark.parametrize(
    "text",
    [
        "It costs$5.50,i.e.about5euros\n-:\n\nIt costs$5.50,i.e.about5 euros.It cost$5.50i.e about5 euro.Io",
        f"# A\n\n{OPENING}\n\n{PARKING}\n\n# A\n\n{OPENING} {TICKETS}\n\n{PARKING}",
        f"# A\n\n{OPENING}\n\nBye\n\n# A\n\n{OPENING}\n\nSo long\n---\n{PARKING}",
        f"Look here:\n\n- {OPENING}\n\nBye\n\nLook here:\n\n- {OPENING}\n**So long**\n{PARKING}",
        f"# A\n\n{OPENING}\n\n# A\n\n{OPENING}\n\n**So long, as it goes**, {PARKING}",
        f"# A\n\n{OPENING}\n\n# A\n\n{OPENING}\n\n# B\n\n{PARKING}",
        f"**One**\n\n{OPENING}\n\nSo long.\n\n**One**\n\n{OPENING}\n\n**Two**\n\n{PARKING}",
        f"**One**\n\n{OPENING}\n\nSo long.\n\n**One**\n\n{OPENING}\n\n**Two**, as it goes, {PARKING}",
        f"Note:\n\n{OPENING} {PARKING}\n\nOnce more:\n\n{OPENING} {PARKING}\n\nBye.",
    ],
)
def test_what_is_read_one_by_one_is_decided_as_it_is_at_once(text: str) -> None:
    """Found by random texts: what was held left before the next sentence was looked at, or after."""
    whole = filter_text(text)
    stream, duplicates = Stream(), []
    sent = ""
    for character in [*text, ""]:
        step = stream.filter.push(stream.state, character, 0.0)
        stream.state, sent = step.state, sent + step.text
        duplicates += step.duplicates
    step = stream.filter.push(stream.state, "", 0.0, final=True)
    assert (sent + step.text, [*duplicates, *step.duplicates]) == (whole.text, list(whole.duplicates))


def test_two_sentences_three_times_without_a_separator_appear_once() -> None:
    stream = Stream()
    sent = [stream.push(f"{OPENING} {PARKING}", final=number == 2) for number in range(3)]
    assert "".join(sent) == f"{OPENING} {PARKING}"


#: Differ in one thing that matters: number, unit, letter, symbol, negation, quantity, name, tense.
DIFFERENT = [
    ("Room 12 is free for the whole week.", "Room 13 is free for the whole week."),
    ("The file takes 100 Mb of the whole disk.", "The file takes 100 MB of the whole disk."),
    ("The price went from 1.5 to 2 euros today.", "The price went from 15 to 2 euros today."),
    ("Take Route A to the old town hall.", "Take Route B to the old town hall."),
    ("This fruit holds a lot of vitamin A.", "This fruit holds a lot of vitamin D."),
    ("It stops where a != b holds for both.", "It stops where a = b holds for both."),
    ("The area grows with x^2 in this case.", "The area grows with x2 in this case."),
    ("Pass the option -o to the command here.", "Pass the option -O to the command here."),
    ("It is minus: -5 degrees outside right now.", "It is minus: 5 degrees outside right now."),
    ("The ticket for adults costs $5 a day.", "The ticket for adults costs €5 a day."),
    ("The licence that we offer is exclusive here.", "The licence that we offer is non-exclusive here."),
    ("You can park in front of the house.", "You can't park in front of the house."),
    ("The bus stops here often in the winter.", "The bus stops here rarely in the winter."),
    ("The museum has a café for its guests.", "The museum has another café for its guests."),
    ("Members of the club may use the pool.", "Only members of the club may use the pool."),
    ("He was late for the meeting on Monday.", "Even he was late for the meeting on Monday."),
    ("The table is booked for Anna Weber today.", "The table is booked for Hanna Weber today."),
    ("The museum is closed on the first Monday.", "The museum was closed on the first Monday."),
    ("Install the driver before you begin with it.", "Installed the driver before you begin with it."),
    ("Let us eat, grandma, before it is cold.", "Let us eat grandma, before it is cold."),
    ("The museum opens at nine in the morning?", "The museum opens at nine in the morning."),
    ("We met in the White House on Friday.", "We met in the white house on Friday."),
    ("A man is carrying a dog in a canoe.", "A dog is carrying a man in a canoe."),
    ("Der Eingang ist heute für alle offen.", "Der Eingang ist heute nicht für alle offen."),
    ("Die Küche hat bis zehn Uhr geöffnet.", "Die Küche hat bis elf Uhr geöffnet."),
    ("Музей сегодня открыт для всех гостей города.", "Музей сегодня не открыт для всех гостей города."),
    ("El museo abre hoy a las nueve en punto.", "El museo no abre hoy a las nueve en punto."),
    ("المتحف مفتوح اليوم لكل الزوار في المدينة.", "المتحف لا مفتوح اليوم لكل الزوار في المدينة."),
    ("今天的天气真的非常好我们可以出去。", "今天的天气真的非常好我们不可以出去。"),
    ("พิพิธภัณฑ์เปิดทุกวันสำหรับทุกคน!", "พิพิธภัณฑ์ไม่เปิดทุกวันสำหรับทุกคน!"),
]


@pytest.mark.parametrize(("first", "second"), DIFFERENT)
def test_what_differs_in_one_thing_that_matters_is_kept(first: str, second: str) -> None:
    """In prose, in a list and in a block that is otherwise the same, in both orders."""
    for a, b in ((first, second), (second, first)):
        for text in (f"{a} {b}", f"{a}\n\n{b}", f"- {a}\n\n{b}", f"Note well:\n\n- {a}\n\nNote well:\n\n- {b}"):
            result = filter_text(text)
            assert result.text == text
            assert all(duplicate.kept for duplicate in result.duplicates)


@pytest.mark.parametrize(
    "again",
    [
        "the museum   opens at nine\nin the morning!",
        "**The museum opens at nine in the morning.**",
        "The *museum* opens at nine in the morning.",
        "As I said, the museum opens at nine in the morning.",
        "The “museum” opens at nine in the morning…",
    ],
)
def test_harmless_variants_repeat(again: str) -> None:
    assert filter_text(f"{OPENING} {PARKING}\n\nSo: {again}").text == f"{OPENING} {PARKING}\n\nSo: {again}"
    assert filter_text(f"{OPENING} {PARKING} {again} Bye.").text == f"{OPENING} {PARKING} Bye."


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("You can't take the 1,000 steps today.", "You cannot take the 1000 steps today."),
        ("You cannot take the way up today.", "You can not take the way up today."),
        ("It doesn’t open before nine today.", "It does not open before nine today."),
    ],
)
def test_contractions_and_separators_are_harmless(first: str, second: str) -> None:
    assert filter_text(f"{first} {second}").text == first
    assert filter_text(f"{second} {first}").text == second


def test_what_was_taken_out_is_told_with_what_it_repeats() -> None:
    again = "the museum opens at nine in the morning!"
    (duplicate,) = filter_text(f"- {OPENING}\n\n{PARKING} {again}").duplicates
    assert duplicate == Duplicate(again, f"- {OPENING}", 1.0, len(f"- {OPENING}\n\n{PARKING} "))


def test_what_is_only_similar_is_told_and_kept_unless_the_filter_is_fuzzy() -> None:
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


def test_a_heading_that_comes_back_is_not_told_of() -> None:
    text = f"# A\n\n{OPENING}\n\n# A\n\n{OPENING}\n\n"
    assert [each.sentence for each in filter_text(f"{text}{TICKETS}\n").duplicates] == [OPENING]
    gone = [each.sentence for each in filter_text(f"{text}# B\n\n{TICKETS}\n").duplicates]
    assert sorted(gone) == ["# A", OPENING]


def test_nothing_is_held_as_long_as_nothing_was_said() -> None:
    stream = Stream()
    pieces = ["# He", "ading\n\nThe mu", "seum ", "opens", " at nine", " in the morning", "."]
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


@pytest.mark.parametrize("text", ["**Note:**", "**Note:*", "Note(", "Note…"])
def test_what_has_left_the_run_never_waits_again(text: str) -> None:
    """What is out of an unfinished response does not depend on its cuts either."""
    stream = Stream(said=(OPENING,))
    assert "".join(map(stream.push, text)) == Stream(said=(OPENING,)).push(text) == text.rstrip()


def test_the_rest_of_a_line_that_is_leaving_leaves_whatever_it_says() -> None:
    stream = Stream(said=(OPENING,))
    stream.push("- One. ")
    assert [stream.push(piece) for piece in ("It is.", " *So", "*. ", OPENING)] == [
        "It is.",
        " *So",
        "*. ",
        OPENING,
    ]
    assert stream.push(f"\n\n{OPENING} ") + stream.push("Bye", final=True) == "\n\nBye"


def test_what_follows_a_stop_in_a_sentence_that_is_leaving_may_begin_another() -> None:
    stream = Stream(said=(OPENING,))
    assert stream.push("It is so") + stream.push(" at nine") + stream.push(".") == "It is so at nine."
    assert stream.push("T") + stream.push("he museum opens at nine in the morning.", final=True) == ""


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
    assert stream.filter.wake_at(stream.state) == 11.0
    assert stream.tick(9.5) == ""
    assert stream.tick(0.5) == " The museum"
    assert stream.waited == [10.0]
    assert stream.push(" opens at nine in the morning.") == " opens at nine in the morning."
    assert stream.push(f" {OPENING}") + stream.push("", final=True) == ""


def test_what_is_only_similar_waits_for_the_shorter_time() -> None:
    stream = Stream(FilterPolicy(fuzzy=True))
    stream.push(OPENING)
    assert stream.push(" Then the museum is", after=1.0) == ""
    assert stream.filter.wake_at(stream.state) == 1.5
    assert stream.tick(0.5) == " Then the museum is"


def test_what_leaves_its_run_leaves_at_once_with_all_that_waited() -> None:
    stream = Stream()
    stream.push("Bring these:\n\n- a warm jacket for the wind\n- an umbrella\n\nAnd then?\n\n")
    assert stream.push("Bring these:\n\n- a warm jacket for the wind\n- an") == ""
    assert stream.push("other hat") == "\n\nBring these:\n\n- a warm jacket for the wind\n- another hat"


def test_what_waits_is_bounded_in_characters_too() -> None:
    stream = Stream(FilterPolicy(repeat_hold_characters=20))
    stream.push(OPENING)
    assert stream.push(" The museum opens") == ""
    assert stream.push(" at nine in the") == " The museum opens at nine in the"


def test_a_late_chunk_counts_like_the_clock() -> None:
    stream = Stream()
    stream.push(OPENING)
    assert stream.push(" The museum opens") == ""
    assert (
        stream.push(" at nine in the morning. ", after=10.0, final=True)
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


def test_a_sentence_without_end_passes() -> None:
    endless = "word " * 1000
    assert filter_text(f"{endless}\n\n{endless}").text == f"{endless}\n\n{endless}"
    state = ResponseFilter().push(FilterState(), endless, 0.0).state
    assert len(state.text) < 10


@pytest.mark.uncounted
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
    text = f"{OPENING}{before}" + piece * (8_000 // len(piece))
    stream, sent, held = Stream(), "", []
    for at in range(0, len(text), 997):
        sent += stream.push(text[at : at + 997])
        held.append(len(stream.state.text))
    half = len(held) // 2
    assert max(held[half:]) < min(max(held[:half]) + 997, 5_000), "what is held grows with what is said"
    sent += stream.push("", final=True)
    assert sent == filter_text(text).text


def test_a_long_text_at_once_takes_no_more_than_its_chunks_would(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its sentences are read one by one; reading all the rest for each would be quadratic."""
    lengths: list[int] = []

    def noting(text: str, context: Context, *, final: bool) -> Element:
        lengths.append(len(text))
        return read_element(text, context, final=final)

    monkeypatch.setattr("processors.responses.filter.read_element", noting)
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


def test_a_lower_threshold_tells_of_more_and_fuzzy_takes_it_out() -> None:
    said = "The company said on Friday that it will close two of its five plants."
    again = "The company said on Friday that it will soon close two of its five old plants."
    assert filter_text(f"{said} {again}").duplicates == ()
    lower = filter_text(f"{said} {again}", FilterPolicy(threshold=0.5))
    assert (lower.text, [each.kept for each in lower.duplicates]) == (f"{said} {again}", [True])
    assert filter_text(f"{said} {again}", FilterPolicy(threshold=0.5, fuzzy=True)).text == said


def test_errors_in_similarity_let_the_text_through_and_are_counted() -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    step = ResponseFilter(find=fail).push(FilterState(), f"{OPENING} {PARKING} ", 0.0, final=True)
    assert step.text == f"{OPENING} {PARKING} "
    assert len(step.errors) == 2
    assert all(isinstance(error, ZeroDivisionError) for error in step.errors)
    assert step.duplicates == ()


@pytest.mark.parametrize(
    "broken", ["History.beginning", "History.saying", "Begun.may_repeat", "History.going_on", "Said.stops"]
)
def test_whatever_fails_in_the_history_nothing_is_lost_but_what_is_told(
    broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    breaks = property(fail) if broken == "Said.stops" else fail
    monkeypatch.setattr(f"processors.responses.history.{broken}", breaks)
    text = f"Read this first:\n\n- {OPENING}\n- {PARKING}\n\n{TICKETS}\n\n"
    stream = Stream()
    sent, errors = "", 0
    taken: list[Duplicate] = []
    whole = [text, *text, TICKETS]
    for number, piece in enumerate(whole):
        step = stream.filter.push(stream.state, piece, 0.0, final=number == len(whole) - 1)
        stream.state, sent, errors = step.state, sent + step.text, errors + len(step.errors)
        taken += [each for each in step.duplicates if not each.kept]
    assert errors
    left = "".join(whole)
    for duplicate in reversed(taken):
        left = left[: duplicate.position] + left[duplicate.position + len(duplicate.sentence) :]
    assert sent.split() == left.split()


@pytest.mark.parametrize(
    ("policy", "why"),
    [
        ({"threshold": 1.1}, "between 0 and 1"),
        ({"threshold": -0.1}, "between 0 and 1"),
        ({"window_sentences": 0}, "at least 1 sentence"),
        ({"hold_seconds": -1.0}, "0 s or more"),
        ({"idle_seconds": 0.0}, "more than 0 s"),
        ({"repeat_hold_seconds": -1.0}, "0 s and 0 characters or more"),
        ({"repeat_hold_characters": -1}, "0 s and 0 characters or more"),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(policy: dict[str, float], why: str) -> None:
    with pytest.raises(ConfigurationError, match=why):
        FilterPolicy(**policy)  # type: ignore[arg-type]  # a test's values


def test_a_filter_that_compares_with_everything_and_never_waits_makes_sense() -> None:
    policy = FilterPolicy(0.0, 1, hold_seconds=0.0, repeat_hold_seconds=0.0, repeat_hold_characters=0)
    assert msgspec.structs.replace(policy, idle_seconds=0.1).idle_seconds == 0.1


def test_headings_that_may_come_back_are_few() -> None:
    """Each closes the one before it, however it is written, or an answer without end would fill the state."""
    sections = [f"Thing {number}\n===\n\nThe number of this thing is {number}.\n\n" for number in range(30)]
    said = f"# All of it\n\n{''.join(sections)}"
    stream, owed = Stream(), 0
    for line in (said + said).splitlines(keepends=True):
        stream.push(line)
        owed = max(owed, len(stream.state.owed))
    assert 0 < owed <= 2


def test_of_many_short_lines_few_are_read_again_with_every_piece() -> None:
    """A sentence may be wrapped; reading hundreds of lines again for every piece would be quadratic."""
    stream = Stream(said=(OPENING,))
    for _ in range(500):
        stream.push("a\n")
        assert len(stream.state.text) < 100
