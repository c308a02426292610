"""Where sentences begin and end in chat text.

nupunkt (Punkt with a large list of abbreviations, pure Python, 50,000 messages/s) decides about full
stops inside a line.  Around it stands what chat needs and prose does not: a line ends a sentence, list
marks belong to none, ``。！？`` need no space after them, and neither does "thanks!I like tea".
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nupunkt import sent_spans

#: A span is ``(start, end)``: ``text[start:end]`` is the sentence, exactly as written.
Span = tuple[int, int]

#: Nobody writes a longer sentence, and nupunkt takes quadratic time over runs of punctuation.
_LONGEST = 2000

#: A line at least this long that does not end a sentence goes on in the next one: it was wrapped.
_WRAPPED = 60

_LINE = re.compile(r"[^\r\n]+")
_LIST_MARK = re.compile(r"\s*(?:[-*•–—]|#{1,6}|\(?\d{1,2}[.)]|[a-z]\))\s+")
_ENDS = re.compile(r"[.!?:;…。！？][\"'”’)\]]*\s*$")
_EMOJI = r"\u2600-\u27bf\U0001f000-\U0001faff\ufe0f\u200d"  # with what joins and colours them
#: nupunkt takes "month.", "John." and "OK." for abbreviations; before one of these words they are not.
_STARTERS = (
    "(?:I|It|The|This|That|My|We|You|They|He|She|But|And|So|What|How|Why|When|Where|Who|Can|Could|Do|Did|Is|"
    "Are|Let|Not|"
    "Please|Yes|No|Also|There|Our|Your|If|In|On|At|For|Just|Maybe|Thanks|Well|Now|Then|Here|Won|Don|Haven|"
    "Gonna)['’ ]"
)
_CUT = re.compile(
    # The look-behinds let a run be tried from its first character only: linear time.
    r"[。！？｡][」』”’）)]*"  # CJK stops, with what closes after them
    r"|(?<![!?])[!?]++(?=[^\W\d_])"  # "thanks!I like tea"
    rf"|(?<=[a-z]{{3}})\.(?={_STARTERS})"  # "I like tea.It is"
    rf"|(?<=[A-Za-z]{{2}})(?<!\bMr)(?<!\bDr)(?<!\bMs)(?<!\bSt)(?<!\bNo)(?<!\bvs)(?<!\bMrs)(?<!\bProf)\.(?=\s{_STARTERS})"
    rf"|(?<![{_EMOJI}])[{_EMOJI}]++\s+(?=[A-Z]|i['’ ])"  # an emoji for a full stop
)


def sentence_spans(text: str) -> list[Span]:
    """Return the spans of the sentences of ``text``, in order, without overlap.

    Spans carry no outer white space and no list mark; marks and emoji without a word belong to the
    sentence before them.  Text without a letter or a digit has no sentences.
    """
    spans: list[Span] = []
    for start, end in _blocks(text):
        line_begins = True
        for piece_start, piece_end in _pieces(text, start, end):
            if any(character.isalnum() for character in text[piece_start:piece_end]):
                spans.append((piece_start, piece_end))
                line_begins = False
            elif not line_begins:
                spans[-1] = (spans[-1][0], piece_end)
    return spans


def sentences(text: str) -> list[str]:
    """Return the sentences of ``text`` as written."""
    return [text[start:end] for start, end in sentence_spans(text)]


def _blocks(text: str) -> Iterator[Span]:
    """Lines without their list marks, wrapped lines joined."""
    start = end = -1
    for line in _LINE.finditer(text):
        if start >= 0 and _goes_on(text, start, end, line):
            end = line.end()
            continue
        if start >= 0:
            yield start, end
        mark = _LIST_MARK.match(text, line.start(), line.end())
        start, end = (mark.end() if mark else line.start()), line.end()
    if start >= 0:
        yield start, end


def _goes_on(text: str, start: int, end: int, line: re.Match[str]) -> bool:
    last = max(text.rfind("\n", start, end), start)
    return (
        text[end : line.start()] in ("\n", "\r\n")  # no empty line between
        and end - last >= _WRAPPED
        and text[line.start()].islower()
        and not _ENDS.search(text, max(start, end - 8), end)
        and not _LIST_MARK.match(text, line.start(), line.end())
    )


def _pieces(text: str, start: int, end: int) -> Iterator[Span]:
    """The sentences of one block, without outer white space."""
    for cut_start, cut_end in _cuts(text, start, end):
        for sub_start, sub_end in sent_spans(text[cut_start:cut_end]):
            piece = text[cut_start + sub_start : cut_start + sub_end]
            trimmed = piece.strip()
            if trimmed:
                begin = cut_start + sub_start + (len(piece) - len(piece.lstrip()))
                yield begin, begin + len(trimmed)


def _cuts(text: str, start: int, end: int) -> Iterator[Span]:
    """Cut a block where nupunkt does not, and where it becomes too long."""
    for cut in _CUT.finditer(text, start, end):
        yield from _short(text, start, cut.end())
        start = cut.end()
    yield from _short(text, start, end)


def _short(text: str, start: int, end: int) -> Iterator[Span]:
    while end - start > _LONGEST:
        space = text.rfind(" ", start + 1, start + _LONGEST)
        middle = space if space > 0 else start + _LONGEST
        yield start, middle
        start = middle
    if start < end:
        yield start, end
