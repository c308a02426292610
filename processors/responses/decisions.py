"""Decision on each element of a response: release, hold, or remove."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec

from processors.responses.duplicates import Match
from processors.responses.elements import Element
from processors.responses.filter_state import Duplicate, FilterPolicy, FilterState, FindDuplicate, Held
from processors.responses.history import BOLD_LEVEL, Begun, SeenElement, says_enough
from processors.responses.lines import Kind
from processors.responses.release import Release
from processors.responses.sentences import stands_in_verse

#: Kinds that only the end of their line distinguishes.
_OPEN = (Kind.SENTENCE, Kind.HEADING)

#: Kinds that may begin a passage: others belong to what stands before them.
_BEGINNERS = (Kind.SENTENCE, Kind.LINE, Kind.HEADING)

#: Of what repeats nothing: where it was said, what it repeats and whether it goes for that.
_NOWHERE: tuple[int, ...] = ()
_NOTHING: tuple[Match | None, bool] = (None, False)

T = TypeVar("T")


class Decisions:
    """Decides on one element after the other, in ``state``, and has ``release`` carry it out."""

    def __init__(self, state: FilterState, release: Release, policy: FilterPolicy, find: FindDuplicate) -> None:
        self._state, self._release, self._history = state, release, release.history
        self._policy, self._find = policy, find
        self.errors: list[Exception] = []

    def waits(self, element: Element, said: SeenElement) -> bool:
        """Say whether an element that is not settled waits; what is held leaves if it cannot go on."""
        state, short = self._state, self._is_short(said)
        state.similar = False
        in_bold = not element.long and element.kind in _OPEN and said.text[0] in "*_"
        if in_bold and (state.held or state.owed):  # a heading, or a sentence that begins in bold
            return short
        self.end_before(element, said)
        if not short or not self._history or state.after != Kind.SPACE:
            return False
        return element.kind is Kind.UNDECIDED or self._try(lambda: self._may_repeat(said), False)

    def _may_repeat(self, said: SeenElement) -> bool:
        state, history, opens = self._state, self._history, said.kind in _OPEN
        # A line that looks like a sentence may still become a heading, and the other way round.
        begun = Begun(said.text, _OPEN if opens else (said.kind,))
        if history.going_on(state.run, begun.may_become):
            return True
        self.break_off()
        if state.after != Kind.SPACE:  # what left just now announces what follows
            return False
        if (
            said.kind in _BEGINNERS
            and not said.is_quoted
            and any(map(begun.may_repeat, history[history.start :]))
        ):
            return True
        state.similar = opens and self._policy.fuzzy
        return state.similar

    def decide(self, element: Element, said: SeenElement) -> None:
        """Hold a settled element that may go, with its passage, or let it leave."""
        state, text = self._state, said.text
        if state.sent <= element.gap:
            self.end_before(element, said)
        if state.shown and 0 < said.level <= state.shown[2]:
            state.shown = None
        short = self._is_short(said)
        run = (
            self._try(lambda: self._history.going_on(state.run, said.same), _NOWHERE)
            if state.run and short
            else _NOWHERE
        )
        if state.held and not run:
            self.break_off()
        # "where x is the price" goes on with what is shown before it.
        continues = said.first and text[:1].islower()
        alone = not (self._is_in_verse(element) or continues)
        match, goes = self._try(lambda: self._match(said), _NOTHING) if alone else _NOTHING
        repeats = match if match and goes and short else Match("", 1.0)
        held = Held(
            said,
            state.text[element.gap + len(text) : element.end],
            state.text[: element.gap],
            state.position + element.gap,
            repeats.sentence,
            repeats.score,
            goes_on=bool(run and not state.held),
        )
        places = run or (self._starts(held) if short and not continues else _NOWHERE)
        left, shown = state.sent > element.gap, self._is_shown(places)
        if places and not left and not shown:
            state.held, state.run = (*state.held, held), places
            return
        if match is not None:
            kept = Duplicate(text, match.sentence, match.score, held.position, kept=True)
            self._release.duplicates.append(kept)
        self._release.leave(element.gap, element.end)
        self._release.keep(said)

    def _is_in_verse(self, element: Element) -> bool:
        """Say whether a line is one of several short ones."""
        state, before = self._state, self._state.verse
        state.verse = element.kind is Kind.SENTENCE and stands_in_verse(state.text, element.gap, element.end)
        return state.verse or (before and state.text.count("\n", 0, element.gap) == 1)

    def _match(self, said: SeenElement) -> tuple[Match | None, bool]:
        """Return the match of a sentence alone, and whether it is removed for it."""
        if said.kind != Kind.SENTENCE or not said.is_plain or not says_enough(said.text):
            return _NOTHING
        if places := self._history.saying(said.text):
            return Match(self._history[places[-1]].text, 1.0), True
        earlier = [each.text for each in self._history[self._history.start :] if each.kind == Kind.SENTENCE]
        similar = self._find(said.text, earlier[-self._policy.window_sentences :], self._policy.threshold)
        return similar, similar is not None and self._policy.fuzzy

    def _starts(self, held: Held) -> tuple[int, ...]:
        """Return where an element was said that repeats something, by itself or as a passage's beginning."""
        said, history = held.element, self._history
        if held.similar:
            return self._try(lambda: history.saying(said.text) or history.saying(held.similar), _NOWHERE)
        begins = said.kind in _BEGINNERS and (said.first or said.introduces) and not said.is_quoted
        return self._try(lambda: history.beginning(said), _NOWHERE) if begins else _NOWHERE

    def _is_shown(self, places: tuple[int, ...]) -> bool:
        """Say whether what stood at ``places`` is shown again on purpose: what stands before it announces it (a
        draft, and then the draft revised), or it goes on with what was announced, in the same order.
        """
        state = self._state
        if not places:
            return False
        if state.after != Kind.SPACE:
            level = self._history.section()[1]
            ends = min(level, state.shown[2]) if state.shown else level
            state.shown = min(places), len(self._history), ends
            return True
        if state.shown is None:
            return False
        came_to, began, level = state.shown
        ahead = [at for at in places if came_to < at < began]
        state.shown = (min(ahead), began, level) if ahead else None
        return bool(ahead)

    def end_before(self, element: Element, said: SeenElement) -> None:
        """Deal with what ends where ``element`` begins: what is held, and sections."""
        if element.first and (held := self._state.held):
            listed = element.kind is Kind.ITEM or self._state.text[: element.gap][-1:] in (" ", "\t")
            if not (listed and any(each.element.kind == Kind.ITEM for each in held)):
                self.end_block(said.level)
        if said.level:
            self._release.close_sections(said.level)

    def end_block(self, level: int | None) -> None:
        """A block ends; a heading of ``level`` follows (0: other text, ``None``: nothing): what is held goes if
        it is a passage said before.
        """
        state = self._state
        if not state.held:
            return
        first, last = state.held[0].element, state.held[-1].element
        over = level is None or 0 < level <= first.level < BOLD_LEVEL
        if last.kind == Kind.HEADING or (last.introduces and not over):
            return  # what it introduces follows
        if self._try(self._is_repetition, False):
            place = state.run[0] - len(state.held) + 1 if state.run else 0
            held, state.held = state.held, ()
            for at, each in enumerate(held, place):
                similar = each.similar or self._history[at].text
                self._release.drop(msgspec.structs.replace(each, similar=similar))

    def _is_repetition(self) -> bool:
        """Say whether what is held is a passage that goes, up to the end of what it repeats.

        It goes on with what went, is a section or a paragraph, or begins with what introduces the rest, in the
        section in which it was said first.
        """
        history, held, run = self._history, self._state.held, self._state.run
        elements = [each.element for each in held]
        first, last = elements[0], elements[-1]
        if not any(at + 1 == len(history) or history[at + 1].first for at in run):
            return False  # a list that is shorter now is another one
        if held[0].goes_on or held[0].similar:
            return True
        # Code and quotations go where the text around them goes, or with the item that they stand under.
        in_list = last.text[:1].isspace() and any(each.kind == Kind.ITEM for each in elements)
        if (last.kind in (Kind.CODE, Kind.QUOTE) or last.is_quoted) and not in_list:
            return False
        if not any(each.kind in (Kind.ITEM, Kind.ROW) or each.stops for each in elements):
            return False  # labels for what follows
        if 0 < first.level < BOLD_LEVEL:
            return True
        if all(each.kind == Kind.SENTENCE for each in elements):
            in_verse = any("\n" in each.gap for each in held[1:])
            enough = says_enough(" ".join([each.text for each in elements]))
            return enough and not in_verse and all(each.is_plain for each in elements)
        for each in elements:
            if each.announces != Kind.SPACE:
                return max(run) >= history.section()[0]
            if each.kind not in _BEGINNERS:
                break
        return False

    def break_off(self) -> None:
        """End a held passage that repeats nothing: only its repeated sentences are removed."""
        state = self._state
        held, state.held, state.run = state.held, (), ()
        for each in held:
            if each.similar and not self._is_shown(self._starts(each)):
                self._release.drop(each)
            else:
                self._release.emit(each)

    def _is_short(self, said: SeenElement) -> bool:
        """Say whether an element may wait, so much as is held already."""
        return self._state.held_characters + len(said.text) <= self._policy.repeat_hold_characters

    def _try(self, look: Callable[[], T], otherwise: T) -> T:
        """Return the result of ``look``; if detection fails, keep the text (requirement 4)."""
        try:
            return look()
        except Exception as error:  # noqa: BLE001 - see above
            self.errors.append(error)
            return otherwise
