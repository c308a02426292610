"""What becomes of each element of a response: it leaves, waits, or goes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from processors.responses.duplicates import Match
from processors.responses.elements import BOLD_LEVEL, Element, may_be_bold_line
from processors.responses.filter_state import Duplicate, FilterPolicy, FilterState, FindDuplicate, Held
from processors.responses.history import (
    History,
    Said,
    Sought,
    introduces,
    may_stand_alone,
    section_level,
    stands_in_verse,
)
from processors.responses.lines import Kind
from processors.responses.passages import is_repetition, may_begin, may_join
from processors.responses.release import Release

#: Kinds that are told apart by how their line ends.
_OPEN = (Kind.SENTENCE, Kind.HEADING)

#: No place in the history.
_NOWHERE: tuple[int, ...] = ()

T = TypeVar("T")


class Decisions:
    """Decides on one element after the other, in ``state``, and has ``release`` carry it out."""

    def __init__(self, state: FilterState, release: Release, policy: FilterPolicy, find: FindDuplicate) -> None:
        self.state, self._release, self._policy, self._find = state, release, policy, find
        self.errors: list[Exception] = []

    def _try(self, look: Callable[[], T], otherwise: T) -> T:
        """Return what ``look`` says; whatever fails in detection, the text goes on (seed 003)."""
        try:
            return look()
        except Exception as error:  # noqa: BLE001 - see above
            self.errors.append(error)
            return otherwise

    def end_before(self, element: Element) -> None:
        """Deal with what ends where ``element`` begins, if that is clear: what is held, and sections."""
        if self._may_still_be_heading(element):
            return
        # A line that the next one makes a heading begins like a sentence.
        if element.first and not self._goes_on_with_list(element):
            self.end_block(element)
        if element.kind is Kind.HEADING and element.level:
            self._release.drop_owed(element.level)

    def _goes_on_with_list(self, element: Element) -> bool:
        """Say whether an element belongs to the list that is held: an item, or indented under one."""
        if not any(held.element.kind == Kind.ITEM for held in self.state.held):
            return False
        return element.kind is Kind.ITEM or self.state.text[: element.gap][-1:] in (" ", "\t")

    def _may_still_be_heading(self, element: Element) -> bool:
        """Say whether it is not clear yet if the element is a heading or a sentence that begins in bold."""
        if element.settled or element.long or element.kind not in (*_OPEN, Kind.UNDECIDED):
            return False
        text = self.state.text
        if element.kind is Kind.UNDECIDED:
            return True
        begins = "\n" in text[: element.gap] or self.state.context.line_begins
        return begins and text[element.gap] in "*_" and may_be_bold_line(text[element.gap : element.end])

    def waits(self, element: Element) -> bool:
        """Say whether an element that is not settled waits; what is held leaves if it cannot go on."""
        return self._try(lambda: self._may_repeat(element), False)

    def _may_repeat(self, element: Element) -> bool:
        state = self.state
        state.similar = False
        if not state.said or state.after != Kind.SPACE or self._too_long(element.end - element.gap):
            return False
        if (state.held or state.owed) and self._may_still_be_heading(element):
            return True
        if element.kind is Kind.UNDECIDED:
            return True
        beginning, kind = state.text[element.gap : element.end], element.kind
        begins = "\n" in state.text[: element.gap] or state.context.line_begins
        # A line that looks like a sentence may still become a heading, and the other way round.
        kinds = _OPEN if kind in _OPEN and begins else (kind,)
        sought = Sought(beginning)
        going_on = may_join(state.held, kind, beginning)
        if going_on and any(True for _ in History(state.said).going_on(sought, kinds, state.run)):
            return True
        self.break_off()
        if state.after != Kind.SPACE:  # what left just now announces what follows
            return False
        history, alone = History(state.said), Kind.SENTENCE in kinds
        if may_begin(kind, beginning):
            if any(True for _ in history.beginning(sought, kinds)):
                return True
            if alone and any(True for _ in history.saying(sought)):
                return True
        state.similar = alone and self._policy.fuzzy
        return state.similar

    def _too_long(self, characters: int) -> bool:
        held = sum([len(held.gap) + len(held.element.text) for held in self.state.held])
        return held + characters > self._policy.repeat_hold_characters

    def decide(self, element: Element) -> None:
        """Take out a settled element, hold it with its passage, or let it leave."""
        state = self.state
        text = state.text[element.gap : element.end]
        if state.shown and 0 < element.level <= state.shown[-1]:
            state.shown = None
        said = Said(text.rstrip(), element.kind, element.first)
        verse = element.kind is Kind.SENTENCE and stands_in_verse(state.text, element.gap, element.end)
        in_verse = verse or (state.verse and state.text.count("\n", 0, element.gap) == 1)
        state.verse = verse
        left = state.sent > element.gap
        short = not self._too_long(len(said.text))
        run = _NOWHERE
        if short and state.run and may_join(state.held, said.kind, said.text):
            run = self._places(History.going_on, Sought(said.text, said.kind), (said.kind,), state.run)
        if state.held and not run:
            self.break_off()
        match = self._match(said, in_verse=in_verse)
        repeats = match[0].sentence if match and match[1] and short else ""
        places = self._repeated(said, repeats) if short else _NOWHERE
        gap, at = state.text[: element.gap], state.position + element.gap
        held = Held(said, text[len(said.text) :], gap, at, element.level, repeats, bool(run and not state.held))
        if run and (state.held or not repeats):
            self._hold(held, run)
        elif (places and self._is_shown(places)) or left or not places:
            self._tell(match, said, at)
            if left:
                self._release.send(element.end)
                self._release.keep(said)
            else:
                self._release.emit(held, sent=state.sent)
        elif match and repeats:
            self._release.drop(held, match[0])
            state.run = run or places
        else:
            self._hold(held, places)

    def _repeated(self, said: Said, repeats: str) -> tuple[int, ...]:
        """Return where an element was said that repeats something, by itself or as a passage's beginning."""
        if repeats:
            return self._saying(said.text) or self._saying(repeats)
        if not may_begin(said.kind, said.text) or not (said.first or introduces(said.text)):
            return _NOWHERE
        return self._places(History.beginning, Sought(said.text, said.kind), (said.kind,))

    def _saying(self, text: str) -> tuple[int, ...]:
        return self._places(History.saying, Sought(text, Kind.SENTENCE))

    def _places(self, look: Callable[..., Iterable[int]], *what: object) -> tuple[int, ...]:
        return self._try(lambda: tuple(look(History(self.state.said), *what)), _NOWHERE)

    def _is_shown(self, places: tuple[int, ...]) -> bool:
        """Say whether what stood at ``places`` is shown again on purpose: what stands before it announces it (a
        draft, and then the draft revised), or it goes on with what was announced, in the same order.
        """
        state = self.state
        if state.after != Kind.SPACE:
            levels = section_level(state.said), *(state.shown or ())[2:]
            state.shown = min(places), len(state.said), min(levels)
            return True
        if state.shown is None:
            return False
        ahead = [at for at in places if state.shown[0] < at < state.shown[1]]
        state.shown = (min(ahead), *state.shown[1:]) if ahead else None
        return state.shown is not None

    def _hold(self, held: Held, run: tuple[int, ...]) -> None:
        self.state.held, self.state.run = (*self.state.held, held), run

    def _match(self, said: Said, *, in_verse: bool) -> tuple[Match, bool] | None:
        """Return what a sentence repeats, and whether it goes; ``None`` if it repeats nothing by itself."""
        held = self.state.held
        if said.first and said.text[:1].islower():  # it goes on with what is shown before it
            return None
        if said.kind != Kind.SENTENCE or in_verse or (held and introduces(held[-1].element.text)):
            return None
        return self._try(lambda: self._find_match(said.text), None)

    def _find_match(self, sentence: str) -> tuple[Match, bool] | None:
        if not may_stand_alone(sentence):
            return None
        said = self.state.said
        last = next(History(said).saying(Sought(sentence, Kind.SENTENCE)), None)
        if last is not None:
            return Match(said[last].text, 1.0), True
        earlier = [each.text for each in said if each.kind == Kind.SENTENCE]
        found = self._find(sentence, earlier[-self._policy.window_sentences :], self._policy.threshold)
        return None if found is None else (found, self._policy.fuzzy)

    def end_block(self, following: Element | None) -> None:
        """A block ends; ``following`` begins, or nothing: what is held goes if it is a passage said before."""
        state = self.state
        if not state.held:
            return
        last = state.held[-1].element
        over = following is None or 0 < following.level <= state.held[0].level < BOLD_LEVEL
        if last.kind == Kind.HEADING or (introduces(last.text) and not over):
            return  # what it introduces follows
        if self._try(lambda: is_repetition(state.held, state.run, state.said), False):
            self._take_passage()

    def _take_passage(self) -> None:
        state = self.state
        places = state.run[:1] or (0,)
        before: Held | None = None
        for back, held in zip(range(len(state.held) - 1, -1, -1), state.held, strict=True):
            similar = held.said or state.said[places[0] - back].text
            if held.element.kind == Kind.HEADING:
                self._release.owe(held, similar)
            elif before is not None and before.element.kind == Kind.HEADING and not before.level:
                self._release.owe_underline(held)
            else:
                self._release.drop(held, Match(similar, 1.0))
            before = held
        state.held = ()

    def break_off(self) -> None:
        """What is held repeats no passage: only its repeated sentences go."""
        state = self.state
        held, state.held, state.run = state.held, (), ()
        for each in held:
            if each.said and not self._is_shown(self._saying(each.element.text)):
                self._release.drop(each, Match(each.said, 1.0))
            else:
                self._release.emit(each)

    def leave(self, gap: int, end: int) -> None:
        """Let the beginning of an element leave, up to ``end``, with all that was held before it."""
        if self.state.sent <= gap:
            self.break_off()
            self._release.begin(gap, end)
        else:
            self._release.send(end)

    def _tell(self, match: tuple[Match, bool] | None, said: Said, position: int) -> None:
        """Tell of a sentence that is similar to an earlier one and stays."""
        if match is not None:
            found = match[0]
            self._release.duplicates.append(
                Duplicate(said.text, found.sentence, found.score, position, kept=True)
            )
