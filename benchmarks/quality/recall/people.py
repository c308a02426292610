"""Made-up people as a memory: their turns, the facts that a note-taker would quote, and their questions.

A fact is a sentence of a message that tells a note, with the question before it where it is short; a sentence
whose notes have all ended is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from models.messages import Role
from processors.extraction.units import last_question
from processors.retrieval.context.remembering import answering, is_short
from processors.retrieval.recall.features import Candidate
from processors.text.sentences import sentence_spans

Person = dict[str, Any]


class Asked(NamedTuple):
    """A question, the messages that answer it, and the terms that an answer may hold instead."""

    query: str
    evidence: frozenset[str]
    terms: tuple[tuple[tuple[str, ...], ...], ...]

    def is_answered_by(self, found: Sequence[Candidate]) -> bool:
        """Return whether something found rests on the evidence, or all of it together has a note's terms."""
        if any(self.evidence.intersection(each.message_ids) for each in found):
            return True
        text = " ".join(each.text for each in found).casefold()
        return any(all(any(term in text for term in some) for some in note) for note in self.terms)


def remembered(person: Person) -> list[Candidate]:
    """Return the turns of a person and the facts that hold in the end, without cosines."""
    found, asked = list[Candidate](), dict[str, str]()
    for session in person["sessions"]:
        texts = [each["text"] for each in session["messages"]]
        for index, each in enumerate(session["messages"]):
            if index and each["role"] == "user" and session["messages"][index - 1]["role"] == "assistant":
                asked[each["id"]] = last_question(texts[index - 1])
            found.append(
                Candidate(
                    text=each["text"],
                    role=Role(each["role"]),
                    conversation_id=session["conversation_id"],
                    index=index,
                    before=texts[index - 1] if index else "",
                    after=texts[index + 1] if index + 1 < len(texts) else "",
                    said_at=datetime.fromisoformat(each["at"]).timestamp(),
                    message_ids=(each["id"],),
                )
            )
    by_id = {each.message_ids[0]: each for each in found}
    return [*found, *_facts(person, by_id, asked)]


def _facts(person: Person, turns: dict[str, Candidate], asked: dict[str, str]) -> list[Candidate]:
    notes: dict[tuple[str, int], list[Any]] = {}
    for note in person["notes"]:
        terms = [term.casefold() for some in note["terms"] for term in some]
        for name in note["evidence"]:
            sentences = _sentences(turns[name].text)
            told = [at for at, each in enumerate(sentences) if any(term in each.casefold() for term in terms)]
            for at in told or [0]:
                notes.setdefault((name, at), []).append(note)
    found = []
    for (name, at), of in sorted(notes.items()):
        living = [note for note in of if not note.get("ends")]
        if living:
            turn = turns[name]
            text = _sentences(turn.text)[at]
            if at == 0 and is_short(text) and asked.get(name):
                text = answering(text, asked[name])
            found.append(
                Candidate(
                    text=text,
                    role=Role.USER,
                    conversation_id=turn.conversation_id,
                    said_at=turn.said_at,
                    message_ids=turn.message_ids,
                    importance=max(note["importance"] for note in living),
                )
            )
    return found


def _sentences(text: str) -> list[str]:
    return [" ".join(text[start:end].split()) for start, end in sentence_spans(text)] or [text]


def questions(person: Person) -> list[Asked]:
    """Return the questions of a person; one without evidence and terms is answered by nothing."""
    terms = {
        note["id"]: tuple(tuple(term.casefold() for term in some) for some in note["terms"])
        for note in person["notes"]
    }
    return [
        Asked(each["q"], frozenset(each["evidence"]), tuple(terms[name] for name in each["notes"]))
        for each in person["questions"]
    ]
