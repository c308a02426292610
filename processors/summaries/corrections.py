"""What somebody took back at once: "Sorry, Munich", "no, make it Friday".  Only what was put right is told.

A correction is a fragment behind a word that says so.  Its value takes the place of the one value of the same
kind (a day, a time, a number, a name) in what the same speaker said before.  Where it is not clear which value
is meant, what was corrected is left out: it would tell what is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from processors.summaries.reading import Sentence, Turn, sentence_of
from processors.text.stemming import stem_of

#: A correction is of something that the same speaker said in this message or the two before.
REACH = 3

#: Words of a fragment behind its cue; whoever says more, says it in full.
LONGEST_FRAGMENT = 5

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
#: The kinds of values, the narrower first: "10:45" is no number.
_KINDS = (
    re.compile(r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|today|tonight|tomorrow)\b", re.IGNORECASE),
    re.compile(
        rf"\b(?:{_MONTH}\.? \d{{1,2}}(?:st|nd|rd|th)?(?!\d)|\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}\b)"
        r"(?:,? \d{4}\b)?|\b\d{4}-\d\d-\d\d\b",
        re.IGNORECASE,
    ),
    re.compile(
        r"(?<![\d.,:])(?:\d{1,2}[:.]\d\d(?![\d:])(?: ?[ap]\.?m\b)?|\d{1,2} ?(?:[ap]\.?m\b|o'clock)|"
        r"\b(?:noon|midnight)\b)",
        re.IGNORECASE,
    ),
    re.compile(r"(?<![\d.,:/-])[$€£]?\d(?:[\d.,]*\d)?\b(?! ?[ap]m\b|[:/.,-]\d)"),
    re.compile(r"(?<![.!?] )(?<!^)\b[A-Z][\w-]+(?: [A-Z][\w-]+)*"),
)
_NAME = len(_KINDS) - 1
#: Days, dates and times come first.
_TIMES = 3

#: A number and what it counts: hours of the clock (":"), or the word behind it.
_NUMBER = re.compile(
    r"(?P<number>\d(?:[\d.,:]*\d)?|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|"
    r"twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand)\b)(?: ?(?P<unit>[a-z]+))?",
    re.IGNORECASE,
)
_PRICE = re.compile(
    r"[$€£] ?(\d[\d.,]*)|\b([\w.,]+) ?(?:%|(?:yuan|dollars?|euros?|pounds?|rmb|cents?|percent)\b)",
    re.IGNORECASE,
)

_CUE = (
    r"(?:no|sorry|wait|correction|oops|i mean|i meant|or rather|rather|scratch that|my mistake|"
    r"make (?:it|that)|actually)"
)
_FRAGMENT = re.compile(
    rf"^(?:(?:oh|ah|hm+|um+|well)[,.! ]+)*(?:{_CUE}\b|(?=(?:it|that) should be\b))[,:;.!—–-]*\s*"
    rf"(?:{_CUE}[,:;.!—–-]*\s+)*"
    r"(?:(?:it's|it is|it should be|that should be|let's (?:make it|say)|not \w+,? but|for|on|at|in|to)\s+)*"
    r"(?P<value>[^?]+?)(?: (?:instead|then|please))*[.! ]*$",
    re.IGNORECASE,
)
#: Inside a sentence: "on Monday, no, make it Tuesday".
_MIDDLE = re.compile(
    rf"[,;—–-]+\s*(?:(?:oh|ah|um+)[, ]+)?(?:no|sorry|wait|i mean|i meant|or rather|make (?:it|"
    rf"that))\b[,;—–-]*\s*(?:{_CUE}[,;]*\s+)*(?:(?:on|at|in|to|for)\s+)?",
    re.IGNORECASE,
)
_CAPITALIZED = re.compile(r"[A-Z][\w-]+(?: [A-Z][\w-]+)*\Z")


#: What is said against what was corrected points at it, in few words; "an error in the parser" is another one.
_COMPLAINT = re.compile(
    r"(?:\S+ ){0,4}?(?:that|this|it|these|those|you|there|something|i)(?:'\w+)?(?: \S+){0,5}? "
    r"(?:mistakes?|mistaken|wrong|errors?|not right|incorrect)(?: \S+){0,2}\W*",
    re.IGNORECASE,
)


def corrected(turns: Sequence[Turn]) -> list[Turn]:
    """Return the turns as if each speaker had meant it at once, without what was said against it."""
    kept: list[list[Sentence]] = []
    for place, turn in enumerate(turns):
        kept.append([])
        for sentence in turn.sentences:
            said = _within(sentence)
            value = None if said.asks else _fragment(said.plain)
            if value is None or not _put_right(turns, kept, place, value):
                kept[place].append(said)
                continue
            for before in range(max(place - 2 * REACH, 0), place):
                kept[before] = [other for other in kept[before] if not _COMPLAINT.fullmatch(other.plain)]
    return [turn._replace(sentences=tuple(sentences)) for turn, sentences in zip(turns, kept, strict=True)]


def _fragment(plain: str) -> str | None:
    """What a correction puts in; ``None``: the sentence is none."""
    found = _FRAGMENT.match(plain)
    if found is None or len(found["value"].split()) > LONGEST_FRAGMENT:
        return None
    return found["value"] if _kind_of(found["value"]) is not None else None


def _kind_of(value: str) -> int | None:
    """The kind of the one value that a fragment is or ends with."""
    for kind, pattern in enumerate(_KINDS[:_NAME]):
        if pattern.search(value):
            return kind
    return _NAME if _CAPITALIZED.match(value) else None


def _values(kind: int, text: str) -> list[re.Match[str]]:
    """The values of a kind that are no part of one of a narrower kind: the year of a date is no number."""
    taken = [found.span() for pattern in _KINDS[:kind] for found in pattern.finditer(text)]
    return [
        found
        for found in _KINDS[kind].finditer(text)
        if all(found.end() <= start or end <= found.start() for start, end in taken)
    ]


def are_other_times(one: str, other: str) -> bool:
    """Tell whether two sentences name different days, dates or times of the same kind."""
    for kind in range(_TIMES):
        first, second = ({value.group().lower() for value in _values(kind, text)} for text in (one, other))
        if first and second and not first & second:
            return True
    return False


def counts_of(text: str) -> dict[str, frozenset[str]]:
    """Return the numbers of a text, in digits or in words, folded, by what they count."""
    counts: dict[str, frozenset[str]] = {}
    for found in _NUMBER.finditer(text):
        number, unit = found["number"].lower(), (found["unit"] or "").lower()
        unit = ":" if ":" in number or unit in ("am", "pm") else stem_of(unit)
        counts[unit] = counts.get(unit, frozenset()) | {number}
    return counts


def prices_of(text: str) -> frozenset[str]:
    """Return the numbers of a text that are sums of money or shares of one, folded."""
    return frozenset((sign or unit).lower() for sign, unit in _PRICE.findall(text))


def _put_right(turns: Sequence[Turn], kept: list[list[Sentence]], place: int, value: str) -> bool:
    """Put ``value`` into what it corrects: the latest other value of its kind, wherever it was said.

    What somebody else said of it is left out: they did not say the right one.  ``False``: the correction has to
    be told itself.
    """
    kind = _kind_of(value)
    assert kind is not None  # or it would be no fragment
    new = None if kind == _NAME else _KINDS[kind].search(value)
    put = new.group() if new else value
    wrong, is_put = "", False
    for before in range(place, max(place - 2 * REACH, -1), -1):
        for at in range(len(kept[before]) - 1, -1, -1):
            old = kept[before][at]
            found = [match for match in _values(kind, old.text) if match.group() != put]
            if old.asks or not found or (wrong and wrong not in [match.group() for match in found]):
                continue
            if len(found) > 1 and not wrong:
                del kept[before][at]
                return is_put
            wrong = wrong or found[0].group()
            if turns[before].speaker != turns[place].speaker:
                del kept[before][at]
                continue
            for match in reversed([match for match in found if match.group() == wrong]):
                text = old.text[: match.start()] + put + old.text[match.end() :]
                old = sentence_of(text, old.turn, old.nth, old.lead, old.laid_out)
            kept[before][at], is_put = old, True
    return is_put


def _within(sentence: Sentence) -> Sentence:
    """The sentence without the value that it takes back itself."""
    text = sentence.text
    for cue in _MIDDLE.finditer(text):
        for kind, pattern in enumerate(_KINDS):
            new = pattern.match(text, cue.end())
            old = [found for found in _values(kind, text) if found.end() == cue.start()]
            if new and old:
                put_right = text[: old[0].start()] + text[cue.end() :]
                return sentence_of(put_right, sentence.turn, sentence.nth, sentence.lead, sentence.laid_out)
    return sentence
