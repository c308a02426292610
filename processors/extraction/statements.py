"""Which statements about its people a window holds: rules only, no model (seed 000).

Only ``user`` messages speak for a person; other messages are heard as questions and reactions.  Every
statement names the messages it rests on and quotes them exactly.  Where each decision is taken:

=============================  ============================================================
``extraction_own_words``       which sentences of a message are the person's own
``extraction_clauses``         which clauses of a sentence state something about them
``extraction_rewriting``       first person to third (verbs and pronouns: ``_grammar``)
``extraction_rules``           which statement a clause makes, and whether it stands alone
``extraction_categories``      its category, and how sure that is
``extraction_feedback``        what is said about the assistant's answers
``extraction_exchanges``       answers to questions, words that complete an earlier statement
``extraction_lexicon``         the words that all of them know
=============================  ============================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from models.facts import Category
from models.ids import normalize_statement
from models.messages import Role
from models.ports import ExtractedStatement
from models.windows import Window, WindowMessage
from processors.extraction.clauses import clauses
from processors.extraction.exchanges import (
    answer,
    complete,
    completion,
    inferred_liking,
    leads_elsewhere,
)
from processors.extraction.feedback import feedback
from processors.extraction.own_words import Sentence, is_taken_back, message_sentences, takes_back
from processors.extraction.rules import Ruling, rule

#: How many messages of others may stand between a statement and the words that complete it.
_MAX_BETWEEN = 2


@dataclass(frozen=True, slots=True)
class Draft:
    """A statement that is not yet admitted: without a category no rule speaks for it.

    ``positions`` are those of its messages in the window, ``quotes`` the sentences as written, ``spoken``
    the sentence in the person's own words.
    """

    user_id: str
    ruling: Ruling
    positions: tuple[int, ...]
    quotes: tuple[str, ...]
    spoken: str
    completes: str = ""


def extract(window: Window) -> list[ExtractedStatement]:
    """Return the statements that the rules admit, in the order of the window, each once per person."""
    return admit(window, drafts(window))


def admit(window: Window, found: Iterable[Draft]) -> list[ExtractedStatement]:
    """Turn the drafts that have a category into statements; the same statement twice becomes one."""
    merged: dict[tuple[str, str], Draft] = {}
    for draft in found:
        if draft.ruling.category is None:
            continue
        key = draft.user_id, normalize_statement(draft.ruling.statement)
        merged[key] = _merge(merged[key], draft) if key in merged else draft
    return [
        ExtractedStatement(
            user_id=draft.user_id,
            category=draft.ruling.category or Category.PROFILE,
            statement=draft.ruling.statement,
            confidence=draft.ruling.confidence,
            source_message_ids=tuple(window.messages[n].message_id for n in draft.positions),
            quote="\n".join(draft.quotes),
            completes=draft.completes,
        )
        for draft in merged.values()
    ]


def drafts(window: Window) -> list[Draft]:
    """Return all that a window's people say about themselves, admitted by a rule or not."""
    return _Reader(window).read()


def _merge(one: Draft, other: Draft) -> Draft:
    surer = max(one, other, key=lambda draft: draft.ruling.confidence)
    return replace(
        one,
        ruling=surer.ruling,
        positions=tuple(sorted({*one.positions, *other.positions})),
        quotes=tuple(dict.fromkeys((*one.quotes, *other.quotes))),
        completes=one.completes or other.completes,
    )


@dataclass(slots=True)
class _Turn:
    """A message, read: ``draft`` is the index of the draft that its last sentence made, if any; ``made``
    are those of all that it made.
    """

    position: int
    message: WindowMessage
    sentences: list[Sentence]
    draft: int | None = None
    made: range = range(0)

    def quote(self, sentence: Sentence) -> str:
        return self.message.content[slice(*sentence.span)]


class _Reader:
    """Reads one window from its first message to its last."""

    def __init__(self, window: Window) -> None:
        self._turns = [
            _Turn(n, message, message_sentences(message.content)) for n, message in enumerate(window.messages)
        ]
        self._speakers = {message.user_id for message in window.messages if message.role is Role.USER}
        assisted = any(message.role is Role.ASSISTANT for message in window.messages)
        #: Between people only, "stop saying that" is not meant for an assistant.
        self._talks_to_assistant = assisted or len(self._speakers) < 2
        self._drafts: list[Draft] = []
        self._taken_back: set[int] = set()

    def read(self) -> list[Draft]:
        for turn in self._turns:
            if turn.message.role is Role.USER:
                for n, sentence in enumerate(turn.sentences):
                    self._hear(turn, n, sentence)
        return [draft for index, draft in enumerate(self._drafts) if index not in self._taken_back]

    def _hear(self, turn: _Turn, n: int, sentence: Sentence) -> None:
        if takes_back(sentence):
            meant = turn if n else self._own_turn_before(turn)
            if meant is not None:
                self._taken_back.update(meant.made)
        before = len(self._drafts)
        turn.draft = None if is_taken_back(sentence) else self._sentence(turn, n, sentence)
        turn.made = range(before, len(self._drafts))

    def _sentence(self, turn: _Turn, n: int, sentence: Sentence) -> int | None:
        """Read one sentence; return the index of the last draft it made or completed."""
        if (index := self._completed(turn, n, sentence)) is not None:
            return index
        rulings = [ruling for clause in clauses(sentence) if (ruling := rule(clause)) is not None]
        answers = n == 0 and not any(ruling.category for ruling in rulings)
        if answers and (index := self._answered(turn, sentence)) is not None:
            return index
        index = None
        if self._talks_to_assistant:
            before = self._before(turn)
            after_answer = before is not None and before.message.role is Role.ASSISTANT
            ruling = feedback(sentence, after_answer=after_answer)
            if ruling is not None:
                index = self._add([turn], ruling, [(turn, sentence)])
                if ruling.category is Category.FEEDBACK:
                    return index
        for ruling in rulings:
            made = self._add([turn], ruling, [(turn, sentence)])
            index = made if ruling.category is not None else index
        return index

    def _answered(self, turn: _Turn, sentence: Sentence) -> int | None:
        asked = self._before(turn)
        if asked is None or self._same_person(asked, turn) or not asked.sentences:
            return None
        if asked.message.role is Role.ASSISTANT and self._is_for_another(asked, turn):
            return None
        question = asked.sentences[-1]
        announced = self._before(asked)
        announcement = None
        if announced is not None and self._same_person(announced, turn) and announced.sentences:
            announcement = announced.sentences[-1]
        ruling = answer(question.text, sentence.text, announcement.text if announcement else "")
        if ruling is None:
            return None
        quoted = [(asked, question), (turn, sentence)]
        turns = [asked, turn]
        if announced is not None and announcement is not None and announcement.is_question:
            quoted.insert(0, (announced, announcement))
            turns.insert(0, announced)
        return self._add(turns, ruling, quoted)

    def _completed(self, turn: _Turn, n: int, sentence: Sentence) -> int | None:
        rest = completion(sentence.text)
        if rest is None or (n == 0 and self._is_asked(turn, rest)):
            return None
        if n > 0:
            return None if turn.draft is None else self._extend(turn.draft, turn, sentence, rest)
        said = self._own_turn_before(turn)
        if said is None:
            return None
        if said.draft is not None:
            return self._extend(said.draft, turn, sentence, rest)
        between = self._turns[said.position + 1 : turn.position]
        if len(said.sentences) != 1 or len(between) != 1 or not between[0].sentences:
            return None
        ruling = inferred_liking(said.sentences[0].text, between[0].sentences[0].text, rest)
        if ruling is None:
            return None
        asked = self._before(said)
        turns = [said, *between, turn] if asked is None else [asked, said, *between, turn]
        partial = ruling.statement
        ruling = replace(ruling, statement=complete(partial, rest))
        return self._add(turns, ruling, [(said, said.sentences[0]), (turn, sentence)], completes=partial)

    def _is_asked(self, turn: _Turn, rest: str) -> bool:
        """Whether ``rest`` belongs to a question that was asked since: "What do you eat?" "Mostly rice." """
        asked = self._before(turn)
        if asked is None or not asked.sentences or self._same_person(asked, turn):
            return False
        return leads_elsewhere(asked.sentences[-1].text, rest)

    def _extend(self, index: int, turn: _Turn, sentence: Sentence, rest: str) -> int:
        partial = self._drafts[index]
        elsewhere = turn.position not in partial.positions
        self._drafts[index] = replace(
            partial,
            ruling=replace(partial.ruling, statement=complete(partial.ruling.statement, rest)),
            positions=tuple(range(partial.positions[0], turn.position + 1)),
            quotes=(*partial.quotes, *_lines(turn.quote(sentence))),
            spoken=f"{partial.spoken} {sentence.text}",
            # Only an earlier window can have seen less than this one, and it ended between two messages.
            completes=partial.completes or (partial.ruling.statement if elsewhere else ""),
        )
        return index

    def _add(
        self,
        turns: Sequence[_Turn],
        ruling: Ruling,
        quoted: Sequence[tuple[_Turn, Sentence]],
        completes: str = "",
    ) -> int:
        self._drafts.append(
            Draft(
                user_id=turns[-1].message.user_id,
                ruling=ruling,
                positions=tuple(range(turns[0].position, turns[-1].position + 1)),
                quotes=tuple(line for turn, sentence in quoted for line in _lines(turn.quote(sentence))),
                spoken=quoted[-1][1].text,
                completes=completes,
            )
        )
        return len(self._drafts) - 1

    def _before(self, turn: _Turn) -> _Turn | None:
        return self._turns[turn.position - 1] if turn.position else None

    def _own_turn_before(self, turn: _Turn) -> _Turn | None:
        """The same person's turn before this one, if only a few others spoke in between."""
        for other in reversed(self._turns[max(0, turn.position - 1 - _MAX_BETWEEN) : turn.position]):
            if self._same_person(other, turn):
                return other
        return None

    def _is_for_another(self, asked: _Turn, turn: _Turn) -> bool:
        """Whether the assistant spoke with somebody else who is here (its ``user_id`` says with whom)."""
        meant = asked.message.user_id
        return meant != turn.message.user_id and meant in self._speakers

    @staticmethod
    def _same_person(one: _Turn, other: _Turn) -> bool:
        return one.message.role is Role.USER and one.message.user_id == other.message.user_id


def _lines(quote: str) -> list[str]:
    """A sentence may run over a wrapped line; quotes are kept line by line."""
    return [line.strip() for line in quote.splitlines() if line.strip()]
