"""Output of the demo."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Sequence
from typing import NamedTuple

from rich.text import Text

from deploy.local.demo_watch import View
from models.facts import Fact, FactStatus
from models.responses import ContentDuplicationEvent
from models.summaries import Summary
from streams.cli.output import console, count, printable
from streams.queries.contexts.reading import ContextAnswer
from streams.stores.search import Result

#: People that are shown, and facts of the first; conversations of one's own may hold thousands.
_SHOWN_PEOPLE, _SHOWN_OF_FIRST = 6, 8

#: Facts that hold no longer that are shown, first those that another took the place of.
_SHOWN_CHANGES = 4

#: Lines of a prompt, and results of a search, that are shown.
_SHOWN_OF_PROMPT, _SHOWN_RESULTS = 5, 3

_PAST = (FactStatus.SUPERSEDED, FactStatus.CONTRADICTED, FactStatus.ENDED)

#: Seconds between lines of progress when nobody looks at a terminal.
_QUIET_SECONDS = 2.0

#: Seconds between two counts at a terminal.
_COUNT_SECONDS = 1.0


class Progress:
    """One line that is overwritten at a terminal, and a line now and then in a pipe.

    At a terminal the seconds since the last change are counted behind it: a step that takes long is not silent.
    """

    def __init__(self) -> None:
        self._terminal = sys.stdout.isatty()
        self._shown = ""
        self._at = self._printed = 0.0
        self._is_waiting = False
        self._lock = threading.Lock()
        if self._terminal:
            threading.Thread(target=self._count, daemon=True).start()

    def update(self, text: str) -> None:
        """Replace the line."""
        with self._lock:
            if text == self._shown:
                return
            now = time.monotonic()
            if self._terminal:
                self._overwrite(text)
            elif now - self._printed >= _QUIET_SECONDS:
                self._printed = now
                print(text, flush=True)
            else:
                return
            self._shown, self._at, self._is_waiting = text, now, True

    def say(self, text: str) -> None:
        """Print a line that stays; the overwritten one begins anew below it."""
        with self._lock:
            self._clear()
            print(text, flush=True)
            self._at, self._is_waiting = time.monotonic(), True

    def clear(self) -> None:
        """Remove the line that is overwritten; nothing more is counted."""
        with self._lock:
            self._clear()

    def _clear(self) -> None:
        if self._terminal and self._is_waiting:
            sys.stdout.write("\r\x1b[K")
            sys.stdout.flush()
        self._shown, self._is_waiting = "", False

    def _overwrite(self, text: str, count: str = "") -> None:
        width = shutil.get_terminal_size().columns - 1 - len(count)
        sys.stdout.write(f"\r\x1b[K{text[:width]}{count}")
        sys.stdout.flush()

    def _count(self) -> None:
        while True:
            time.sleep(_COUNT_SECONDS)
            with self._lock:
                waited = int(time.monotonic() - self._at)
                if self._is_waiting and waited > 0:
                    self._overwrite(self._shown or " ", f" ({waited} s)")


class Rates(NamedTuple):
    """Counts and durations (seconds) of the demo."""

    sent: int
    there_before: int
    sending: float
    windows: int
    episodes: int
    facts: int
    summaries: int
    settling: float


def heading(text: str) -> None:
    """Print a heading."""
    out = console()
    out.print()
    out.print(text, style="bold underline")


def print_facts(view: View, first: str = "") -> None:
    """Print what is known of each person in their own words: of ``first`` eight facts, of others one."""
    heading("What is known now, and the sentence it came from")
    facts = sorted(view.known, key=_most_important_first)
    if not facts:
        print("Nothing: no message says anything lasting about a person.")
        return
    people = sorted({fact.user_id for fact in facts})
    shown = first if first in people else people[0]
    for user in [shown, *(each for each in people if each != shown)][:_SHOWN_PEOPLE]:
        known = [_with_its_source(fact) for fact in facts if fact.user_id == user]
        many = f"{printable(user)}: {count(len(known), 'fact')}, for example"
        if user == shown:
            print("\n  ".join([many, *known[:_SHOWN_OF_FIRST]]))
        else:
            print(f"{many} {known[0]}")
    if len(people) > _SHOWN_PEOPLE:
        print(f"and {count(len(people) - _SHOWN_PEOPLE, 'more person', 'more people')}")


def _most_important_first(fact: Fact) -> tuple[int, bool, float, str]:
    return (-fact.importance, not fact.attribute, -fact.confidence, fact.fact_id)


def _with_its_source(fact: Fact) -> str:
    """Return a fact in a line: what was said, when and where, behind the statement if that has other words."""
    if not fact.provenance:
        return printable(fact.statement)
    source = fact.provenance[-1]
    quote = printable(" … ".join(source.quote.splitlines()))
    statement = printable(fact.statement).removesuffix(quote)
    lead = f"{statement.rstrip()} " if statement else ""
    return f"{lead}“{quote}” ({source.conversation_id}, {source.sent_at:%d %b %Y})"


def print_changes(view: View) -> None:
    """Print what was so and is no longer, and what took its place."""
    gone = [fact for fact in view.facts.values() if fact.status in _PAST and fact.valid_to is not None]
    if not gone:
        return
    heading(
        f"What has changed: {min(len(gone), _SHOWN_CHANGES)} of {count(len(gone), 'fact')} that no longer hold"
    )
    gone.sort(key=lambda fact: (fact.status is FactStatus.ENDED, fact.user_id, fact.valid_from, fact.fact_id))
    for fact in gone[:_SHOWN_CHANGES]:
        heir = view.facts.get(fact.superseded_by or "")
        then = f", then: {printable(heir.statement)}" if heir is not None and heir is not fact else ""
        when = f"{fact.valid_from:%d %b} to {fact.valid_to:%d %b %Y}"
        print(f"  {printable(fact.user_id)}: {printable(fact.statement)} ({fact.status.value}, {when}){then}")


def print_search(query: str, user: str, found: Sequence[Result]) -> None:
    """Print a question and what the memory answers."""
    heading(f'Asked of the memory: switchboard search "{query}" --user {printable(user)}')
    for result in found[:_SHOWN_RESULTS]:
        print(f"  {result.score:.2f} {result.kind:<4} {printable(result.text)}")
    if not found:
        print("  nothing")


def print_context(answer: ContextAnswer) -> None:
    """Print what was made ready for a conversation's next turn."""
    user, conversation = printable(answer.user_id), printable(answer.conversation_id)
    heading(f"Ready for the next turn: switchboard context {conversation} --user {user} --prompt")
    if answer.context is None:
        print("  nothing yet")
        return
    lines = answer.prompt.splitlines()
    for line in lines[:_SHOWN_OF_PROMPT]:
        print(f"  {printable(line)}")
    used = f"{answer.context.tokens:,} of {answer.context.budget:,} tokens"
    print(f"  ... {max(0, len(lines) - _SHOWN_OF_PROMPT)} more lines, {used}; without --prompt: why each is in")


def summary_line(summary: Summary) -> str:
    """Return one line about a summary that was just accepted."""
    content = summary.summary
    points = [
        *content.decisions,
        *content.key_facts,
        *content.profile.preferences,
        *content.profile.constraints,
    ]
    more = len(points) + len(content.open_questions) + len(content.todos) - 1
    first = f": {printable(points[0])} (and {more} more)" if points else ""
    return (
        f"summary of {printable(summary.conversation_id)}, messages {summary.from_index} to "
        f"{summary.to_index}, in {summary.tokens} tokens{first}"
    )


def print_response(text: str, duplicates: Sequence[ContentDuplicationEvent]) -> None:
    """Print the paragraphs of a response from which the filter struck sentences that its reader has seen."""
    duplicates = [event for event in duplicates if not event.kept]
    heading(f"A response on its way to the reader, with {count(len(duplicates), 'repetition')} struck out")
    out = console()
    shown = Text()
    at = 0
    for event in sorted(duplicates, key=lambda event: event.position_in_response):
        start = text.find(event.duplicate_sentence, max(at, event.position_in_response - 2))
        if start < 0:
            continue
        end = start + len(event.duplicate_sentence)
        before = max(at, text.rfind("\n", at, start) + 1)
        shown.append(f"{'' if before == at else '... '}{text[before:start]}")
        shown.append(text[start:end] if out.is_terminal else f"~~{text[start:end]}~~", style="strike red")
        at = end
    after = text.find("\n", at) if duplicates else -1
    shown.append(text[at:] if after < 0 else f"{text[at:after]} ...")
    out.print(shown)


def print_rates(rates: Rates) -> None:
    """Print what was done in this run, and how fast."""
    before = f", {rates.there_before:,} were there already" if rates.there_before else ""
    speed = f" in {rates.sending:.2f} s" if rates.sent else ""
    took = f", {rates.settling:.1f} s after the first message" if rates.sent else ""
    print(
        f"\nThis run: {count(rates.sent, 'message')} sent{speed}{before}; "
        f"new: {count(rates.windows, 'window')}, "
        f"{count(rates.episodes, 'episode')}, {count(rates.facts, 'fact')}, "
        f"{count(rates.summaries, 'summary', 'summaries')}{took}"
    )
