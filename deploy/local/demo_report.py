"""What the demo prints."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from rich.text import Text

from deploy.local.demo_watch import View
from models.facts import Fact, FactStatus
from models.responses import ContentDuplicationEvent
from models.statements import Kind
from models.summaries import Summary
from streams.cli.output import console, count, printable
from streams.contexts.reading import ContextAnswer
from streams.search import Result

#: People, and facts of each, that are shown; conversations of one's own may hold thousands.
_SHOWN_PEOPLE = 10
_SHOWN_PER_PERSON = 12

#: Facts that hold no longer that are shown, first those that another took the place of.
_SHOWN_CHANGES = 8

_PAST = (FactStatus.SUPERSEDED, FactStatus.CONTRADICTED, FactStatus.ENDED)

#: Seconds between lines of progress when nobody looks at a terminal.
_QUIET_SECONDS = 2.0


class Progress:
    """One line that is overwritten at a terminal, and a line now and then in a pipe."""

    def __init__(self) -> None:
        self._terminal = sys.stdout.isatty()
        self._shown = ""
        self._at = 0.0

    def update(self, text: str) -> None:
        """Replace the line."""
        if text == self._shown:
            return
        if self._terminal:
            width = shutil.get_terminal_size().columns - 1
            sys.stdout.write(f"\r\x1b[K{text[:width]}")
            sys.stdout.flush()
        elif time.monotonic() - self._at >= _QUIET_SECONDS:
            self._at = time.monotonic()
            print(text, flush=True)
        else:
            return
        self._shown = text

    def say(self, text: str) -> None:
        """Print a line that stays; the overwritten one begins anew below it."""
        self.clear()
        print(text, flush=True)

    def clear(self) -> None:
        """Remove the line that is overwritten."""
        if self._terminal and self._shown:
            sys.stdout.write("\r\x1b[K")
        self._shown = ""


class Rates(NamedTuple):
    """What was done, and how long it took (seconds)."""

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


def print_facts(view: View) -> None:
    """Print what is known of each person, with the sentence that each fact came from."""
    heading("What is known now, and the sentence it came from")
    order = list(Kind)
    facts = sorted(
        view.known, key=lambda fact: (fact.user_id, order.index(fact.kind), fact.valid_from, fact.fact_id)
    )
    if not facts:
        print("Nothing: no message says anything lasting about a person.")
    people = [(user, list(known)) for user, known in groupby(facts, key=lambda fact: fact.user_id)]
    for user, known in people[:_SHOWN_PEOPLE]:
        _print_person(user, known)
    if len(people) > _SHOWN_PEOPLE:
        print(f"\nand {count(len(people) - _SHOWN_PEOPLE, 'more person', 'more people')}")


def _print_person(user: str, facts: Sequence[Fact]) -> None:
    out = console()
    out.print()
    out.print(f"{printable(user)}: {count(len(facts), 'fact')}", style="bold")
    for fact in facts[:_SHOWN_PER_PERSON]:
        out.print(f"  {fact.confidence:.2f} {fact.kind.value:<10} {printable(fact.statement)}")
        for source in fact.provenance[-1:]:
            where = f"{printable(source.conversation_id)}, {fact.valid_from:%d %b %Y}"
            quote = printable(" … ".join(source.quote.splitlines()))
            out.print(f"                  “{quote}” ({where})", style="dim")
    if len(facts) > _SHOWN_PER_PERSON:
        print(f"  and {len(facts) - _SHOWN_PER_PERSON:,} more")


def print_changes(view: View) -> None:
    """Print what was so and is no longer, and what took its place."""
    gone = [fact for fact in view.facts.values() if fact.status in _PAST and fact.valid_to is not None]
    if not gone:
        return
    heading("What has changed")
    gone.sort(key=lambda fact: (fact.status is FactStatus.ENDED, fact.user_id, fact.valid_from, fact.fact_id))
    for fact in gone[:_SHOWN_CHANGES]:
        heir = view.facts.get(fact.superseded_by or "")
        then = f", then: {printable(heir.statement)}" if heir is not None and heir is not fact else ""
        when = f"{fact.valid_from:%d %b} to {fact.valid_to:%d %b %Y}"
        print(f"  {printable(fact.user_id)}: {printable(fact.statement)} ({fact.status.value}, {when}){then}")
    if len(gone) > _SHOWN_CHANGES:
        print(f"  and {len(gone) - _SHOWN_CHANGES:,} more")


def print_search(query: str, user: str, found: Sequence[Result]) -> None:
    """Print a question and what the memory answers."""
    heading(f"Search: what did {printable(user)} say, and what is known of them?")
    print(f'switchboard search "{query}" --user {printable(user)}')
    for result in found:
        print(f"  {result.score:.2f} {result.kind:<4} {printable(result.text)}")
    if not found:
        print("  nothing")


def print_context(answer: ContextAnswer) -> None:
    """Print what was made ready for a conversation's next turn."""
    user, conversation = printable(answer.user_id), printable(answer.conversation_id)
    heading(f"Ready before {user} says anything more in {conversation}")
    print(f"switchboard context {conversation} --user {user} --prompt")
    if answer.context is None:
        print("  nothing yet")
        return
    for line in answer.prompt.splitlines():
        print(f"  {printable(line)}")
    print(
        f"  ({answer.context.tokens:,} of {answer.context.budget:,} tokens; without --prompt: why each is in)"
    )


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
    """Print a response with the sentences struck out that the filter kept from its reader."""
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
        shown.append(text[at:start])
        shown.append(text[start:end] if out.is_terminal else f"~~{text[start:end]}~~", style="strike red")
        at = end
    shown.append(text[at:])
    out.print(shown)
    for event in duplicates:
        print(f"  {event.similarity_score:.2f} like “{printable(event.similar_sentence)}”")


def print_rates(rates: Rates) -> None:
    """Print what was done in this run, and how fast."""
    heading("This run")
    before = f", {rates.there_before:,} were there already" if rates.there_before else ""
    speed = f" in {rates.sending:.2f} s ({rates.sent / rates.sending:,.0f}/s)" if rates.sent else ""
    print(f"sent       {count(rates.sent, 'message')}{speed}{before}")
    print(
        f"new        {count(rates.windows, 'window')}, {count(rates.episodes, 'episode')}, "
        f"{count(rates.facts, 'fact')}, {count(rates.summaries, 'summary', 'summaries')}"
    )
    print(f"finished   {rates.settling:.1f} s after the first message was sent")
