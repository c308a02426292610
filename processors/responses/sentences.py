"""Where a sentence ends, in a text that may still grow.

A stop ends a sentence if white space follows (``。！？`` need none).  Not those of abbreviations, decimals,
code spans and addresses, and none inside quotes, brackets or emphasis: such a sentence ends with them, so
that taking it out never leaves half of a pair.  A line's end is the end of a sentence unless the next line goes
on in lower case or with a digit, as wrapped text does.
"""

from __future__ import annotations

import re
from functools import lru_cache

from processors.responses.lines import Kind, line_extent, line_kind

#: A longer sentence is none; it passes, with the rest of its line.
LONGEST_SENTENCE = 1000

#: Of so much white space in a row the rest tells nothing.  A model that writes nothing but line ends would make
#: a state that fits into no record.
LONGEST_GAP = 1000

#: No abbreviation is longer; where a word began further back does not matter.
_LONGEST_WORD = 40

#: A sentence is wrapped into no more lines: to read hundreds of them again with every piece would take long.
_MOST_LINES = 30

#: A line of verse or dialogue is shorter than this (characters), and another one follows.
_SHORT_LINE = 60
_NEXT_LINE = re.compile(r"[^\S\n]*\n[^\W\d_]")

_BRACKETS = dict(zip("([「『（【《", ")]」』）】》", strict=True))
_QUOTE = '["“”„«»]'
_NO_OPENING = r"""[^\s(\[{「『（【《"“„«'‘/—–-]"""
_TOKEN = re.compile(
    r"(?P<break>\r?\n)|(?P<stop>[.!?…؟۔।॥]+)(?P<apostrophes>['’]*)|(?P<wide>[。！？｡]+)"
    rf"|(?P<opens>`+|(?<![:;=])[(\[「『（【《]|(?<!{_NO_OPENING}){_QUOTE}|(?<!\S)(?:\*+|_+|~~+)(?=\S))"
)
#: Where a token may begin, and a sentence end: much faster to look for than the tokens.
MAY_END = re.compile('[`\r\n.!?…؟۔।॥。！？｡()\\[\\]「」『』（）【】《》"“”„«»*_~]')
_STOP_INSIDE = re.compile(r"([.!?…؟۔।॥]+|[。！？｡]+)[)\]」』）】》\"“”„«»'’*_~]+\Z")
_SPACE = re.compile(rf"\s{{0,{LONGEST_GAP}}}")
_INLINE_SPACE = re.compile(rf"[^\S\n]{{0,{LONGEST_GAP}}}")
_LAST_WORD = re.compile(r"[^\s(\[{\"“„«*_'‘]*\Z")
_WORD_BEFORE = re.compile(r"(?:^|[\s(*_])[^\W\d_]*[a-z]{2}\Z")
_WORD_MAY_FOLLOW = re.compile(r"[*_]*[A-Z]?\Z")
_WORD_AFTER = re.compile(r"[*_]*[A-Z](?:[a-z']|\s)")
_GOES_ON = ",;:)]}%&—–…"

#: Stops after these end no sentence.
_ABBREVIATION = """
    mr mrs ms dr prof gen rep sen gov capt col lt sgt rev hon st mt fig figs no nos vol vols vs cf e.g i.e z.b
    d.h etc approx ca dept inc ltd co corp jr sr ed eds pp al min max tel ext
    jan feb apr jun jul aug sep sept oct nov dec tue thu fri
"""
_ABBREVIATIONS = frozenset(_ABBREVIATION.split())
_INITIALS = re.compile(r"(?:[A-Z]\.)*[A-Z]")

#: Where a sentence ends, exclusive, and whether that is settled: whether what follows cannot change it.
Extent = tuple[int, bool]


def read_sentence(text: str, start: int, final: bool) -> Extent:
    """Return where the sentence ends that begins at ``start``, and whether that is settled.

    Unless ``final``, ``text`` may still grow.  White space after a sentence without a stop belongs to it, since
    it may have left before that was clear.
    """
    end, settled = _Reader(text[start:], final).read()
    # Half a line end stays with its other half.
    return start + (end if settled else len(text[start : start + end].rstrip("\r"))), settled


def stands_in_verse(text: str, at: int, end: int) -> bool:
    """Say whether the line that ends at ``end`` is short and another one follows in its paragraph."""
    return end - at < _SHORT_LINE and _NEXT_LINE.match(text, end) is not None


@lru_cache(maxsize=64)
def _rest_of(mark: str) -> re.Pattern[str]:
    """Return how a quotation, a bracket, emphasis or a code span goes on and ends that ``mark`` opens."""
    if mark in _BRACKETS:
        opening, closing = re.escape(mark), re.escape(_BRACKETS[mark])
        inside = rf"`[^`]*`|{opening}[^{opening}{closing}]*{closing}|[^{closing}]"
        return re.compile(rf"(?>{inside})*+{closing}")
    if mark[0] in "`*_~":
        before = mark[0] if mark[0] == "`" else rf"\s{mark[0]}"
        return re.compile(rf".*?(?<![{before}]){re.escape(mark)}(?!{re.escape(mark[0])})")
    return re.compile(rf".*?(?<={_NO_OPENING}){_QUOTE}")


def _past(space: re.Pattern[str], text: str, at: int) -> int:
    found = space.match(text, at)
    return found.end() if found else at


class _Reader:
    """Reads the sentence that a text begins with: goes from stop to stop, past all that is in pairs."""

    def __init__(self, text: str, final: bool) -> None:
        self._text, self._final = text, final
        self._lines = 1
        self._open = ""  # what the line before has opened

    def read(self) -> Extent:
        text, at = self._text, 0
        while at <= LONGEST_SENTENCE and (begins := MAY_END.search(text, at)):
            token = _TOKEN.match(text, begins.start())
            at = token.end() if token else begins.end()
            if token is None:
                continue
            step: int | Extent
            if token.lastgroup == "break":
                step = self._line_end(token.start(), at, stopped=False)
            elif at == len(text) and not self._final:
                step = at, False
            elif token.lastgroup == "opens":
                step = self._pair(token[0], at)
            elif token.lastgroup == "wide":
                step = at, True
            else:
                step = self._stop(token.start(), token.end("stop"), at)
            if isinstance(step, tuple):
                return step
            at = step
        return (at, False) if at > LONGEST_SENTENCE else (len(text), self._final)

    def _pair(self, mark: str, at: int) -> int | Extent:
        """Read past what ``mark`` opens; if nothing closes it there, to the end of the line."""
        text = self._text
        line_ends, _ = line_extent(text, at, final=True)
        closing = _rest_of(mark).match(text, at, line_ends)
        self._open = "" if closing or mark[0] == "`" else mark
        if closing is None:
            return line_ends
        end = closing.end()
        if end == len(text) and not self._final:
            return end, False
        stop = _STOP_INSIDE.search(text, at, end) if mark[0] != "`" else None
        if stop is None:
            return end
        if stop[1][0] in "。！？｡":
            # 「…。」 is often the object of a sentence that goes on; emphasis is not.
            return (end, True) if mark[0] in "*_~" else end
        return self._stop(stop.start(), stop.end(1), end)

    def _stop(self, start: int, end: int, closed: int) -> int | Extent:
        """A stop from ``start`` to ``end``, and marks up to ``closed`` that close what it stands in."""
        text = self._text
        if closed == len(text):
            return closed, self._final
        after = _past(_SPACE, text, closed)
        word_at = max(0, start - _LONGEST_WORD)
        if after == closed:
            # "... at nine.The museum": between two chunks there may be no space.
            if _WORD_BEFORE.search(text, word_at, start):
                if _WORD_AFTER.match(text, closed):
                    return closed, True
                if not self._final and _WORD_MAY_FOLLOW.match(text, closed):
                    return closed, False
            return closed
        word = _LAST_WORD.search(text, word_at, start)
        before = word[0] if word else ""
        line_ends = text.find("\n", closed, after)
        if line_ends >= 0:
            stopped = text[start:end] != "." or before.lower() not in _ABBREVIATIONS
            return self._line_end(closed, line_ends + 1, stopped=stopped)
        if after == len(text):
            return closed, self._final
        if self._ends(text[start:end], before, text[after], closed > end):
            return closed, True
        return closed

    def _ends(self, stop: str, before: str, following: str, closed: bool) -> bool:
        """Say whether a stop that white space follows ends the sentence."""
        goes_on = following.islower()
        if following == "|":  # the bar of a table's row
            return False
        if closed or "…" in stop or stop.endswith(".."):
            return not goes_on
        if stop != ".":
            return True
        word = before.lower()
        if word.isdigit() and len(word) <= 3:  # "2. Close the lid": the number belongs to what follows
            return not self._text.startswith(word)
        if word in _ABBREVIATIONS or (before != "I" and _INITIALS.fullmatch(before)):
            return False
        return not (goes_on or following.isdigit()) or (len(word) > 2 and "." not in word)

    def _line_end(self, end: int, following: int, *, stopped: bool) -> int | Extent:
        """The line ends at ``end``, the next one begins at ``following``: does the sentence go on there?"""
        text = self._text
        at = _past(_INLINE_SPACE, text, following)
        if at == len(text):
            return end, self._final
        kind, _ = line_kind(text, at, self._final)
        if kind is Kind.UNDECIDED:
            return end, False
        goes_on = text[at].islower() or text[at].isdigit() or text[at] in _GOES_ON
        goes_on = goes_on or (text[at] in "[(`" and text[end - 1].islower())
        self._lines += 1
        if kind is not Kind.TEXT or stopped or not goes_on or self._lines > _MOST_LINES:
            return end, True
        return self._pair(self._open, at) if self._open else at
