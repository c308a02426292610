"""Where a sentence ends, in a text that may still grow.

A stop ends a sentence if white space follows (``。！？`` need none).  Not those of abbreviations, decimals,
code spans and addresses, and none inside quotes, brackets or emphasis: such a sentence ends with them, so
that taking it out never leaves half of a pair.  A line's end is the end of a sentence unless the next line goes
on in lower case or with a digit, as wrapped text does.
"""

from __future__ import annotations

import re

from processors.responses.lines import Kind, line_end, line_kind

#: A longer sentence is none; it passes, with the rest of its line.
LONGEST_SENTENCE = 1000

#: Of so much white space in a row the rest tells nothing.  A model that writes nothing but line ends would make
#: a state that fits into no record.
LONGEST_GAP = 1000

#: No abbreviation is longer; where a word began further back does not matter.
_LONGEST_WORD = 40

#: A sentence is wrapped into no more lines: to read hundreds of them again with every piece would take long.
_MOST_LINES = 30

_TOKEN = re.compile(
    r"(?P<code>`+)|(?P<break>\r?\n)|(?P<stop>[.!?…؟۔।॥]+)|(?P<wide>[。！？｡]+)"
    r"|(?P<bracket>[()\[\]「」『』（）【】《》])|(?P<quote>[\"“”„«»])|(?P<emphasis>\*+|_+|~~+)"
)
#: Where a token may begin, and a sentence end: much faster to look for than the tokens.
MAY_END = re.compile('[`\r\n.!?…؟۔।॥。！？｡()\\[\\]「」『』（）【】《》"“”„«»*_~]')
_CLOSES = dict(zip(")]」』）】》", "([「『（【《", strict=True))
_OPENING = "([{「『（【《\"“„«'‘/—–-"
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

#: A line of verse or dialogue is shorter than this (characters), and another one follows.
_SHORT_LINE = 60
_NEXT_LINE = re.compile(r"[^\S\n]*\n[^\W\d_]")
_INITIALS = re.compile(r"(?:[A-Z]\.)*[A-Z]")


#: Where a sentence ends, exclusive, and whether that is settled: whether what follows cannot change it.
Extent = tuple[int, bool]


def read_sentence(text: str, start: int, final: bool) -> Extent:
    """Return where the sentence ends that begins at ``start``, and whether that is settled.

    Unless ``final``, ``text`` may still grow.  White space after a sentence without a stop belongs to it, since
    it may have left before that was clear.
    """
    return _Reader(text, start, final).read()


def stands_in_verse(text: str, at: int, end: int) -> bool:
    """Say whether the line that ends at ``end`` is short and another one follows in its paragraph."""
    return end - at < _SHORT_LINE and _NEXT_LINE.match(text, end) is not None


class _Reader:
    def __init__(self, text: str, start: int, final: bool) -> None:
        self._text, self._start, self._final = text, start, final
        self._open: list[str] = []  # what must close before the sentence may end
        self._lines = 1

    def read(self) -> Extent:
        text, at = self._text, self._start
        while begins := MAY_END.search(text, at):
            token = _TOKEN.match(text, begins.start())
            if token is None:
                at = begins.end()
                continue
            if token.end() == len(text) and not self._final and token.lastgroup != "break":
                return self._unsettled(len(text))
            read = getattr(self, f"_{token.lastgroup}")
            step: int | Extent = read(token.start(), token.end())
            if isinstance(step, tuple):
                return step
            at = step
            if at - self._start > LONGEST_SENTENCE:
                return self._unsettled(at)  # the rest would only take time
        return self._settled(len(text)) if self._final else self._unsettled(len(text))

    def _code(self, start: int, end: int) -> int | Extent:
        """A code span; without its other end it goes to the end of the line."""
        text = self._text
        line_ends = line_end(text, end)
        last = len(text) if line_ends is None else line_ends
        ticks = "`" * (end - start)
        closing = re.compile(rf"(?<!`){ticks}(?!`)").search(text, end, last)
        if closing is None:
            return last
        if closing.end() == len(text) and not self._final:
            return self._unsettled(len(text))
        return closing.end()

    def _break(self, start: int, end: int) -> int | Extent:
        return self._line_end(start, end, stopped=False)

    def _stop(self, start: int, end: int) -> int | Extent:
        text = self._text
        closed = self._close_after(end)
        if closed == len(text):
            return self._settled(closed) if self._final else self._unsettled(closed)
        following = _SPACE.match(text, closed)
        after = following.end() if following else closed
        word_at = max(self._start, start - _LONGEST_WORD)
        if after == closed and not self._open and _WORD_BEFORE.search(text, word_at, start):
            # "... at nine.The museum": between two chunks there may be no space.
            if _WORD_AFTER.match(text, closed):
                return self._settled(closed)
            if not self._final and _WORD_MAY_FOLLOW.match(text, closed):
                return self._unsettled(closed)
        if after == closed or self._open:
            return closed
        word = _LAST_WORD.search(text, word_at, start)
        before = word[0] if word else ""
        line_ends = text.find("\n", closed, after)
        if line_ends >= 0:
            stopped = text[start:end] != "." or before.lower() not in _ABBREVIATIONS
            return self._line_end(closed, line_ends + 1, stopped=stopped)
        if after == len(text):
            return self._settled(closed) if self._final else self._unsettled(closed)
        if self._ends(text[start:end], before, text[after], closed > end):
            return self._settled(closed)
        return closed

    def _wide(self, start: int, end: int) -> int | Extent:
        closed = self._close_after(end)
        if closed == len(self._text) and not self._final:
            return self._unsettled(closed)
        # 「…。」 is often the object of a sentence that goes on; emphasis is not.
        if self._open or (closed > end and self._text[closed - 1] not in "*_~"):
            return closed
        return self._settled(closed)

    def _bracket(self, start: int, end: int) -> int:
        bracket = self._text[start]
        if bracket not in _CLOSES:
            if not (start > self._start and self._text[start - 1] in ":;="):  # a face is no bracket
                self._open.append(bracket)
        else:
            self._close(_CLOSES[bracket])
        return end

    def _quote(self, start: int, end: int) -> int:
        if self._opens(start):
            self._open.append('"')
        else:
            self._close('"')
        return end

    def _emphasis(self, start: int, end: int) -> int:
        mark = self._text[start:end]
        if not (self._before(start).isspace() or not self._close(mark)):
            return end
        if self._opens(start) and end < len(self._text) and not self._text[end].isspace():
            self._open.append(mark)
        return end

    def _before(self, at: int) -> str:
        return self._text[at - 1] if at > self._start else " "

    def _opens(self, at: int) -> bool:
        before = self._before(at)
        return before.isspace() or before in _OPENING

    def _close(self, opened: str) -> bool:
        """Close what was opened, and whatever was left open inside it; say whether it was open at all."""
        if opened not in self._open:
            return False
        while self._open.pop() != opened:
            pass
        return True

    def _close_after(self, at: int) -> int:
        """Return where the marks end that follow a stop at ``at`` and close what is open."""
        text = self._text
        while at < len(text):
            mark = text[at]
            if mark in "*_~" and (run := re.compile(rf"{re.escape(mark)}+").match(text, at)):
                if not self._close(run[0]):
                    return at
                at = run.end()
                continue
            closes = self._close('"') if mark in '"“”«»' else mark in _CLOSES and self._close(_CLOSES[mark])
            if not closes and mark not in "'’":
                return at
            at += 1
        return at

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
            return not self._text.startswith(word, self._start)
        if word in _ABBREVIATIONS or (before != "I" and _INITIALS.fullmatch(before)):
            return False
        return not (goes_on or following.isdigit()) or (len(word) > 2 and "." not in word)

    def _line_end(self, end: int, following: int, *, stopped: bool) -> int | Extent:
        """The line ends at ``end``, the next one begins at ``following``: does the sentence go on there?"""
        text = self._text
        space = _INLINE_SPACE.match(text, following)
        at = space.end() if space else following
        if at == len(text):
            return self._settled(end) if self._final else self._unsettled(end)
        kind, _ = line_kind(text, at, self._final)
        if kind is Kind.UNDECIDED:
            return self._unsettled(end)
        goes_on = text[at].islower() or text[at].isdigit() or text[at] in _GOES_ON
        goes_on = goes_on or (text[at] in "[(`" and text[end - 1].islower())
        self._lines += 1
        if kind is not Kind.TEXT or stopped or not goes_on or self._lines > _MOST_LINES:
            return self._settled(end)
        return at

    def _settled(self, end: int) -> Extent:
        return end, True

    def _unsettled(self, end: int) -> Extent:
        # Half a line end stays with its other half.
        return len(self._text[:end].rstrip("\r")), False
