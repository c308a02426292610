"""Takes out of a response stream what a reader has read already (seed 003), and nothing else.

What is a repetition
    A *sentence* of prose whose words were all said before, in the same order, but for harmless variants
    (:mod:`.canonical`), goes by itself.  Everything else (headings, list items, rows, labels, lines that end in
    ":", verse, code) goes only in a *run*: element by element it repeats what stands together above, from
    the line that introduces it to the end of its block.  A heading goes with what stands under it; if
    anything else under it is kept, it comes back.  The seed's similarity proposes; what it finds and
    the words do not bear out is told and kept (``FilterPolicy.fuzzy`` takes it out).

How long text waits
    Text that runs along something said before waits to the end of its sentence or block, for its reader has
    read it already; the moment it leaves the run, all of it goes out.  Other text leaves at once.

Decisions are made on settled elements and whole words, so the outcome never depends on where a chunk ends; it
depends on the clock only where a hold time ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from processors.responses.canonical import canonical, count_words
from processors.responses.duplicates import Match, find_duplicate
from processors.responses.elements import Context, Element, Kind, read_element
from processors.responses.filter_state import (
    MEMORY,
    Duplicate,
    Filtered,
    FilterPolicy,
    FilterState,
    FindDuplicate,
    Held,
)
from processors.responses.gaps import join_gaps, last_gap, split_at_long_gaps
from processors.responses.history import History, Said, introduces, may_stand_alone, stands_in_verse
from processors.responses.lines import line_end

#: Characters that are taken at once.  Where text is cut does not matter, and dropping the beginning of a long
#: one takes as long as it is: a response in one chunk would take quadratic time.
_BITE = 4096

#: Before the block in which a line is open that was too long to be kept: the rest of it passes.
_REST = "line"

#: Words of the smallest block that goes: less may be said again on purpose ("or", "Hi Michael,").
_SMALLEST_BLOCK = 8

#: No place in the history.
_NOWHERE: tuple[int, ...] = ()

#: Kinds that are told apart by how their line ends.
_OPEN = (Kind.SENTENCE, Kind.HEADING)

#: Kinds that may begin a run: others belong to what stands before them.
_BEGINNERS = (Kind.SENTENCE, Kind.LINE, Kind.HEADING)


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
    """One step over a response: its state, thawed, and what comes out."""

    def __init__(self, state: FilterState, policy: FilterPolicy, find: FindDuplicate) -> None:
        self._before, self._policy, self._find = state, policy, find
        self._said, self._text, self._sent = state.said, state.text, state.sent
        self._position, self._context, self._white = state.position, state.context, state.white
        self._held, self._run, self._owed = list(state.held), state.run, list(state.owed)
        self._gap, self._began, self._verse = state.gap, state.began, state.verse
        self._after, self._similar = state.after, state.similar
        self._out: list[str] = []
        self._duplicates: list[Duplicate] = []
        self._errors: list[Exception] = []

    def let_go(self) -> None:
        """Let everything visible leave."""
        self._release()
        visible = len(self._text.rstrip())
        if visible > self._sent:
            gap = len(self._text) - len(self._text.lstrip())
            self._leave(gap, visible)

    def take(self, text: str, now: float, final: bool) -> Filtered:
        """Go on with ``text`` and return what came of it all."""
        if self._policy.threshold >= 1.0:
            self._pass_on(text, final)
            return self._result(len(text), now)
        (*closed, rest), self._white = split_at_long_gaps(text, self._white)
        for part in closed:
            self._add(part)
            self._settle_before_gap()
        self._add(rest)
        self._advance_all(final)  # what was let go goes on even if nothing was added
        if final:
            self._release()
            self._settle_owed(0)
        return self._result(len(text), now)

    def _add(self, text: str) -> None:
        for at in range(0, len(text), _BITE):
            self._text += text[at : at + _BITE]
            self._advance_all(final=False)

    def _pass_on(self, text: str, final: bool) -> None:
        """Send ``text`` as it is, and before it what an earlier setting held back."""
        self._text += text
        if self._gap is None and not self._owed:
            self._out.append(self._text[self._sent :])
            self._consume(len(self._text))
            return
        visible = bool(self._text.strip())
        if visible or final:
            gap = len(self._text) - len(self._text.lstrip())
            if visible:
                self._leave(gap, len(self._text))
            else:
                self._end()
            self._consume(len(self._text))

    def _settle_before_gap(self) -> None:
        """After endless white space: what stands before it is settled, and the white space leaves."""
        visible = len(self._text.rstrip())
        space, sent = self._text[visible:], max(0, self._sent - visible)
        self._text, self._sent = self._text[:visible], min(self._sent, visible)
        self._advance_all(final=True)
        self._release()
        self._text, self._sent = space, sent
        if self._gap is not None:
            self._out.append(join_gaps(self._gap, space, leads=not self._began))
            self._gap = None
        else:
            self._out.append(space[sent:])
        self._consume(len(space))
        inside = self._context.inside
        if "\n" in space:
            inside = inside.removeprefix(_REST)
        begins = "\n" in space or (self._context.line_begins and not visible)
        self._context = Context(begins, inside, self._context.before)

    # -- reading ------------------------------------------------------------------------------------------

    def _advance_all(self, final: bool) -> None:
        while self._text and self._advance(final):
            pass

    def _advance(self, final: bool) -> bool:
        """Deal with the next element; say whether there may be another."""
        if self._context.inside.startswith(_REST):
            return self._rest_of_line(final)
        element = read_element(self._text, self._context, final=final)
        if element.kind is Kind.SPACE:
            if final:
                self._end()
            elif not self._said and self._gap is None and not self._held:
                self._send(len(self._text))
            return False
        known = element.settled or element.long or element.kind not in (Kind.UNDECIDED, *_OPEN)
        if element.first and self._sent <= element.gap and (known or self._after != Kind.HEADING):
            self._close(element.kind)
        if element.settled:
            self._settle(element)
            self._context = Context(False, element.inside, element.kind)
            return self._consume(element.end)
        if element.long:
            self._leave(element.gap, element.end)
            self._remember(Said("", Kind.LINE))
            self._after, self._verse = Kind.SPACE, False
            self._context = Context(False, _REST + element.inside, Kind.LINE)
            return self._consume(element.end)
        if self._sent > element.gap or not self._try(lambda: self._waits(element), False):
            self._leave(element.gap, element.end)
        return False

    def _rest_of_line(self, final: bool) -> bool:
        end = line_end(self._text, 0)
        over = end is not None
        if end is None:
            end = len(self._text) if final else len(self._text.rstrip("\r"))
        self._send(end)
        self._consume(end)
        if over:
            self._context = Context(False, self._context.inside.removeprefix(_REST), Kind.LINE)
        return over

    def _end(self) -> None:
        """Nothing but white space follows."""
        self._close(None)
        if self._gap is not None:
            self._out.append(last_gap(self._gap, self._text, leads=not self._began))
        else:
            self._out.append(self._text[self._sent :])
        self._consume(len(self._text))

    def _try(self, look: Callable[[], T], otherwise: T) -> T:
        """Return what ``look`` says; whatever fails in detection, the text goes on (seed 003)."""
        try:
            return look()
        except Exception as error:  # noqa: BLE001 - see above
            self._errors.append(error)
            return otherwise

    def _waits(self, element: Element) -> bool:
        """Say whether an element that is not settled waits; what is held leaves if it cannot go on."""
        self._similar = False
        if not self._said:
            return False
        waiting = sum(len(held.element.text) for held in self._held) + len(self._text)
        if waiting > self._policy.repeat_hold_characters:
            return False
        if element.kind is Kind.UNDECIDED:
            return True
        beginning, kind = self._text[element.gap : element.end], element.kind
        history = History(self._said)
        # A line that looks like a sentence may still become a heading, and the other way round.
        begins = "\n" in self._text[: element.gap] or self._context.line_begins
        kinds = _OPEN if kind in _OPEN and begins else (kind,)
        if self._held and self._after == Kind.HEADING and kinds == _OPEN:
            return True
        if self._run and history.may_go_on(self._run, kinds, beginning):
            return True
        self._release()
        if kind not in _BEGINNERS or (kind is Kind.LINE and not element.first):
            return False
        alone = Kind.SENTENCE in kinds and self._after != Kind.LINE
        if history.may_begin(kinds, beginning, alone=alone):
            return True
        self._similar = alone and self._policy.fuzzy
        return self._similar

    # -- deciding -----------------------------------------------------------------------------------------

    def _settle(self, element: Element) -> None:
        text = self._text[element.gap : element.end]
        said = Said(text.rstrip(), element.kind, element.first)
        verse = element.kind is Kind.SENTENCE and stands_in_verse(self._text, element.gap, element.end)
        in_verse = verse or (self._verse and self._text.count("\n", 0, element.gap) == 1)
        self._verse = verse
        if element.kind is Kind.HEADING:
            self._settle_owed(element.level)
        match = None
        if element.kind is Kind.SENTENCE and not in_verse and self._after != Kind.LINE:
            match = self._try(lambda: self._match(said.text), None)
        if self._sent > element.gap:  # its beginning has left
            self._send(element.end)
            self._tell(match, said, element.gap)
            self._keep(said)
            return
        held = Held(said, text[len(said.text) :], self._text[: element.gap], self._position + element.gap)
        held = msgspec.structs.replace(
            held, level=element.level, said=match[0].sentence if match and match[1] else ""
        )
        self._decide(held, match, element)

    def _decide(self, held: Held, match: tuple[Match, bool] | None, element: Element) -> None:
        said, history = held.element, History(self._said)
        goes = match is not None and match[1]
        run = self._try(lambda: history.going_on(self._run, said.kind, said.text), _NOWHERE)
        if self._held and not run:
            self._release()
        if run and (self._held or not goes):
            self._held.append(msgspec.structs.replace(held, goes_on=not self._held))
            self._run = run
        elif goes and self._after != Kind.HEADING:
            self._drop(held, match[0])  # type: ignore[index]  # it goes because it matches
            self._run = run or self._try(lambda: history.saying(said.text), _NOWHERE)
        elif goes:  # a heading is not left alone: wait for what else stands under it
            self._held.append(held)
            self._run = self._try(lambda: history.saying(said.text), _NOWHERE)
        elif (
            said.kind in _BEGINNERS
            and (element.first or introduces(said.text))
            and (begun := self._try(lambda: history.beginning_with(said.kind, said.text), _NOWHERE))
        ):
            self._held.append(held)
            self._run = begun
        else:
            self._tell(match, said, element.gap)
            self._emit(held, sent=self._sent)

    def _match(self, sentence: str) -> tuple[Match, bool] | None:
        """Return what a sentence repeats, and whether it goes; ``None`` if it repeats nothing by itself."""
        if not may_stand_alone(sentence, self._policy.minimum_words):
            return None
        places = History(self._said).saying(sentence)
        if places:
            return Match(self._said[places[0]].text, 1.0), True
        earlier = [said.text for said in self._said if said.kind == Kind.SENTENCE]
        found = self._find(sentence, earlier[-self._policy.window_sentences :], self._policy.threshold)
        return None if found is None else (found, self._policy.fuzzy)

    def _close(self, following: Kind | None) -> None:
        """A block ends; ``following`` begins, or nothing."""
        if not self._held:
            return
        last = self._held[-1].element
        if following is not None and (last.kind == Kind.HEADING or introduces(last.text)):
            return  # what it introduces follows
        left_alone = self._after == Kind.HEADING and following in (None, Kind.HEADING, Kind.RULE)
        if left_alone or not self._try(self._is_block, False):
            self._release(keep_all=left_alone)
            return
        places = self._run[:1] or (0,)
        for back, held in zip(range(len(self._held) - 1, -1, -1), self._held, strict=True):
            match = Match(held.said or self._said[places[0] - back].text, 1.0)
            if held.element.kind == Kind.HEADING:
                self._owed.append(msgspec.structs.replace(held, said=match.sentence))
                self._take_gap(held)
            else:
                self._drop(held, match)
        self._held = []

    def _is_block(self) -> bool:
        """Say whether what is held repeats a block from beginning to end."""
        first, last = self._held[0], self._held[-1].element
        if all(held.said for held in self._held):
            return True
        if introduces(last.text) or last.kind == Kind.HEADING or not History(self._said).ends_block(self._run):
            return False
        if sum(count_words(canonical(held.element.text)) for held in self._held) < _SMALLEST_BLOCK:
            return False
        kinds = {held.element.kind for held in self._held}
        if first.goes_on:
            return True
        if Kind.CODE in kinds:  # shown again, with something new before it, code is meant to be read again
            return False
        if first.element.kind == Kind.HEADING:
            return True
        if kinds == {Kind.SENTENCE} and any(held.said for held in self._held):
            return True
        return introduces(first.element.text) and self._in_same_section()

    def _in_same_section(self) -> bool:
        """Say whether what is held stands under the heading under which it stood before."""
        now = next((at for at in reversed(range(len(self._said))) if self._said[at].kind == Kind.HEADING), -1)
        return any(at >= now for at in self._run)

    def _release(self, *, keep_all: bool = False) -> None:
        """What is held does not repeat a block: only its repeated sentences go."""
        held, self._held, self._run = self._held, [], ()
        for each in held:
            if each.said and not keep_all:
                self._drop(each, Match(each.said, 1.0))
            else:
                self._emit(each)

    # -- letting go ---------------------------------------------------------------------------------------

    def _drop(self, held: Held, match: Match) -> None:
        if held.element.kind != Kind.RULE:
            self._duplicates.append(Duplicate(held.element.text, match.sentence, match.score, held.position))
        self._take_gap(held)

    def _take_gap(self, held: Held) -> None:
        self._gap = held.gap if self._gap is None else join_gaps(self._gap, held.gap, leads=not self._began)

    def _settle_owed(self, level: int) -> None:
        """A heading of this level begins (0: nothing follows): those that it closes come back no more."""
        for owed in self._owed:
            if owed.level >= level:
                self._duplicates.append(Duplicate(owed.element.text, owed.said, 1.0, owed.position))
        self._owed = [owed for owed in self._owed if owed.level < level]

    def _emit(self, held: Held, sent: int = 0) -> None:
        self._write(held.gap[sent:], held.gap, held.element.text + held.tail)
        self._keep(held.element)

    def _leave(self, gap: int, end: int) -> None:
        """Let the beginning of an element leave, up to ``end``."""
        if self._sent <= gap:
            self._release()
            self._write(self._text[self._sent : gap], self._text[:gap], self._text[gap:end])
            self._sent = end
        else:
            self._send(end)

    def _write(self, unsent: str, gap: str, text: str) -> None:
        """Write an element that is kept, behind the headings that it brings back."""
        for owed in self._owed:
            self._write_gap(owed.gap, owed.gap)
            self._out.append(owed.element.text + owed.tail)
            self._remember(owed.element)
        self._owed = []
        self._write_gap(unsent, gap)
        self._out.append(text)
        self._began = True
        self._run = ()

    def _write_gap(self, unsent: str, gap: str) -> None:
        self._out.append(unsent if self._gap is None else join_gaps(self._gap, gap, leads=not self._began))
        self._gap = None

    def _send(self, end: int) -> None:
        if end > self._sent:
            self._out.append(self._text[self._sent : end])
            self._sent = end

    def _keep(self, said: Said) -> None:
        self._remember(said)
        self._after = (
            Kind.HEADING if said.kind == Kind.HEADING else Kind.LINE if introduces(said.text) else Kind.SPACE
        )
        self._run = ()

    def _remember(self, said: Said) -> None:
        self._said = (*self._said, said)[-MEMORY:]

    def _tell(self, match: tuple[Match, bool] | None, said: Said, gap: int) -> None:
        """Tell of a sentence that is similar to an earlier one and stays."""
        if match is not None:
            found = match[0]
            self._duplicates.append(
                Duplicate(said.text, found.sentence, found.score, self._position + gap, kept=True)
            )

    def _consume(self, end: int) -> bool:
        """Drop the first ``end`` characters, which are settled; say whether any are left."""
        self._text = self._text[end:]
        self._sent = max(0, self._sent - end)
        self._position += end
        return bool(self._text)

    def _held_at(self) -> int | None:
        """Return the position of the oldest visible character that is held."""
        if self._held:
            return self._held[0].position
        unsent = self._text[self._sent :].lstrip()
        return self._position + len(self._text) - len(unsent) if unsent else None

    def _result(self, added: int, now: float) -> Filtered:
        before = self._before
        at = self._held_at()
        since, waited = None, None
        if at is not None:
            # What was held with something that has left or gone waits anew.
            since = before.held_since if before.held_since is not None and at == before.held_at else now
        if before.held_since is not None and since != before.held_since:
            waited = now - before.held_since
        state = FilterState(
            said=self._said,
            text=self._text,
            sent=self._sent,
            position=self._position,
            context=self._context,
            held=tuple(self._held),
            run=self._run,
            owed=tuple(self._owed),
            gap=self._gap,
            began=self._began,
            after=self._after,
            verse=self._verse,
            held_since=since,
            held_at=at or 0,
            similar=self._similar and not self._held,
            white=self._white,
        )
        behind = (
            sum(len(held.gap) + len(held.element.text) for held in self._held) + len(self._text) - self._sent
        )
        return Filtered(
            state, "".join(self._out), tuple(self._duplicates), min(added, behind), waited, tuple(self._errors)
        )


class FilterResult(msgspec.Struct, frozen=True):
    """A whole text without what it repeats, and what was taken out of it (or told), in order."""

    text: str
    duplicates: Sequence[Duplicate]


def filter_text(text: str, policy: FilterPolicy | None = None) -> FilterResult:
    """Filter a whole response at once: what its chunks give, however it is cut and if none of them is late."""
    filtered = ResponseFilter(policy).push(FilterState(), text, 0.0, final=True)
    return FilterResult(filtered.text, filtered.duplicates)
