"""What leaves in one step of a response, the white space around what does not, and what is told of it."""

from __future__ import annotations

from processors.responses.filter_state import Duplicate, FilterState, Held
from processors.responses.history import MEMORY, Said, announces, level_of, sentences_of
from processors.responses.lines import Kind


class Release:
    """Changes ``state`` as text leaves or is taken out; ``out`` and ``duplicates`` gather what came of it."""

    def __init__(self, state: FilterState) -> None:
        self._state = state
        self.gone = 0  # elements that were forgotten
        self.out: list[str] = []
        self.duplicates: list[Duplicate] = []

    def send(self, end: int) -> None:
        """Let the text leave up to ``end``, the beginning of which has left."""
        state = self._state
        if end > state.sent:
            self.out.append(state.text[state.sent : end])
            state.sent = end

    def begin(self, gap: int, end: int) -> None:
        """Let the beginning of an element leave, up to ``end``, behind ``gap`` characters of white space."""
        state = self._state
        self._write(state.text[state.sent : gap], state.text[:gap], state.text[gap:end])
        state.sent = end

    def emit(self, held: Held, sent: int = 0) -> None:
        """Let a settled element leave; the first ``sent`` characters of its gap have left."""
        self._write(held.gap[sent:], held.gap, held.element.text + held.tail)
        self.keep(held.element)

    def keep(self, said: Said) -> None:
        """Remember an element that has left."""
        self.remember(said)
        if said.kind != Kind.RULE:  # what follows it is announced all the same
            self._state.after = announces(said)

    def remember(self, said: Said) -> None:
        """Add an element to what was said."""
        state = self._state
        sentences_of(said.kind, said.text)  # read now, one at a time: later all would be read at once
        gone = max(0, len(state.said) + 1 - MEMORY)
        self.gone += gone
        state.said, state.run = (*state.said, said)[-MEMORY:], ()
        if gone and state.shown:
            state.shown = state.shown[0] - gone, state.shown[1] - gone, state.shown[2]

    def drop(self, held: Held) -> None:
        """Take an element out; a heading comes back if anything under it stays."""
        state = self._state
        if held.element.kind == Kind.HEADING:
            self.close_sections(level_of(held.element.kind, held.element.text))
            state.owed = (*state.owed, held)
        elif held.element.kind != Kind.RULE:
            self._tell(held)
        state.gap = held.gap if state.gap is None else join_gaps(state.gap, held.gap, leads=not state.began)

    def close_sections(self, level: int) -> None:
        """A heading of this level begins (0: nothing follows): those that it closes come back no more."""
        state = self._state
        closed = [held for held in state.owed if level_of(held.element.kind, held.element.text) >= level]
        for held in closed:
            self._tell(held)
        state.owed = state.owed[: len(state.owed) - len(closed)]

    def end(self) -> None:
        """Nothing but white space follows."""
        state = self._state
        if state.gap is None:
            self.out.append(state.text[state.sent :])
        else:
            self.out.append(state.text if "\n" in state.text and state.began else "")
            state.gap = None
        self.consume(len(state.text))

    def consume(self, end: int) -> bool:
        """Forget the first ``end`` characters, which are settled; say whether any are left."""
        state = self._state
        state.text = state.text[end:]
        state.sent = max(0, state.sent - end)
        state.position += end
        return bool(state.text)

    def write_gap(self, unsent: str, gap: str) -> None:
        """Let white space leave, ``unsent`` of which has not left, joined with that around what went."""
        state = self._state
        self.out.append(unsent if state.gap is None else join_gaps(state.gap, gap, leads=not state.began))
        state.gap = None

    def _write(self, unsent: str, gap: str, text: str) -> None:
        """Write an element that stays, behind the headings that it brings back."""
        state = self._state
        for owed in state.owed:
            self.write_gap(owed.gap, owed.gap)
            self.out.append(owed.element.text + owed.tail)
            self.remember(owed.element)
        state.owed = ()
        self.write_gap(unsent, gap)
        self.out.append(text)
        state.began, state.run = True, ()

    def _tell(self, held: Held) -> None:
        self.duplicates.append(Duplicate(held.element.text, held.similar, held.score, held.position))


def join_gaps(before: str, after: str, *, leads: bool) -> str:
    """Return the gap that remains where what stood between ``before`` and ``after`` was taken out.

    Inside a line that is the gap before.  At the end of a line or paragraph it is the gap after.  Where whole
    lines went, it is the wider of the two, with the indent of what follows.  ``leads``: nothing is before it.
    """
    if "\n" not in after:
        return before if before or leads else after
    if "\n" not in before and not leads:
        return after
    breaks, _, indent = after.rpartition("\n")
    wider = leads or before.count("\n") >= after.count("\n")
    return ("".join(before.rpartition("\n")[:2]) if wider else f"{breaks}\n") + indent
