"""Words that name a day by where the talk is in time: "tomorrow" says something wrong to who reads it later."""

from __future__ import annotations

from collections.abc import Sequence

from processors.summaries.reading import Sentence, Turn
from processors.summaries.speech_acts import any_of

_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_PART = r"(?:mornings?|afternoons?|evenings?|nights?|hours?|minutes?)"

_TODAY = any_of(
    r"\b(?:today|tonight|tomorrow|yesterday|right now|at the moment)\b",
    rf"\b(?:this|last) {_PART}\b|\b{_PART} ago\b|\bin (?:an?|\w+) (?:hours?|minutes?)\b",
)
_THIS_WEEK = any_of(
    rf"\b(?:last|next|this|past|coming) (?:\w+ )?(?:week\w*|{_WEEKDAY}|days)\b|\b(?:days?|weeks?) ago\b",
    rf"\b(?:on|by|until|till|before|since|for) {_WEEKDAY}\b(?! the \d)|\bthe other day\b|"
    r"\bin (?:an?|\w+) (?:days?|weeks?)\b",
)
_THIS_MONTH = any_of(
    r"\b(?:last|next|this|past|coming) (?:\w+ )?(?:months?|spring|summer|autumn|fall|winter)\b"
)
_DAY = any_of(rf"\b(?:today|tonight|tomorrow|the day after|{_WEEKDAY}|the \d{{1,2}}(?:st|nd|rd|th))\b")
_HOUR = any_of(r"\bat \d{1,2}\b(?!\d*[%$€])|\b\d{1,2}:\d\d\b|\b\d{1,2} ?(?:[ap]\.?m\b|o'clock)")


def is_stale(turns: Sequence[Turn], sentence: Sentence, told: str) -> bool:
    """Tell whether what is told names a time that is another one to who reads it after the talk.

    The talk went on so long that its "tomorrow" is another day, or only what its speaker said before names the
    day of an hour.
    """
    said, last = turns[sentence.turn].sent, turns[-1].sent
    another = {
        _TODAY: said.date() != last.date(),
        _THIS_WEEK: said.isocalendar()[:2] != last.isocalendar()[:2],
        _THIS_MONTH: (said.year, said.month) != (last.year, last.month),
    }
    if any(is_another and named.search(told) for named, is_another in another.items()):
        return True
    if _HOUR.search(told) is None or _DAY.search(told) is not None:
        return False
    before = (other for other in turns[sentence.turn].sentences if other.nth < sentence.nth)
    return any(_DAY.search(other.plain) for other in before)


def is_of_a_day(told: str) -> bool:
    """Tell whether a line names a time that another summary, made later, cannot mean."""
    return _TODAY.search(told) is not None
