"""Output of one step of a response, with the white space around removed elements, and its notices."""

from __future__ import annotations

from processors.responses.filter_state import Duplicate, FilterState, Held
from processors.responses.history import History, SeenElement
from processors.responses.lines import Kind


class Release:
    """Changes ``state`` as text leaves or is taken out; ``out`` and ``duplicates`` gather what came of it."""

    def __init__(self, state: FilterState, history: History) -> None:
        self._state, self.history = state, history
        self.out: list[str] = []
        self.duplicates: list[Duplicate] = []

    def leave(self, gap: int, end: int) -> None:
        """Let the text leave up to ``end``: an element, or more of it, behind a gap of white space."""
        state = self._state
        if state.sent <= gap:
            self._write(state.text[:gap], state.text[gap:end], state.sent)
            state.sent = end
        elif end > state.sent:
            self.out.append(state.text[state.sent : end])
            state.sent = end

    def emit(self, held: Held) -> None:
        """Let an element leave that was held."""
        self._write(held.gap, held.element.text + held.tail)
        self.keep(held.element)

    def keep(self, said: SeenElement) -> None:
        """Remember an element that has left."""
        self.history.add(said)
        if said.kind != Kind.RULE:  # what follows it is announced all the same
            self._state.after = said.announces

    def drop(self, held: Held) -> None:
        """Take an element out; a heading comes back if anything under it stays."""
        state = self._state
        if level := held.element.level:
            self.close_sections(level)
            state.owed = (*state.owed, held)
        elif held.element.kind != Kind.RULE:
            self._tell(held)
        state.gap = held.gap if state.gap is None else join_gaps(state.gap, held.gap, leads=not state.began)

    def close_sections(self, level: int) -> None:
        """A heading of this level begins (0: nothing follows): those that it closes come back no more."""
        state = self._state
        for held in state.owed:
            if held.element.level >= level:
                self._tell(held)
        state.owed = tuple([held for held in state.owed if held.element.level < level])

    def space(self, gap: str, sent: int = 0) -> None:
        """Let white space leave, joined with that around what went; ``sent`` characters of it have left."""
        state = self._state
        self.out.append(gap[sent:] if state.gap is None else join_gaps(state.gap, gap, leads=not state.began))
        state.gap = None

    def consume(self, end: int) -> bool:
        """Forget the first ``end`` characters, which are settled; say whether any are left."""
        state = self._state
        state.text = state.text[end:]
        state.sent = max(0, state.sent - end)
        state.position += end
        return bool(state.text)

    def end(self) -> None:
        """Nothing but white space follows."""
        state = self._state
        if state.gap is None:
            self.out.append(state.text[state.sent :])
        elif "\n" in state.text and state.began:
            self.out.append(state.text)
        state.gap = None
        self.consume(len(state.text))
        self.close_sections(0)

    def _write(self, gap: str, text: str, sent: int = 0) -> None:
        """Write an element that stays, behind the headings that it brings back."""
        state = self._state
        for owed in state.owed:
            self.space(owed.gap)
            self.out.append(owed.element.text + owed.tail)
            self.history.add(owed.element)
        self.space(gap, sent)
        self.out.append(text)
        state.owed, state.began, state.run = (), True, ()

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
