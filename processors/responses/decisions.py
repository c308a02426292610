"""What becomes of each element of a response: it leaves, waits, or goes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import msgspec

from processors.responses.duplicates import Match
from processors.responses.elements import Element
from processors.responses.filter_state import Duplicate, FilterPolicy, FilterState, FindDuplicate, Held
from processors.responses.history import (
    BOLD_LEVEL,
    Beginnings,
    Begun,
    Said,
    Whole,
    beginning,
    going_on,
    introduces,
    is_plain,
    is_quoted,
    level_of,
    may_stand_alone,
    saying,
    says_enough,
    section_of,
    stands_in_verse,
    stops,
)
from processors.responses.lines import Kind
from processors.responses.release import Release

#: Kinds that are told apart by how their line ends.
_OPEN = (Kind.SENTENCE, Kind.HEADING)

#: Kinds that may begin a passage: others belong to what stands before them.
_BEGINNERS = (Kind.SENTENCE, Kind.LINE, Kind.HEADING)

T = TypeVar("T")


class Decisions:
    """Decides on one element after the other, in ``state``, and has ``release`` carry it out."""

    def __init__(self, state: FilterState, release: Release, policy: FilterPolicy, find: FindDuplicate) -> None:
        self.state, self._release, self._policy, self._find = state, release, policy, find
        self._beginnings = Beginnings()
        self.errors: list[Exception] = []

    def _try(self, look: Callable[[], T], otherwise: T) -> T:
        """Return what ``look`` says; whatever fails in detection, the text goes on (seed 003)."""
        try:
            return look()
        except Exception as error:  # noqa: BLE001 - see above
            self.errors.append(error)
            return otherwise

    def end_before(self, element: Element) -> None:
        """Deal with what ends where ``element`` begins, once its kind is clear: what is held, and sections."""
        if self._may_become_bold_line(element):
            return
        level = self._level(element)
        if element.first and not self._goes_on_with_list(element):
            self.end_block(level)
        if level:
            self._release.close_sections(level)

    def _level(self, element: Element) -> int:
        return level_of(element.kind, self.state.text[element.gap : element.end])

    def _goes_on_with_list(self, element: Element) -> bool:
        """Say whether an element belongs to the list that is held: an item, or indented under one."""
        if not any(held.element.kind == Kind.ITEM for held in self.state.held):
            return False
        return element.kind is Kind.ITEM or self.state.text[: element.gap][-1:] in (" ", "\t")

    def _may_become_bold_line(self, element: Element) -> bool:
        """Say whether it is not clear yet if a line is a heading, or a sentence that begins in bold."""
        if element.settled or element.long or element.kind not in _OPEN:
            return False
        return self.state.text[element.gap] in "*_"

    def waits(self, element: Element) -> bool:
        """Say whether an element that is not settled waits; what is held leaves if it cannot go on."""
        return self._try(lambda: self._may_repeat(element), False)

    def _may_repeat(self, element: Element) -> bool:
        state, kind = self.state, element.kind
        state.similar = False
        if not state.said or state.after != Kind.SPACE or self._is_too_long(element.end - element.gap):
            return False
        if kind is Kind.UNDECIDED or ((state.held or state.owed) and self._may_become_bold_line(element)):
            return True
        text = state.text[element.gap : element.end]
        # A line that looks like a sentence may still become a heading, and the other way round.
        sought = Begun(text, _OPEN if kind in _OPEN else (kind,))
        if any(True for _ in going_on(state.run, state.said, sought)):
            return True
        self.break_off()
        if state.after != Kind.SPACE:  # what left just now announces what follows
            return False
        alone = kind in _OPEN
        if kind in _BEGINNERS and not is_quoted(text):
            if any(True for _ in beginning(state.said, sought)):
                return True
            if alone and any(True for _ in saying(state.said, sought)):
                return True
        state.similar = alone and self._policy.fuzzy
        return state.similar

    def _is_too_long(self, characters: int) -> bool:
        held = sum([len(held.gap) + len(held.element.text) for held in self.state.held])
        return held + characters > self._policy.repeat_hold_characters

    def decide(self, element: Element) -> None:
        """Hold a settled element that may go, with its passage, or let it leave."""
        state = self.state
        text = state.text[element.gap : element.end]
        if state.shown and 0 < self._level(element) <= state.shown[2]:
            state.shown = None
        said = Said(text.rstrip(), element.kind, element.first)
        verse = element.kind is Kind.SENTENCE and stands_in_verse(state.text, element.gap, element.end)
        in_verse = verse or (state.verse and state.text.count("\n", 0, element.gap) == 1)
        state.verse = verse
        # "where x is the price" goes on with what is shown before it.
        continues = said.first and said.text[:1].islower()
        left, short = state.sent > element.gap, not self._is_too_long(len(said.text))
        run = self._places(going_on, state.run, state.said, Whole(said)) if short and state.run else ()
        if state.held and not run:
            self.break_off()
        found = None if in_verse or continues else self._try(lambda: self._match(said), None)
        match, goes = found or (None, False)
        repeats = match if goes and short else None
        held = Held(
            said,
            text[len(said.text) :],
            state.text[: element.gap],
            state.position + element.gap,
            repeats.sentence if repeats else "",
            repeats.score if repeats else 1.0,
            goes_on=bool(run and not state.held),
        )
        places = run or (self._places(self._repeated, held) if short and not continues else ())
        shown = self._is_shown(places)
        if places and not (left or shown):
            state.held, state.run = (*state.held, held), places
            return
        if match is not None:
            kept = Duplicate(said.text, match.sentence, match.score, held.position, kept=True)
            self._release.duplicates.append(kept)
        if left:
            self._release.send(element.end)
            self._release.keep(said)
        else:
            self._release.emit(held, sent=state.sent)

    def _match(self, said: Said) -> tuple[Match, bool] | None:
        """Return what a sentence repeats by itself, or is similar to, and whether it goes for that."""
        state = self.state
        if said.kind != Kind.SENTENCE or not may_stand_alone(said.text):
            return None
        last = next(saying(state.said, Whole(said)), None)
        if last is not None:
            return Match(state.said[last].text, 1.0), True
        earlier = [each.text for each in state.said if each.kind == Kind.SENTENCE]
        similar = self._find(said.text, earlier[-self._policy.window_sentences :], self._policy.threshold)
        return (similar, self._policy.fuzzy) if similar else None

    def _repeated(self, held: Held) -> Iterable[int]:
        """Return where an element was said that repeats something, by itself or as a passage's beginning."""
        element, said = held.element, self.state.said
        if held.similar:
            return tuple(saying(said, Whole(element))) or saying(said, Whole(Said(held.similar)))
        begins = element.kind in _BEGINNERS and (element.first or introduces(element.text))
        if not begins or is_quoted(element.text):
            return ()
        return self._beginnings.of(said, self._release.gone, element)

    def _places(self, look: Callable[..., Iterable[int]], *what: object) -> tuple[int, ...]:
        return self._try(lambda: tuple(look(*what)), ())

    def _is_shown(self, places: tuple[int, ...]) -> bool:
        """Say whether what stood at ``places`` is shown again on purpose: what stands before it announces it (a
        draft, and then the draft revised), or it goes on with what was announced, in the same order.
        """
        state = self.state
        if not places:
            return False
        if state.after != Kind.SPACE:
            level = section_of(state.said)[1]
            state.shown = min(places), len(state.said), min(level, state.shown[2]) if state.shown else level
            return True
        if state.shown is None:
            return False
        came_to, began, level = state.shown
        ahead = [at for at in places if came_to < at < began]
        state.shown = (min(ahead), began, level) if ahead else None
        return bool(ahead)

    def end_block(self, level: int | None) -> None:
        """A block ends; a heading of ``level`` follows (0: other text, ``None``: nothing): what is held goes if
        it is a passage said before.
        """
        state = self.state
        if not state.held:
            return
        first, last = state.held[0].element, state.held[-1].element
        over = level is None or 0 < level <= level_of(first.kind, first.text) < BOLD_LEVEL
        if last.kind == Kind.HEADING or (introduces(last.text) and not over):
            return  # what it introduces follows
        if self._try(self._is_repetition, False):
            place = state.run[0] - len(state.held) + 1 if state.run else 0
            held, state.held = state.held, ()
            for at, each in enumerate(held, place):
                self._release.drop(
                    each if each.similar else msgspec.structs.replace(each, similar=state.said[at].text)
                )

    def _is_repetition(self) -> bool:
        """Say whether what is held is a passage that goes, up to the end of what it repeats.

        It goes on with what went, is a section or a paragraph, or begins with what introduces the rest, in the
        section in which it was said first.
        """
        said, held, run = self.state.said, self.state.held, self.state.run
        first, last = held[0], held[-1].element
        if not any(at + 1 == len(said) or said[at + 1].first for at in run):
            return False  # a list that is shorter now is another one
        if first.goes_on or first.similar:
            return True
        # Code and quotations go where the text around them goes, or with the item that they stand under.
        in_list = last.text[:1].isspace() and any(each.element.kind == Kind.ITEM for each in held)
        if (last.kind in (Kind.CODE, Kind.QUOTE) or is_quoted(last.text)) and not in_list:
            return False
        if not any(each.element.kind in (Kind.ITEM, Kind.ROW) or stops(each.element.text) for each in held):
            return False  # labels for what follows
        texts = [each.element.text for each in held]
        if 0 < level_of(first.element.kind, texts[0]) < BOLD_LEVEL:
            return True
        if all(each.element.kind == Kind.SENTENCE for each in held):
            in_verse = any("\n" in each.gap for each in held[1:])
            return not in_verse and all(map(is_plain, texts)) and says_enough(" ".join(texts))
        section, _ = section_of(said)
        return _is_introduced(held) and any(at >= section for at in run)

    def break_off(self) -> None:
        """What is held repeats no passage: only its repeated sentences go."""
        state = self.state
        held, state.held, state.run = state.held, (), ()
        for each in held:
            if each.similar and not self._is_shown(self._places(self._repeated, each)):
                self._release.drop(each)
            else:
                self._release.emit(each)

    def leave(self, gap: int, end: int) -> None:
        """Let the beginning of an element leave, up to ``end``, with all that was held before it."""
        if self.state.sent <= gap:
            self.break_off()
            self._release.begin(gap, end)
        else:
            self._release.send(end)


def _is_introduced(held: Sequence[Held]) -> bool:
    """Say whether what is held begins with what introduces the rest."""
    for each in held:
        if introduces(each.element.text) or each.element.kind == Kind.HEADING:
            return True
        if each.element.kind not in _BEGINNERS:
            break
    return False
