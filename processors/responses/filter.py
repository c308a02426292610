"""Takes out of a response stream what a reader has read already (requirement 4), and nothing else.

What is a repetition
    A *sentence* of prose whose words were all said before, in the same order, but for harmless variants
    (:mod:`.canonical`), goes by itself.  Everything else (headings, list items, rows, labels, lines that end in
    ":", verse, code) goes only in a *passage*: element by element it repeats what stands together above, from
    the line that introduces it to the end of its block.  A heading goes with what stands under it; if anything
    else under it is kept, it comes back.  What a new heading or a line that ends in ":" announces is shown
    again on purpose (a draft, and the draft revised): it stays, and so does what goes on with it in the order
    in which it was said first.  The similarity proposes; what it finds and the words do not bear out is
    told and kept (``FilterPolicy.fuzzy`` takes it out).

How long text waits
    Text that runs along something said before waits to the end of its sentence or block, for its reader has
    read it already; the moment it leaves the run, all of it goes out.  The time begins anew with every element
    of the run, so that the outcome hardly depends on the stream's speed.  Other text leaves at once.

Decisions are made on settled elements and whole words, so the outcome never depends on where a chunk ends; it
depends on the clock only where a hold time ends.
"""

from __future__ import annotations

import copy
import re

from processors.responses.decisions import Decisions
from processors.responses.duplicates import find_duplicate
from processors.responses.elements import Context, read_element
from processors.responses.filter_state import Filtered, FilterPolicy, FilterState, FindDuplicate
from processors.responses.history import History, SeenElement
from processors.responses.lines import Kind, line_extent
from processors.responses.release import Release
from processors.responses.sentences import LONGEST_SENTENCE, MAY_END

#: Characters that are taken at once.  Where text is cut does not matter, and dropping the beginning of a long
#: one takes as long as it is: a response in one chunk would take quadratic time.
_BITE = 4096

#: Before the block in which a line is open that was too long to be kept: the rest of it passes.
_REST = "line"

#: What a text that goes on in the middle of words ends with: nothing that is still to be decided.
_IN_WORDS = re.compile(r"[^\W\d_]{2}[ ,]?\Z")


class ResponseFilter:
    """Filters any number of responses; what it knows of each is in its :class:`FilterState`."""

    def __init__(self, policy: FilterPolicy | None = None, find: FindDuplicate = find_duplicate) -> None:
        self.policy = policy or FilterPolicy()
        self._find = find

    def push(self, state: FilterState, text: str, now: float, *, final: bool = False) -> Filtered:
        """Add ``text`` to the response; ``final`` if nothing follows.  ``now`` in epoch seconds."""
        state, expired, off = copy.copy(state), self._expired(state, now), self.policy.threshold >= 1.0
        if not final and not expired and _goes_on(state, text):
            state.text += text
            state.sent = len(state.text)
            return Filtered(state, text)
        step = _Step(state, self.policy, self._find)
        if expired or off:
            step.release_all()
        (step.pass_on if off else step.read)(text, final)
        return step.result(len(text), now)

    def tick(self, state: FilterState, now: float) -> Filtered:
        """Release what was held for too long, and let its sentence pass."""
        return self.push(state, "", now) if self._expired(state, now) else Filtered(state, "")

    def wake_at(self, state: FilterState) -> float | None:
        """Return when :meth:`tick` has something to release, in epoch seconds."""
        if state.held_since is None:
            return None
        return state.held_since + (
            self.policy.hold_seconds if state.similar else self.policy.repeat_hold_seconds
        )

    def _expired(self, state: FilterState, now: float) -> bool:
        due = self.wake_at(state)
        return due is not None and now >= due


def _goes_on(state: FilterState, text: str) -> bool:
    """Say whether ``text`` is nothing but more of an element that is leaving."""
    length = len(state.text)
    if not 0 < state.sent == length < LONGEST_SENTENCE - len(text):
        return False
    if state.line:
        return "\n" not in text and "\r" not in text
    return MAY_END.search(text) is None and _IN_WORDS.search(state.text, length - 3) is not None


class _Step:
    """One step over a response: reads its elements, has them decided on, and says what came of it."""

    def __init__(self, state: FilterState, policy: FilterPolicy, find: FindDuplicate) -> None:
        self._state, self._release = state, Release(state, History(state.said))
        self._decisions = Decisions(state, self._release, policy, find)

    def release_all(self) -> None:
        """Let everything visible leave."""
        self._decisions.break_off()
        text = self._state.text
        visible = len(text.rstrip())
        if visible > self._state.sent:
            self._release.leave(len(text) - len(text.lstrip()), visible)
            self._state.line = False

    def pass_on(self, text: str, final: bool) -> None:
        """Send all text as it is, joined with what an earlier setting has taken out."""
        state = self._state
        state.text += text
        gap = len(state.text) - len(state.text.lstrip())
        if state.gap is None or gap < len(state.text):
            self._release.leave(gap, len(state.text))
            self._release.consume(len(state.text))
        elif final:
            self._release.end()

    def read(self, text: str, final: bool) -> None:
        """Go on with ``text``, as far as it is clear what it is."""
        for at in range(0, len(text), _BITE):
            self._state.text += text[at : at + _BITE]
            self._read_elements(final=False)
        if final or not text:  # what was let go goes on even if nothing was added
            self._read_elements(final)
        if final:
            self._decisions.end_block(None)
            self._decisions.break_off()
            self._release.end()

    def _read_elements(self, final: bool) -> None:
        while self._state.text and self._read_one(final):
            pass

    def _read_one(self, final: bool) -> bool:
        """Deal with the next element; say whether there may be another."""
        state, decisions, release = self._state, self._decisions, self._release
        if state.context.inside.startswith(_REST):
            return self._rest_of_line(final)
        element = read_element(state.text, state.context, final=final)
        gap, end = element.gap, element.end
        if element.kind is Kind.SPACE:
            return element.settled and self._gap_without_end(end)
        if element.settled:
            decisions.decide(element, SeenElement(state.text[gap:end].rstrip(), element.kind, element.first))
            state.context = Context(False, element.inside, element.kind)
            return release.consume(end)
        if state.sent <= gap:
            said = SeenElement(state.text[gap:end], element.kind, element.first)
            if decisions.waits(element, said) and not element.long:
                return False
            decisions.break_off()
        release.leave(gap, end)
        if not element.long:
            state.line = element.kind not in (Kind.SENTENCE, Kind.UNDECIDED, Kind.HEADING)
            return False
        release.keep(SeenElement("", Kind.LINE))
        state.verse, state.context = False, Context(False, _REST + element.inside, Kind.LINE)
        return release.consume(end)

    def _gap_without_end(self, end: int) -> bool:
        """Let ``end`` characters of white space leave: they begin a block, if a line ends in them."""
        state = self._state
        self._decisions.break_off()
        self._release.space(state.text[:end], state.sent)
        if "\n" in state.text[:end]:
            state.context = Context(True, state.context.inside, Kind.SPACE)
        return self._release.consume(end)

    def _rest_of_line(self, final: bool) -> bool:
        """Let the rest of a line leave that was too long to be kept."""
        state = self._state
        end, settled = line_extent(state.text, 0, final)
        self._release.out.append(state.text[:end])
        self._release.consume(end)
        if settled:
            state.context = Context(False, state.context.inside.removeprefix(_REST), Kind.LINE)
        return settled

    def result(self, added: int, now: float) -> Filtered:
        """Return the result of the step, to which ``added`` characters were given."""
        self._write_history()
        state = self._state
        before, at = state.held_since, self._waiting_at()
        if at is None:
            state.held_since = None
        elif before is None or at != state.held_at:
            state.held_since = now
        state.held_at = at or 0
        state.similar = state.similar and not state.held
        return Filtered(
            state,
            "".join(self._release.out),
            tuple(self._release.duplicates),
            held=min(added, state.held_characters + len(state.text) - state.sent),
            waited=now - before if before is not None and state.held_since != before else None,
            errors=tuple(self._decisions.errors),
        )

    def _write_history(self) -> None:
        """Write to the state what is remembered; places in it move if something was forgotten."""
        state, history = self._state, self._release.history
        if len(history) == len(state.said):
            return
        gone = history.start
        state.said = tuple(history[gone:])
        state.run = tuple([at - gone for at in state.run])
        if state.shown:
            state.shown = state.shown[0] - gone, state.shown[1] - gone, state.shown[2]

    def _waiting_at(self) -> int | None:
        """Return the position of what the hold time is counted for: the last sentence or element that waits."""
        state = self._state
        unsent = state.text[state.sent :].lstrip()
        if unsent:
            within = max(unsent.rfind(stop) for stop in (". ", "! ", "? ")) + 1  # several, if they are quoted
            return state.position + len(state.text) - len(unsent) + within
        return state.held[-1].position if state.held else None


def filter_text(text: str, policy: FilterPolicy | None = None) -> Filtered:
    """Filter a whole response at once: what its chunks give, however it is cut and if none of them is late."""
    return ResponseFilter(policy).push(FilterState(), text, 0.0, final=True)
