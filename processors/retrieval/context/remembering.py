"""Earlier conversation as context candidates: episodes, each with its turns relevant to the last message.

A turn that lies in an episode which was found speaks for that episode; one that lies in none yet, because its
conversation goes on, speaks for itself.  A short answer is offered with the question that it answers, or not at
all, and a sentence that is a known fact is not offered again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from models.episodes import Episode
from models.messages import Role
from processors.retrieval.context.ranking import Candidate, is_related
from processors.retrieval.recall.question import words_of
from processors.text.sentences import sentence_spans

#: Turns of an episode that are shown at most, and their characters together: it must not fill its tier alone.
SHOWN_TURNS = 5
SHOWN_CHARACTERS = 480

#: What stands between turns that are shown as one.
_BETWEEN = " … "

#: What stands between who said a turn and the turn.
_SAYS = ": "

#: What stands between a question and its answer, in a fact and in a turn.
_ANSWERED_BY = " – "

#: Words that a turn needs to say something by itself, and words that say something.
_LEAST_WORDS, _LEAST_SAYING = 4, 2

#: Characters of a turn that are compared with facts: longer ones were pasted.
_COMPARED = 4_000

_NO_WORD = re.compile(r"\W+")


def is_short(text: str) -> bool:
    """Return whether a text says too little to be understood without what it answers."""
    saying = len(words_of(text))  # of text without spaces between words, more than are parted by spaces
    return saying < _LEAST_SAYING or max(saying, len(text.split())) < _LEAST_WORDS


def answering(text: str, question: str) -> str:
    """Return a short answer with the question before it."""
    return f"{question}{_ANSWERED_BY}{text}"


def offered(
    turns: Iterable[Candidate], facts: Iterable[Candidate], questions: Mapping[str, str]
) -> list[Candidate]:
    """Return the turns that tell more than the facts do, each without the sentences that facts quote.

    ``questions`` are those that short turns answer, by the id of the turn.
    """
    known = [_plain(each.text) for each in facts]
    kept = []
    for turn in turns:
        text = _new(turn.text, known)
        if is_short(text):
            question = questions.get(turn.id, "") if turn.role is Role.USER and text == turn.text else ""
            if not question or _is_known(answering(text, question), known):
                continue
            text = answering(text, question)
        kept.append(turn if text == turn.text else msgspec.structs.replace(turn, text=text, cut=True))
    return kept


def untold(earlier: Iterable[Candidate], facts: Iterable[Candidate]) -> list[Candidate]:
    """Return episodes and turns, as a context shows them, without the sentences that these facts quote."""
    known = [_plain(each.text) for each in facts]
    kept = []
    for each in earlier:
        shown = each.text.split(_BETWEEN)
        left = [new for part in shown if (new := _untold(part, known, named=each.role is None))]
        if left == shown:
            kept.append(each)
        elif left:
            kept.append(msgspec.structs.replace(each, text=_BETWEEN.join(left), cut=True))
    return kept


def _untold(part: str, known: Sequence[str], *, named: bool) -> str:
    """Return a turn without the sentences that are known; ``named``: it begins with who said it."""
    who, between, said = part.partition(_SAYS) if named else ("", "", part)
    if not between:
        who, said = "", part
    new = _new(said, known)
    return part if new == said else "" if is_short(new) else f"{who}{between}{new}"


def _new(text: str, known: Sequence[str]) -> str:
    """Return a text without the sentences that are known; as it is if none is."""
    if len(text) > _COMPARED:
        return text
    sentences = [text[start:end] for start, end in sentence_spans(text)]
    new = [each for each in sentences if not _is_known(each, known)]
    return text if len(new) == len(sentences) else " ".join(new)


def _is_known(sentence: str, known: Sequence[str]) -> bool:
    plain = _plain(sentence)
    return len(plain) > 1 and any(plain in each for each in known)


def _plain(text: str) -> str:
    """Return the words of a text, with a space around each."""
    return f" {_NO_WORD.sub(' ', text.casefold()).strip()} "


class FoundEpisode(NamedTuple):
    """An episode, and how it was found."""

    episode: Episode
    candidate: Candidate


def remembered(turns: Sequence[Candidate], episodes: Sequence[FoundEpisode]) -> list[Candidate]:
    """Return the candidates of the turns and episodes that were found; no turn comes twice.

    An episode is as like what was just said as the most similar of itself and its turns.  Its ``text`` and
    ``message_ids`` are those of the turns of it that are related, the best of them, or its own.
    """
    left = {turn.id: turn for turn in turns}
    offered = []
    for episode, candidate in sorted(
        episodes, key=lambda found: (-found.candidate.similarity, found.candidate.id)
    ):
        inside = [left.pop(name) for name in episode.turn_ids if name in left]
        offered.append(_with_turns(candidate, [turn for turn in inside if is_related(turn)]))
    return [*offered, *left.values()]


def _with_turns(episode: Candidate, inside: Sequence[Candidate]) -> Candidate:
    """Return an episode with what its turns say, in the order in which they were said."""
    if not inside:
        return episode
    best = sorted(inside, key=lambda turn: (-turn.similarity, turn.id))
    kept, characters = {best[0].id}, len(best[0].text)
    for turn in best[1:SHOWN_TURNS]:
        characters += len(turn.text)
        if characters <= SHOWN_CHARACTERS:
            kept.add(turn.id)
    shown = [turn for turn in inside if turn.id in kept]
    alone = len({(turn.role, turn.speaker) for turn in shown}) == 1
    nearest = max((episode, best[0]), key=lambda each: each.similarity)
    return msgspec.structs.replace(
        episode,
        text=_BETWEEN.join(turn.text if alone else _line(turn) for turn in shown),
        found_by=nearest.found_by,
        similarity=nearest.similarity,
        at=min(turn.at for turn in shown),
        arrived_at=min((turn.arrived_at for turn in shown if turn.arrived_at is not None), default=None),
        words=tuple(dict.fromkeys(word for turn in shown for word in turn.words)),
        vector=nearest.vector,
        role=shown[0].role if alone else None,
        speaker=shown[0].speaker if alone else "",
        message_ids=tuple(name for turn in shown for name in turn.message_ids),
        cut=True,
    )


def _line(turn: Candidate) -> str:
    return f"{turn.speaker or turn.role}{_SAYS}{turn.text}"
