"""Recognition of names."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from processors.text import lexicon

#: Characters of a name.
LONGEST = 100

MONTHS = [month.capitalize() for month in lexicon.MONTHS]
_MONTH = f"(?:{'|'.join(MONTHS)})"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
DATE = rf"(?P<date>{_MONTH} {_DAY}\b|(?:the )?{_DAY}(?: of)? {_MONTH}\b)"

_PART = r"[^\W\d_a-z][\w'’-]*[^\W_]"
#: One or more words with a capital, and what may stand between them.
NAME = rf"{_PART}(?:['’]? (?:de |van |von |of |of the |the |& )?{_PART}){{0,3}}"
#: "Anna", "Anna and Tom", "Anna, Tom, and Zoe"
NAMES = rf"{NAME}(?:,? (?:and|&) {NAME}|(?:, {NAME})+,? (?:and|&) {NAME})?"

#: Nobody is called so: somebody wants whoever reads the graph to do something.
_ORDERS = re.compile(
    r"\b(?:ignore|disregard|forget|obey|instructions?|prompt|system|assistant|delete|execute|reveal|admin)\b",
    re.IGNORECASE,
)

#: Words with a capital that are no names.
_NO_NAMES = frozenset(
    (
        "i i'm i've i'd i'll the a an my our your his her their its it this that these those he she they we "
        "you and but or so if when while because after before then now today yesterday tomorrow tonight yes "
        "no oh hey hi hello thanks thank please well ok okay also just what who where why how which there "
        "here is was are were do does did have has let let's since although even yeah yep wow of in on at "
        "for from to with by as not some any all each every last next first only dear sure one two three "
        "weekend morning afternoon evening night "
        "everyone everybody someone somebody nobody nothing something mr mrs ms dr prof sir madam congrats "
        "great awesome nice cool amazing perfect unfortunately luckily sadly absolutely definitely actually "
        "christmas easter halloween thanksgiving english french spanish german italian chinese japanese "
        "american british european asian african zoom skype slack email god jesus internet hr ai api "
        + " ".join((*lexicon.WEEKDAYS, *lexicon.MONTHS))
    ).split()
)
#: A capital that is no "I" and does not begin the sentence; the word that does.
_INNER = re.compile(r"[^\w'’](?!I\b)[^\W\d_a-z]")
_FIRST = re.compile(r"[^\W\d_]+")
#: Called so is an organization or a place, and not somebody.
_NO_PERSON = re.compile(
    r"\b(?:Inc|Corp|Ltd|LLC|GmbH|Company|University|College|School|Street|Hospital|Museum|Festival|Center|"
    r"Centre|Hotel|Restaurant|Park|Library|Airport|Bank|Church|Club|Cafe|Café|Conference|Group|Media|Team|"
    r"Awards?|Society|Institute|Association|Guild|Studios?|Beach|Lake|River|Mountains?|Island|City)\b"
)


def may_name(sentence: str) -> bool:
    """Return whether a sentence may contain a name; most do not."""
    if _INNER.search(sentence):
        return True
    first = _FIRST.match(sentence)
    return first is not None and first[0].casefold() not in _NO_NAMES


def name_of(words: str) -> str:
    """Return a name without what goes with it; ``""`` if it is none."""
    found = re.sub(r"['’]s?$", "", words.strip(" .,;:!?'’\""))
    first = found.split(" ")[0].casefold().replace("’", "'") if found else ""
    return "" if first in _NO_NAMES or len(found) > LONGEST or _ORDERS.search(found) else found


def person_of(words: str) -> str:
    """Return the name of a person; ``""`` if it is none, or that of something else."""
    found = name_of(words)
    is_short = found.isupper() or found.count(" ") > 2 or any(each.isdigit() for each in found)
    return "" if is_short or found.endswith("ly") or " the " in found or _NO_PERSON.search(found) else found


def names_of(words: str) -> list[str]:
    """Return the names of a list, "Anna, Tom and Zoe"; none if one of them is no name."""
    parts = re.split(r",? ?(?:\band|&) |, ", words.removeprefix(" and "))
    found = [name_of(part) for part in parts]
    return found if all(found) else []


def day_of(words: str) -> str:
    """Return a day of the year as "May 5"; ``""`` if there is no such day."""
    month = next((month for month in MONTHS if month in words), None)
    number = re.search(r"\d{1,2}", words)
    if month is None or number is None:
        return ""
    try:
        datetime(2024, MONTHS.index(month) + 1, int(number[0]), tzinfo=UTC)
    except ValueError:
        return ""
    return f"{month} {int(number[0])}"
