"""The response filter, whatever the text and wherever it is cut."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from processors.responses.canonical import canonical
from processors.responses.filter import ResponseFilter, filter_text
from processors.responses.filter_state import Duplicate, FilterPolicy, FilterState
from processors.responses.history import SeenElement, before_response, says_enough

_SENTENCES = (
    "The museum opens at nine in the morning.",
    "The museum opens at nine in the morning!",
    "Room 12 is free for the whole week.",
    "Room 13 is free for the whole week.",
    "Dr. Smith's dog didn't eat the 3.5 kg of food, e.g. the rice.",
    'She said "Go home now. It is late." and left.',
    "**Please bring your own umbrella today.**",
    "Call `list.sort()` before you search. Really.",
    "今天的天气真的非常好。",
    "المتحف مفتوح كل يوم من الساعة التاسعة.",
    "Great party at the beach tonight 👩‍👩‍👧‍👦🎉!",
    "no capital letter and no final stop either",
    "see [the long list](https://example.com/a.b?c=d.) of places",
    "Yes.",
)
_STRUCTURE = (
    *("\n\n", "\n", "\r\n", "\r\n\r\n", " ", "  ", "\t", "\n\n\n", "\n\u3000"),
    *("\n- ", "\n1. ", "\n> ", "\n   * ", "\n- [ ] ", "\n2 ", "\nand ", "…", " — ", " | ", "*", "`", '"'),
    *("\n# Heading here\n", "\n---\n", "\n====\n", "\n| a | b |\n", "\na | b\n- | :-:\n", "\n$$\n", "\n\\[\n"),
    *("\\]\n", "\n**A bold line as heading**\n", "\n<br>\n"),
    *("\n```py\nx = 1. The museum opens at nine in the morning.\n```\n", "\n~~~\n", "\n    indented. Code.\n"),
)

_pieces = st.one_of(
    st.sampled_from(_SENTENCES),
    st.sampled_from(_STRUCTURE),
    st.sampled_from(_SENTENCES + _STRUCTURE),
    st.just(" "),
)
_markdown = st.lists(_pieces, max_size=30).map("".join)
_characters = st.text(alphabet="aB1 .!?\n\r-*#>`~_|\"'()[]。」é\u0301👩\u200d=…:", max_size=60)
#: Around the lengths from which on white space, rules and fences decide nothing.
_long = st.builds(
    lambda before, piece, length, after: before + (piece * length)[:length] + after,
    _markdown,
    st.sampled_from((" ", "\n", " \n", "\n ", "-", "- ", "=", "`", "```\n", "\n```", " > ", "\t", "x ", ":-|")),
    st.integers(990, 1010) | st.integers(1990, 2010),
    _markdown,
)
_texts = st.one_of(_markdown, _characters, st.tuples(_markdown, _characters, _markdown).map("".join))
_thresholds = st.sampled_from((0.85, 0.85, 0.9, 0.5))


def _stream(parts: list[str], policy: FilterPolicy) -> tuple[str, tuple[Duplicate, ...], FilterState]:
    response_filter, state = ResponseFilter(policy), FilterState()
    text = ""
    duplicates: list[Duplicate] = []
    for at, part in enumerate(parts):
        step = response_filter.push(state, part, 0.0, final=at == len(parts) - 1)
        state, text = step.state, text + step.text
        duplicates += step.duplicates
        assert step.errors == ()
    return text, tuple(duplicates), state


#: What goes with a passage that is taken out.
_MARKS = re.compile(r"[\s>*+\-\d.)•_=]+")


def _without(text: str, duplicates: Iterable[Duplicate]) -> str:
    """Return the text without what was taken out of it."""
    kept, at = "", 0
    for duplicate in sorted(duplicates, key=lambda each: each.position):
        if not duplicate.kept:
            kept += text[at : duplicate.position]
            at = duplicate.position + len(duplicate.sentence)
    return kept + text[at:]


def _cut(text: str, places: list[int]) -> list[str]:
    ends = sorted({place % (len(text) + 1) for place in places})
    return [text[start:end] for start, end in zip([0, *ends], [*ends, len(text)], strict=True)]


@settings(max_examples=100, deadline=None)
@given(_markdown, _markdown, st.lists(st.integers(0, 10_000), max_size=40))
@example(f"{_SENTENCES[0]}\n\n# Heading here\n\nYes.", f"# Heading here\n\n{_SENTENCES[0]}", [25])
def test_what_has_left_depends_on_no_cut(before: str, text: str, places: list[int]) -> None:
    response_filter = ResponseFilter()
    said = response_filter.push(FilterState(), before, 0.0, final=True).state.said
    whole = response_filter.push(FilterState(said=before_response(said)), text, 0.0)
    state, left = FilterState(said=before_response(said)), ""
    for part in _cut(text, places):
        step = response_filter.push(state, part, 0.0)
        state, left = step.state, left + step.text
    assert left == whole.text


@settings(max_examples=200, deadline=None)
@given(_texts, st.lists(st.integers(0, 10_000), max_size=40), _thresholds)
def test_output_never_depends_on_where_the_text_is_cut(text: str, places: list[int], threshold: float) -> None:
    policy = FilterPolicy(threshold=threshold)
    whole = filter_text(text, policy)
    for parts in (_cut(text, places), [*text, ""]):
        streamed, duplicates, state = _stream(parts, policy)
        assert streamed == whole.text
        assert duplicates == whole.duplicates
        assert state.text == "" and state.held_since is None


@settings(max_examples=150, deadline=None)
@given(_long, st.lists(st.integers(0, 10_000), max_size=40))
def test_nor_does_it_where_something_is_very_long(text: str, places: list[int]) -> None:
    whole = filter_text(text)
    streamed, duplicates, state = _stream(_cut(text, places), FilterPolicy())
    assert (streamed, duplicates) == (whole.text, whole.duplicates)
    assert state.text == "" and state.held_since is None


@settings(max_examples=100, deadline=None)
@given(_texts)
def test_what_is_taken_out_stands_where_the_event_says(text: str) -> None:
    result = filter_text(text)
    for duplicate in result.duplicates:
        assert text.startswith(duplicate.sentence, duplicate.position)
        assert duplicate.score >= 0.85
    if all(duplicate.kept for duplicate in result.duplicates):
        assert _MARKS.sub("", result.text) == _MARKS.sub("", text)


@settings(max_examples=100, deadline=None)
@given(_texts)
def test_nothing_but_duplicates_and_white_space_is_lost(text: str) -> None:
    result = filter_text(text)
    assert _MARKS.sub("", result.text) == _MARKS.sub("", _without(text, result.duplicates))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.sampled_from(_SENTENCES[:9]), min_size=1, max_size=3).map(" ".join), max_size=12))
def test_no_content_paragraph_appears_twice(paragraphs: list[str]) -> None:
    kept = filter_text("\n\n".join(paragraphs)).text.split("\n\n")
    content = [canonical(each) for each in kept if SeenElement(each).is_plain and says_enough(each)]
    assert len(set(content)) == len(content)
    assert "" not in kept[1:]


@settings(max_examples=100, deadline=None)
@given(
    _texts,
    st.lists(st.integers(0, 10_000), max_size=20),
    st.lists(st.sampled_from((0.0, 0.1, 1.0, 9.0)), min_size=1),
)
def test_late_chunks_only_ever_let_more_through(text: str, places: list[int], pauses: list[float]) -> None:
    response_filter, state, now = ResponseFilter(), FilterState(), 0.0
    parts = _cut(text, places)
    sent = ""
    taken_out: list[Duplicate] = []
    for at, part in enumerate(parts):
        now += pauses[at % len(pauses)]
        for step in (
            response_filter.tick(state, now),
            response_filter.push(response_filter.tick(state, now).state, part, now, final=at == len(parts) - 1),
        ):
            state, sent = step.state, sent + step.text
            taken_out += step.duplicates
            due = response_filter.wake_at(state)
            assert due is None or now < due
    assert _MARKS.sub("", sent) == _MARKS.sub("", _without(text, taken_out))


@settings(max_examples=100, deadline=None)
@given(_texts, st.lists(st.integers(0, 10_000), max_size=20))
def test_whatever_fails_in_detection_the_text_goes_through(text: str, places: list[int]) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    response_filter = ResponseFilter(find=fail)  # type: ignore[arg-type]  # it fails
    state, sent = FilterState(), ""
    with pytest.MonkeyPatch.context() as patch:
        for look in ("History.saying", "Begun.may_repeat", "History.beginning", "History.going_on"):
            patch.setattr(f"processors.responses.history.{look}", fail)
        for part in _cut(text, places):
            step = response_filter.push(state, part, 0.0)
            state, sent = step.state, sent + step.text
        assert sent + response_filter.push(state, "", 0.0, final=True).text == text
