"""Messages read for a summary: their sentences as written, and the words that these are about."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from models.messages import Role
from models.windows import WindowMessage
from processors.summaries.speech_acts import is_clause, is_fragment, is_question, is_request
from processors.text.sentences import sentence_spans
from processors.text.stemming import stem_of

#: Characters; a longer sentence is cut at the last clause that ends before.
LONGEST_SENTENCE = 150

#: Characters that are read of a message from its beginning, and as many from its end.  What lies between in a
#: message of several thousand words would hardly be chosen, and a summary must not take longer than a reader.
READ_FROM_EACH_END = 4_000

#: What stands for the rest of a sentence that is too long.
ELLIPSIS = "…"

#: System messages are instructions, not conversation.
READ_ROLES = frozenset((Role.USER, Role.ASSISTANT, Role.TOOL))

#: A formula ends before another begins: where many begin and none ends, each is looked at once.
_FENCE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|\\\[(?:(?!\\\[).)*?\\\]|\$\$.*?\$\$", re.DOTALL)
#: How a list, a heading, a label, code or a formula begins.
_LAID_OUT = re.compile(
    r"^[ \t]*(?:(?:[-*+•‣·–—]|#{1,6}|\(?\d{1,3}[.)])[ \t]|\*\*[^*\n]+\*\*|```|~~~|\\\[|\$\$)",
    re.MULTILINE,
)
#: Words that only lead in, and who speaks in a transcript that somebody pasted ("assistant: ").
_MARKER = re.compile(
    r"(?:(?:system|user|assistant|human|ai|bot|tool):\s+)?(?:(?:yeah|yes|ye[ps]|yup|oh|ah|wow|who?ah?|man|"
    r"well|okay|ok|hmm+|haha\w*|so|then|anyway|by the way|btw|on another note|however|also|plus|and|but|sure|"
    r"thanks|thank you|great|cool|alright|all right|certainly|of course|absolutely|definitely|understood|"
    r"right|you know|you see|i see|i mean|excuse me|look|listen|say|hi|hey|"
    r"hello)(?: (?-i:[A-Z])\w+)?(?:[,!.…]+\s+)+|(?:and|but|well|oh|yeah|yes|so(?!\s(?:much|many|far|long|few|"
    r"little|good|cool|nice|glad|happy|sad|proud|true|\w+ (?:to|that))\b))\s+(?=[^\W\d]))*",
    re.IGNORECASE,
)
#: Never inside a number ("12,400", "10:45", "12, 400") or right behind one ("5, 2021").
_CLAUSE_END = re.compile(
    r"[，；：、]|(?<!\d)[,;:](?=\s)|(?<=\d)[,;](?=\s+(?!(?:and|or)\b)\D)|\s[-–—]\s|(?<![\"”])\s(?=(?:because|"
    r"which|but|and(?!\s\d)|so)\s)"
)
#: Behind the end of a clause: what it says is not the last word, "..., but the bank put it at 31".
_TAKES_BACK = re.compile(
    r"[\s,;:–—-]*(?:but|though|although|however|yet|except|instead|until|unless)\b"
    r"(?! (?:I['’]m|I am|I['’]d|I (?:don['’]t know|want|need)|can|could|how|what)\b)",
    re.IGNORECASE,
)
#: A phrase begins with it, so that what stands before may be whole.
_PHRASE = re.compile(
    r"(?:to|for|with|from|in|on|at|by|when|while|as|where|who|that|if|or|\W|[^\x00-\u02af])(?:\b|(?<=\W))"
)
#: All of it only says when, if or what for.
_CONDITION = re.compile(
    r"(?:to|if|when|while|although|though|since|because|as|after|before|given|once|until|unless|"
    r"whether)\b(?!.*, (?:(?:please|then|maybe|perhaps) )?(?:I|you|we|he|she|it|they|the|my|your|our|his|her|"
    r"its|their|this|these|that|there|(?-i:[A-Z])\w+|what|how|can|could|would|should|do|is|are)\b).*\Z",
    re.IGNORECASE | re.DOTALL,
)
_SPACE = re.compile(r"\s+")
#: A question begins with it, also where its end was cut off.
_ASKING = re.compile(
    r"(?:(?:for (?:example|instance)|also|and|so|in particular|specifically),? )?"
    r"(?:what|where|who|why|how|which|can|could|would|should|does|did|is|are|was|were|has|may)\b",
    re.IGNORECASE,
)
#: "... in the works. Finishing up ...", and "I always buy the cheapest gas, can you find me some?"
_UNSPLIT = re.compile(
    r"(?<=[a-z]{3}[.!?])(?<!\b[Pp]rof\.)(?<!\b[Cc]apt\.)(?<!\b[Rr]ev\.)(?<!\b[Gg]en\.)(?<!\b[Ss]gt\.)\s+(?=[A-Z])|"
    r"(?:,\s+|\s+(?=and|so|but))(?=(?:(?:and|so|but) )?"
    r"(?:(?:can|could|would) you|(?:can|could|may) (?:I|we|some(?:one|body)|any(?:one|body)))\b)"
)
#: Spaces around an apostrophe, as in texts that were cut into tokens: "I ' ve", "don ' t".
_LOOSE_APOSTROPHE = re.compile(r"(?<=\w)(?: ['’] ?|['’] )(?=(?:m|re|ve|ll|d|s|t)\b)", re.IGNORECASE)

_WORD = re.compile(r"[぀-ヿ㐀-鿿가-힯]|[^\W_]+(?:['’][^\W_]+)?")
#: Words that say little about what is talked of: grammar, small talk, praise.
_STOP_TEXT = """
a about after again all also always am amazing an and any anything are as ask at awesome back be beautiful
because been before being bit both but by came can come cool could day did do does doing don done down each
even ever every excited exciting fantastic feel feeling feels few for from fun get getting give glad go goes
going gonna good got gotta great had happy has have having he hello her here hers hey hi him his hope how i
if in incredible inspiring interesting into is it its just keep kind know let like look looks lot lovely
made make makes many may maybe me might mine more most much must my need never new next nice no not now of
off oh ok okay on once one only or other our ours out over own perfect please pretty proud put quite rather
really right said same say see seem seems she should so some something soon sorry sound sounds still such
sure sweet take tell than thank thanks that the their them then there these they thing things think this
those though through time to too try up us use very want was way we well went were what when where which
while who whom whose why will wish with won wonderful would wow yeah year yes yet you your yours
"""
_STOP_WORDS = frozenset(_STOP_TEXT.split())


class Sentence(NamedTuple):
    """A sentence as written; ``plain`` is what cues look at, ``words`` what :func:`words` finds.

    ``turn`` is the place of its message among those read, ``nth`` its own place in the message; ``lead`` is
    what led in ("Yes, ").  ``laid_out``: it stands in or behind the first list, heading, code or formula of its
    message, where assistants advise, explain and draft.
    """

    text: str
    plain: str
    words: frozenset[str]
    asks: bool
    turn: int
    nth: int
    lead: str = ""
    laid_out: bool = False


class Turn(NamedTuple):
    """A message: who speaks (a person's id, or the role of who is none), its sentences, when it was sent, and
    whether it asks for anything: also in what was cut off, or by half a condition ("And if it rains").
    """

    speaker: str
    role: Role
    sentences: tuple[Sentence, ...]
    sent: datetime
    asks: bool

    @property
    def statements(self) -> tuple[Sentence, ...]:
        """What it says, not asks."""
        return tuple(sentence for sentence in self.sentences if not sentence.asks)


def read(messages: Sequence[WindowMessage]) -> list[Turn]:
    """Return what people, assistants and tools said, in order."""
    said = [message for message in messages if message.role in READ_ROLES]
    return [_turn(place, message) for place, message in enumerate(said)]


def _turn(place: int, message: WindowMessage) -> Turn:
    sentences = tuple(
        sentence_of(text, place, nth, lead, laid_out)
        for nth, (lead, text, laid_out) in enumerate(_texts(message.content))
    )
    asks = "?" in message.content or "？" in message.content
    asks = asks or any(s.asks or is_request(s.plain) or is_fragment(s.plain) for s in sentences)
    speaker = message.user_id if message.role is Role.USER else message.role.value
    return Turn(speaker, message.role, sentences, message.sent_at, asks)


def sentence_of(text: str, turn: int, nth: int, lead: str = "", laid_out: bool = False) -> Sentence:
    """Return a sentence with what is known of it by itself."""
    plain = _LOOSE_APOSTROPHE.sub("'", text).replace("’", "'")
    asks = is_question(plain) or (plain.endswith(ELLIPSIS) and _ASKING.match(plain) is not None)
    return Sentence(text, plain, words(text), asks, turn, nth, lead, laid_out)


def words(text: str) -> frozenset[str]:
    """Return the content words of a text, folded; a CJK character is a word."""
    found = (match.group().casefold().replace("’", "'").split("'")[0] for match in _WORD.finditer(text))
    return frozenset(stem_of(word) for word in found if is_content_word(word))


def is_content_word(word: str) -> bool:
    """Tell whether a folded word says something of what is talked of."""
    return word not in _STOP_WORDS and (len(word) > 2 or not word.isascii() or word.isdigit())


def _texts(content: str) -> Iterator[tuple[str, str, bool]]:
    """The sentences of a message, without code, formulas and tables: what only leads in, the rest, and whether
    it is laid out.
    """
    # Blanked, not removed, so that spans still point into the message.
    prose = _FENCE.sub(lambda fence: "\n" * len(fence.group()), content)
    first = _LAID_OUT.search(content)
    begins = first.start() if first else len(content)
    for start, end in _spans(prose):
        marker = _MARKER.match(content, start, end)
        begin = marker.end() if marker else start
        text = _shortened(content[begin:end])
        if text.count("|") < 2:
            yield content[start:begin], text, start >= begins


def _spans(prose: str) -> Iterator[tuple[int, int]]:
    for start, end in _whole_numbers(prose, _outer_spans(prose)):
        for gap in _UNSPLIT.finditer(prose, start, end):
            yield start, gap.start()
            start = gap.end()
        yield start, end


def _whole_numbers(prose: str, spans: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Spans again, with those as one between which only the space of a number lies: "6. 5 dollars"."""
    open_span: tuple[int, int] | None = None
    for start, end in spans:
        if open_span is not None:
            before, between = prose[open_span[1] - 2 : open_span[1]], prose[open_span[1] : start]
            if prose[start].isdigit() and before[:1].isdigit() and before[1:] in ".,:" and between in ("", " "):
                open_span = (open_span[0], end)
                continue
            yield open_span
        open_span = (start, end)
    if open_span is not None:
        yield open_span


def _outer_spans(prose: str) -> list[tuple[int, int]]:
    """The spans of all sentences, or of those at both ends of a very long text."""
    if len(prose) <= 2 * READ_FROM_EACH_END:
        return sentence_spans(prose)
    # The sentences that the cut goes through are left out, unless there is no other.
    begin = len(prose) - READ_FROM_EACH_END
    head = sentence_spans(prose[:READ_FROM_EACH_END])
    tail = [(start + begin, end + begin) for start, end in sentence_spans(prose[begin:])]
    return (head[:-1] or head) + tail[1:]


def _shortened(text: str) -> str:
    """Cut a sentence that is too long at the end of a clause, or else between words: never in a number or a
    name, or between a number and what it counts, or before what takes it back.  ``""``: there is no such place.
    """
    if len(text) <= LONGEST_SENTENCE:
        return text
    first = LONGEST_SENTENCE // 3
    clauses = [found.start() for found in _CLAUSE_END.finditer(text, first, LONGEST_SENTENCE)]
    ends = [end for end in clauses if not _TAKES_BACK.match(text, end) and _is_whole(text, end)]
    if clauses and not ends:
        return ""  # only up to what is taken back: it would tell what is wrong
    ends = ends or [
        found.start()
        for found in _SPACE.finditer(text, first, LONGEST_SENTENCE)
        if _parts_words(text[found.start() - 1], text[found.end() : found.end() + 1])
        and _PHRASE.match(text, found.end())
    ]
    if ends and _CONDITION.match(text, 0, ends[-1]):
        return ""  # the main clause is cut off
    if not ends:  # no spaces: CJK may be cut anywhere but in what is written in other characters
        ends = [at for at in range(first, LONGEST_SENTENCE) if _is_letter_alone(text[at - 1 : at + 1])]
    return text[: ends[-1]].rstrip(" \t\n,;:–—-") + ELLIPSIS if ends else ""


def only_says_when(text: str) -> bool:
    """Tell whether a text that no stop ends is a condition whose main clause was cut off."""
    return text[-1:].isalnum() and _CONDITION.match(text) is not None


def _is_whole(text: str, end: int) -> bool:
    """Tell whether what was joined last before an end has a verb: not "... and my neighbour, Rosa"."""
    joined = max(text.rfind(" and ", 0, end), text.rfind(" but ", 0, end), text.rfind(" because ", 0, end))
    return joined < 0 or is_clause(text[joined + 1 : end])


def _parts_words(before: str, after: str) -> bool:
    return not (before.isdigit() or after.isdigit() or after.isupper())


def _is_letter_alone(pair: str) -> bool:
    return all(character.isalpha() and character >= "\u3040" for character in pair)
