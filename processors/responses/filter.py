"""Takes sentences out of a response stream that repeat earlier ones (seed 003), and holds back little for it.

The seed's tests, in its order: first exactly the same text as before, anywhere in the response; then sentence
by sentence, similar to one of the last fifty.  The first is asked of sentences, not of chunks, so that the
outcome never depends on where a chunk ends; a repeated chunk goes because all its sentences do.

Text leaves at once as soon as no continuation can make its sentence a duplicate
(:func:`processors.responses.duplicates.may_become_duplicate`). What may still become one is held, with the
white space before it, until that is known, until the hold time is over or the response ends; a sentence whose
beginning has left is never taken out. White space alone shows nothing and has no hold time.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from processors.responses.duplicates import Match
from processors.responses.filter_state import (
    EXACT_MEMORY,
    Detection,
    Duplicate,
    Filtered,
    FilterPolicy,
    FilterState,
)
from processors.responses.gaps import Gap, join_gaps, last_gap, split_at_long_gaps
from processors.responses.lines import TABLE_BLOCK, code_ends, code_may_end, line_end, opens_code
from processors.responses.text import Kind, Unit, is_content, read_unit

#: Characters that are taken at once.  Where text is cut does not matter, and dropping the beginning of a long
#: one takes as long as it is: a response in one chunk would take quadratic time.
_BITE = 4096


class ResponseFilter:
    """Filters any number of responses; what it knows of each is in its :class:`FilterState`."""

    def __init__(self, policy: FilterPolicy | None = None, detection: Detection | None = None) -> None:
        self.policy = policy or FilterPolicy()
        self._detection = detection or Detection()

    def push(self, state: FilterState, text: str, now: float, *, final: bool = False) -> Filtered:
        """Add ``text`` to the response; ``final`` if nothing follows.  ``now`` in epoch seconds."""
        if self.policy.threshold >= 1.0:
            return _Step(state, self.policy, self._detection).pass_on(text, now, final)
        step = _Step(state, self.policy, self._detection)
        if self._expired(state, now):
            step.release()
        return step.take(text, now, final)

    def tick(self, state: FilterState, now: float) -> Filtered:
        """Release what was held for too long, and let its sentence pass."""
        if not self._expired(state, now):
            return Filtered(state, "")
        step = _Step(state, self.policy, self._detection)
        step.release()
        return step.take("", now, final=False)

    def wake_at(self, state: FilterState) -> float | None:
        """Return when :meth:`tick` has something to release, in epoch seconds."""
        return None if state.held_since is None else state.held_since + self.policy.hold_seconds

    def _expired(self, state: FilterState, now: float) -> bool:
        due = self.wake_at(state)
        return due is not None and now >= due


class _Step:
    """One step over a response: the fields of its state, to be changed, and what comes out."""

    def __init__(self, state: FilterState, policy: FilterPolicy, detection: Detection) -> None:
        self._before, self._policy, self._detection = state, policy, detection
        self._said, self._text, self._sent = state.said, state.text, state.sent
        self._position, self._line_begins, self._inside = state.position, state.line_begins, state.inside
        self._gap, self._began, self._run = state.gap, state.began, state.run
        self._out: list[str] = []
        self._duplicates: list[Duplicate] = []
        self._errors: list[Exception] = []

    def release(self) -> None:
        """Let go of everything visible."""
        visible = len(self._text.rstrip())
        if visible > self._sent:
            self._send(read_unit(self._text, line_begins=self._line_begins, final=False), visible)

    def take(self, text: str, now: float, final: bool) -> Filtered:
        """Go on with ``text`` and return what came of it all."""
        (*closed, rest), self._run = split_at_long_gaps(text, self._run)
        for part in closed:
            self._add(part)
            self._settle()
        self._add(rest)
        self._advance_all(final)  # what was released goes on even if nothing was added
        return self._result(len(text), now)

    def _add(self, text: str) -> None:
        for at in range(0, len(text), _BITE):
            self._text += text[at : at + _BITE]
            self._advance_all(final=False)

    def _advance_all(self, final: bool) -> None:
        while self._text and self._advance(final):
            pass

    def _settle(self) -> None:
        """Let go of everything before a long gap, and of the gap."""
        visible, line_begins = len(self._text.rstrip()), self._line_begins
        space, sent = self._text[visible:], max(0, self._sent - visible)
        self._text, self._sent = self._text[:visible], min(self._sent, visible)
        self._advance_all(final=True)
        self._text, self._sent = space, sent
        if self._inside not in ("", "line"):  # a block, which needs its line ends and keeps few of them
            self._advance_all(final=False)
            return
        if self._gap is not None:
            self._out.append(join_gaps(self._gap, Gap(space)).text())
            self._gap = None
        else:
            self._send_raw(len(space))
        self._consume(len(space))
        self._line_begins = "\n" in space or (line_begins and not visible)
        self._inside = "" if "\n" in space else self._inside

    def pass_on(self, text: str, now: float, final: bool) -> Filtered:
        """Send ``text`` as it is, and before it what an earlier setting held back."""
        self._text += text
        gap, end = len(self._text) - len(self._text.lstrip()), len(self._text)
        if gap == end and self._gap is not None:  # what remains of it depends on what follows
            self._space(final)
        else:
            self._send(Unit(Kind.LINE, gap, gap, end, settled=True), end)
            self._consume(end)
        return self._result(len(text), now)

    def _advance(self, final: bool) -> bool:
        """Deal with the next unit; say whether there may be another."""
        if self._inside == "line":
            return self._rest_of_line(final)
        if self._inside:
            return self._code(final)
        unit = read_unit(self._text, line_begins=self._line_begins, final=final)
        if unit.kind is Kind.SPACE:
            return self._space(final)
        if unit.kind is Kind.LINE:
            self._send(unit, unit.end)
            self._inside = "" if unit.settled else "line"
            return self._consume(unit.end)
        if unit.kind is Kind.SENTENCE and unit.settled:
            self._sentence(unit)
            return self._consume(unit.end)
        if unit.kind in (Kind.CODE, Kind.TABLE) or not self._may_be_dropped(unit):
            self._send(unit, unit.end)
        if not unit.settled:
            return False
        line = self._text[unit.body : unit.end]
        self._inside = TABLE_BLOCK if unit.kind is Kind.TABLE else opens_code(line)
        return self._consume(unit.end)

    def _space(self, final: bool) -> bool:
        if final:
            self._out.append(last_gap(self._gap, self._text) if self._gap else self._text[self._sent :])
            return self._consume(len(self._text))
        if not self._said and self._gap is None:
            self._send_raw(len(self._text))
        return False

    def _rest_of_line(self, final: bool) -> bool:
        end = line_end(self._text, 0)
        if end is not None:
            self._inside = ""
        elif final:
            end = len(self._text)
        else:
            end = len(self._text.rstrip("\r"))
        self._send_raw(end)
        self._consume(end)
        return not self._inside

    def _code(self, final: bool) -> bool:
        end = code_ends(self._text, self._inside, final)
        if end is not None:
            self._send_raw(end)
            self._inside = ""
            return self._consume(end)
        self._send_raw(len(self._text) if final else len(self._text.rstrip("\r")))
        self._consume(len(self._text) if final else code_may_end(self._text, self._inside))
        return False

    def _sentence(self, unit: Unit) -> None:
        sentence = self._text[unit.body : unit.end].rstrip()
        content = not unit.heading and is_content(sentence, self._policy.minimum_columns)
        match = self._find(sentence) if content and self._sent <= unit.gap else None
        if match is None:
            self._send(unit, unit.end)
            if content:
                self._said = (*self._said, sentence)[-EXACT_MEMORY:]
            return
        self._duplicates.append(Duplicate(sentence, match.sentence, match.score, self._position + unit.body))
        self._gap = self._gap_before(unit)

    def _gap_before(self, unit: Unit) -> Gap:
        text = self._text
        gap = Gap(text[: unit.gap], text[unit.gap : unit.body], not self._began, text[: self._sent])
        return join_gaps(self._gap, gap) if self._gap else gap

    def _send(self, unit: Unit, end: int) -> None:
        """Send the unit's text up to ``end``, with its gap if that has not left."""
        end = max(end, unit.body)
        if self._sent > unit.gap or self._gap is None:
            self._send_raw(end)
            return
        gap = self._gap_before(unit)
        self._out.append(gap.text() + self._text[unit.body : end])
        self._sent, self._gap, self._began = end, None, True

    def _send_raw(self, end: int) -> None:
        if end > self._sent:
            text = self._text[self._sent : end]
            self._out.append(text)
            self._sent = end
            self._began = self._began or not text.isspace()

    def _consume(self, end: int) -> bool:
        """Drop the first ``end`` characters, which are settled; say whether any are left."""
        self._text = self._text[end:]
        self._sent = max(0, self._sent - end)
        self._position += end
        self._line_begins = False
        return bool(self._text)

    def _may_be_dropped(self, unit: Unit) -> bool:
        """Say whether an unsettled unit may still become a sentence that is taken out."""
        if self._sent > unit.gap or not self._said:
            return False
        beginning = self._text[unit.body : unit.end]
        if unit.kind is Kind.UNDECIDED:
            return True
        if "|" in beginning:  # never content: a row of a table
            return False
        exact, window = self._memory()
        try:
            return self._detection.may_become_duplicate(beginning, window, exact, self._policy.threshold)
        except Exception as error:  # noqa: BLE001 - whatever fails in detection, the text goes on (seed 003)
            self._errors.append(error)
            return False

    def _find(self, sentence: str) -> Match | None:
        exact, window = self._memory()
        try:
            return self._detection.find_duplicate(
                sentence, window, self._policy.threshold
            ) or self._detection.find_exact(sentence, exact)
        except Exception as error:  # noqa: BLE001 - whatever fails in detection, the text goes on (seed 003)
            self._errors.append(error)
            return None

    def _memory(self) -> tuple[Sequence[str], Sequence[str]]:
        """Return the sentences of which only exact repetitions count, and the last ones."""
        split = max(0, len(self._said) - self._policy.window_sentences)
        return self._said[:split], self._said[split:]

    def _result(self, added: int, now: float) -> Filtered:
        before, text, sent = self._before, self._text, self._sent
        unsent = text[sent:].lstrip()
        since, waited = None, None
        if unsent:
            at = self._position + len(text) - len(unsent)
            as_before = before.held_since is not None and at < before.position + len(before.text)
            since = before.held_since if as_before else now
        if before.held_since is not None and since != before.held_since:
            waited = now - before.held_since
        state = FilterState(
            said=self._said,
            text=text,
            sent=sent,
            position=self._position,
            line_begins=self._line_begins,
            inside=self._inside,
            gap=self._gap,
            began=self._began,
            held_since=since,
            run=self._run,
        )
        held = min(added, len(text) - sent)
        return Filtered(state, "".join(self._out), tuple(self._duplicates), held, waited, tuple(self._errors))


class FilterResult(msgspec.Struct, frozen=True):
    """A whole text without what it repeats, and what was taken out of it, in order."""

    text: str
    duplicates: tuple[Duplicate, ...]


def filter_text(text: str, policy: FilterPolicy | None = None) -> FilterResult:
    """Filter a whole response at once: what its chunks give, however it is cut and if none of them is late."""
    filtered = ResponseFilter(policy).push(FilterState(), text, 0.0, final=True)
    return FilterResult(filtered.text, filtered.duplicates)
