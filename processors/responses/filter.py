"""Takes out of a response stream what a reader has read already (seed 003), and nothing else.

What is a repetition
    A *sentence* of prose whose words were all said before, in the same order, but for harmless variants
    (:mod:`.canonical`), goes by itself.  Everything else (headings, list items, rows, labels, lines that end in
    ":", verse, code) goes only in a *passage*: element by element it repeats what stands together above, from
    the line that introduces it to the end of its block (:mod:`.passages`).  A heading goes with what stands
    under it; if anything else under it is kept, it comes back.  The seed's similarity proposes; what it finds
    and the words do not bear out is told and kept (``FilterPolicy.fuzzy`` takes it out).

How long text waits
    Text that runs along something said before waits to the end of its sentence or block, for its reader has
    read it already; the moment it leaves the run, all of it goes out.  The time begins anew with every element
    of the run, so that the outcome hardly depends on the stream's speed.  Other text leaves at once.

Decisions are made on settled elements and whole words, so the outcome never depends on where a chunk ends; it
depends on the clock only where a hold time ends.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from processors.responses.duplicates import Match, find_duplicate
from processors.responses.elements import Context, Element, Kind, may_be_bold_line, read_element
from processors.responses.filter_state import (
    Duplicate,
    Filtered,
    FilterPolicy,
    FilterState,
    FindDuplicate,
    Held,
)
from processors.responses.gaps import split_at_long_gaps
from processors.responses.history import History, Said, after, introduces, may_stand_alone, stands_in_verse
from processors.responses.lines import line_end
from processors.responses.passages import is_repetition, may_begin, may_join
from processors.responses.release import Release

#: Characters that are taken at once.  Where text is cut does not matter, and dropping the beginning of a long
#: one takes as long as it is: a response in one chunk would take quadratic time.
_BITE = 4096

#: Before the block in which a line is open that was too long to be kept: the rest of it passes.
_REST = "line"

#: Kinds that are told apart by how their line ends.
_OPEN = (Kind.SENTENCE, Kind.HEADING)

#: No place in the history.
_NOWHERE: tuple[int, ...] = ()

T = TypeVar("T")


class ResponseFilter:
    """Filters any number of responses; what it knows of each is in its :class:`FilterState`."""

    def __init__(self, policy: FilterPolicy | None = None, find: FindDuplicate = find_duplicate) -> None:
        self.policy = policy or FilterPolicy()
        self._find = find

    def push(self, state: FilterState, text: str, now: float, *, final: bool = False) -> Filtered:
        """Add ``text`` to the response; ``final`` if nothing follows.  ``now`` in epoch seconds."""
        step = _Step(state, self.policy, self._find)
        if self.policy.threshold >= 1.0 or self._expired(state, now):
            step.let_go()
        return step.take(text, now, final)

    def tick(self, state: FilterState, now: float) -> Filtered:
        """Release what was held for too long, and let its sentence pass."""
        if not self._expired(state, now):
            return Filtered(state, "")
        step = _Step(state, self.policy, self._find)
        step.let_go()
        return step.take("", now, final=False)

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


class _Step:
    """One step over a response: a copy of its state, which it changes, and what comes out."""

    def __init__(self, state: FilterState, policy: FilterPolicy, find: FindDuplicate) -> None:
        self._policy, self._find = policy, find
        self._state = copy.copy(state)
        self._release = Release(self._state)
        self._errors: list[Exception] = []

    def let_go(self) -> None:
        """Let everything visible leave."""
        self._break_off()
        text = self._state.text
        visible = len(text.rstrip())
        if visible > self._state.sent:
            self._leave(len(text) - len(text.lstrip()), visible)

    def take(self, text: str, now: float, final: bool) -> Filtered:
        """Go on with ``text`` and return what came of it all."""
        state = self._state
        if self._policy.threshold >= 1.0:
            self._pass_on(text, final)
            return self._result(len(text), now)
        (*closed, rest), state.white = split_at_long_gaps(text, state.white)
        for part in closed:
            self._add(part)
            self._settle_before_gap()
        self._add(rest)
        self._advance_all(final)  # what was let go goes on even if nothing was added
        if final:
            self._close(None)
            self._break_off()
            self._release.end()
            self._release.settle_owed(0)
        return self._result(len(text), now)

    def _add(self, text: str) -> None:
        for at in range(0, len(text), _BITE):
            self._state.text += text[at : at + _BITE]
            self._advance_all(final=False)

    def _pass_on(self, text: str, final: bool) -> None:
        """Send ``text`` as it is, and before it what an earlier setting held back."""
        state = self._state
        state.text += text
        visible = bool(state.text.strip())
        if state.gap is None and not state.owed:
            self._release.send(len(state.text))
        elif visible:
            self._leave(len(state.text) - len(state.text.lstrip()), len(state.text))
        elif final:
            self._release.end()
        else:
            return
        self._release.consume(len(state.text))

    def _settle_before_gap(self) -> None:
        """After endless white space: what stands before it is settled, and the white space leaves."""
        state = self._state
        visible = len(state.text.rstrip())
        space, sent = state.text[visible:], max(0, state.sent - visible)
        state.text, state.sent = state.text[:visible], min(state.sent, visible)
        self._advance_all(final=True)
        self._break_off()
        state.text, state.sent = space, sent
        self._release.space(space, sent)
        self._release.consume(len(space))
        inside = state.context.inside
        if "\n" in space:
            inside = inside.removeprefix(_REST)
        begins = "\n" in space or (state.context.line_begins and not visible)
        state.context = Context(begins, inside, state.context.before)

    # -- reading ------------------------------------------------------------------------------------------

    def _advance_all(self, final: bool) -> None:
        while self._state.text and self._advance(final):
            pass

    def _advance(self, final: bool) -> bool:
        """Deal with the next element; say whether there may be another."""
        state = self._state
        if state.context.inside.startswith(_REST):
            return self._rest_of_line(final)
        element = read_element(state.text, state.context, final=final)
        if element.kind is Kind.SPACE:
            if not final and not state.said and state.gap is None and not state.held:
                self._release.send(len(state.text))
            return False
        waiting = state.sent <= element.gap
        if waiting and not self._may_still_be_heading(element):
            if element.first:  # a line that the next one makes a heading begins like a sentence
                self._close(Kind.SENTENCE if element.kind in _OPEN and not element.level else element.kind)
            if element.kind is Kind.HEADING and element.level:
                self._release.settle_owed(element.level)
        if element.settled:
            self._settle(element)
            state.context = Context(False, element.inside, element.kind)
            return self._release.consume(element.end)
        if element.long:
            self._leave(element.gap, element.end)
            self._release.remember(Said("", Kind.LINE))
            state.after, state.verse = Kind.SPACE, False
            state.context = Context(False, _REST + element.inside, Kind.LINE)
            return self._release.consume(element.end)
        if not (waiting and self._try(lambda: self._waits(element), False)):
            self._leave(element.gap, element.end)
        return False

    def _may_still_be_heading(self, element: Element) -> bool:
        """Say whether it is not clear yet if the element is a heading or a sentence that begins in bold."""
        if element.settled or element.long or element.kind not in (*_OPEN, Kind.UNDECIDED):
            return False
        text = self._state.text
        if element.kind is Kind.UNDECIDED:
            return True
        begins = "\n" in text[: element.gap] or self._state.context.line_begins
        return begins and text[element.gap] in "*_" and may_be_bold_line(text[element.gap : element.end])

    def _rest_of_line(self, final: bool) -> bool:
        state = self._state
        end = line_end(state.text, 0)
        over = end is not None
        if end is None:
            end = len(state.text) if final else len(state.text.rstrip("\r"))
        self._release.send(end)
        self._release.consume(end)
        if over:
            state.context = Context(False, state.context.inside.removeprefix(_REST), Kind.LINE)
        return over

    def _try(self, look: Callable[[], T], otherwise: T) -> T:
        """Return what ``look`` says; whatever fails in detection, the text goes on (seed 003)."""
        try:
            return look()
        except Exception as error:  # noqa: BLE001 - see above
            self._errors.append(error)
            return otherwise

    def _waits(self, element: Element) -> bool:
        """Say whether an element that is not settled waits; what is held leaves if it cannot go on."""
        state = self._state
        state.similar = False
        if not state.said or self._too_long(element.end - element.gap):
            return False
        if (state.held or state.owed) and self._may_still_be_heading(element):
            return True
        if element.kind is Kind.UNDECIDED:
            return True
        beginning, kind = state.text[element.gap : element.end], element.kind
        begins = "\n" in state.text[: element.gap] or state.context.line_begins
        # A line that looks like a sentence may still become a heading, and the other way round.
        kinds = _OPEN if kind in _OPEN and begins else (kind,)
        history = History(state.said)
        if (
            state.run
            and may_join(state.held, kind, beginning)
            and history.may_go_on(state.run, kinds, beginning)
        ):
            return True
        self._break_off()
        alone = Kind.SENTENCE in kinds and state.after != Kind.LINE
        if may_begin(kind, beginning) and history.may_begin(
            kinds, beginning, alone=alone, first=element.first or kinds == _OPEN
        ):
            return True
        state.similar = alone and self._policy.fuzzy
        return state.similar

    def _too_long(self, characters: int) -> bool:
        held = sum([len(held.gap) + len(held.element.text) for held in self._state.held])
        return held + characters > self._policy.repeat_hold_characters

    # -- deciding -----------------------------------------------------------------------------------------

    def _settle(self, element: Element) -> None:
        state = self._state
        text = state.text[element.gap : element.end]
        said = Said(text.rstrip(), element.kind, element.first)
        verse = element.kind is Kind.SENTENCE and stands_in_verse(state.text, element.gap, element.end)
        in_verse = verse or (state.verse and state.text.count("\n", 0, element.gap) == 1)
        state.verse = verse
        if state.sent > element.gap:  # its beginning has left
            self._release.send(element.end)
            self._tell(self._match(said, in_verse=in_verse), said, element.gap)
            self._release.keep(said)
            return
        run = _NOWHERE
        short = not self._too_long(len(said.text))
        if short and state.run and may_join(state.held, said.kind, said.text):
            run = self._try(lambda: History(state.said).going_on(state.run, said.kind, said.text), _NOWHERE)
        if state.held and not run:
            self._break_off()
        match = self._match(said, in_verse=in_verse)
        gap, at = state.text[: element.gap], state.position + element.gap
        repeats = match[0].sentence if match and match[1] and short else ""
        held = Held(said, text[len(said.text) :], gap, at, element.level, repeats, bool(run and not state.held))
        if run and (state.held or not repeats):
            self._hold(held, run)
        elif match and repeats and state.after != Kind.HEADING:
            self._release.drop(held, match[0])
            state.run = run or self._try(lambda: History(state.said).saying(said.text), _NOWHERE)
        elif repeats:  # a heading is not left alone: wait for what else stands under it
            self._hold(held, self._try(lambda: History(state.said).saying(said.text), _NOWHERE))
        elif short and (begun := self._try(lambda: self._begun(said), _NOWHERE)):
            self._hold(held, begun)
        else:
            self._tell(match, said, element.gap)
            self._release.emit(held, sent=state.sent)

    def _begun(self, said: Said) -> tuple[int, ...]:
        """Return the places of a passage that begins like this element."""
        if not may_begin(said.kind, said.text) or not (said.first or introduces(said.text)):
            return _NOWHERE
        return History(self._state.said).beginning_with(said.kind, said.text)

    def _hold(self, held: Held, run: tuple[int, ...]) -> None:
        self._state.held, self._state.run = (*self._state.held, held), run

    def _match(self, said: Said, *, in_verse: bool) -> tuple[Match, bool] | None:
        """Return what a sentence repeats, and whether it goes; ``None`` if it repeats nothing by itself."""
        if said.kind != Kind.SENTENCE or in_verse or self._after() == Kind.LINE:
            return None
        return self._try(lambda: self._find_match(said.text), None)

    def _find_match(self, sentence: str) -> tuple[Match, bool] | None:
        if not may_stand_alone(sentence, self._policy.minimum_words):
            return None
        said = self._state.said
        for place in History(said).saying(sentence):
            # What an overview lists is said again where it is explained.
            if said[place].kind != Kind.ITEM or self._after() != Kind.HEADING:
                return Match(said[place].text, 1.0), True
        earlier = [each.text for each in said if each.kind == Kind.SENTENCE]
        found = self._find(sentence, earlier[-self._policy.window_sentences :], self._policy.threshold)
        return None if found is None else (found, self._policy.fuzzy)

    def _after(self) -> int:
        """Return what stands before the next element, if it must not stand alone."""
        return after(self._state.held[-1].element) if self._state.held else self._state.after

    def _close(self, following: Kind | None) -> None:
        """A block ends; ``following`` begins, or nothing: what is held goes if it is a passage said before."""
        state = self._state
        if not state.held:
            return
        last = state.held[-1].element
        if following is not None and (last.kind == Kind.HEADING or introduces(last.text)):
            return  # what it introduces follows
        if following is Kind.ITEM and any(held.element.kind == Kind.ITEM for held in state.held):
            return  # the list goes on
        if state.after == Kind.HEADING and following in (None, Kind.HEADING, Kind.RULE):
            self._break_off(keep_all=True)  # or the heading is left alone
        elif self._try(lambda: is_repetition(state.held, state.run, state.said), False):
            self._take_passage()

    def _take_passage(self) -> None:
        state = self._state
        places = state.run[:1] or (0,)
        for back, held in zip(range(len(state.held) - 1, -1, -1), state.held, strict=True):
            similar = held.said or state.said[places[0] - back].text
            if held.element.kind == Kind.HEADING:
                self._release.owe(held, similar)
            else:
                self._release.drop(held, Match(similar, 1.0))
        state.held = ()

    def _break_off(self, *, keep_all: bool = False) -> None:
        """What is held repeats no passage: only its repeated sentences go."""
        state = self._state
        held, state.held, state.run = state.held, (), ()
        for each in held:
            if each.said and not keep_all and state.after != Kind.HEADING:
                self._release.drop(each, Match(each.said, 1.0))
            else:
                self._release.emit(each)

    def _leave(self, gap: int, end: int) -> None:
        """Let the beginning of an element leave, up to ``end``, with all that was held before it."""
        if self._state.sent <= gap:
            self._break_off()
            self._release.begin(gap, end)
        else:
            self._release.send(end)

    def _tell(self, match: tuple[Match, bool] | None, said: Said, gap: int) -> None:
        """Tell of a sentence that is similar to an earlier one and stays."""
        if match is not None:
            found = match[0]
            self._release.duplicates.append(
                Duplicate(said.text, found.sentence, found.score, self._state.position + gap, kept=True)
            )

    # -- waiting ------------------------------------------------------------------------------------------

    def _waiting_at(self) -> int | None:
        """Return the position of what the hold time is counted for: the open element, or the one before."""
        state = self._state
        unsent = state.text[state.sent :].lstrip()
        if unsent:
            return state.position + len(state.text) - len(unsent)
        return state.held[-1].position if state.held else None

    def _result(self, added: int, now: float) -> Filtered:
        state = self._state
        before, at = state.held_since, self._waiting_at()
        if at is None:
            state.held_since = None
        elif before is None or at != state.held_at:
            state.held_since = now
        state.held_at = at or 0
        state.similar = state.similar and not state.held
        waited = now - before if before is not None and state.held_since != before else None
        behind = sum([len(held.gap) + len(held.element.text) for held in state.held])
        behind += len(state.text) - state.sent
        return Filtered(
            state,
            "".join(self._release.out),
            tuple(self._release.duplicates),
            min(added, behind),
            waited,
            tuple(self._errors),
        )


class FilterResult(msgspec.Struct, frozen=True):
    """A whole text without what it repeats, and what was taken out of it (or told), in order."""

    text: str
    duplicates: Sequence[Duplicate]


def filter_text(text: str, policy: FilterPolicy | None = None) -> FilterResult:
    """Filter a whole response at once: what its chunks give, however it is cut and if none of them is late."""
    filtered = ResponseFilter(policy).push(FilterState(), text, 0.0, final=True)
    return FilterResult(filtered.text, filtered.duplicates)
