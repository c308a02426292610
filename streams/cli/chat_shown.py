"""A turn of a chat as somebody at a terminal reads it, or a script."""

from __future__ import annotations

import sys
from typing import Any

from streams.cli.output import count, print_json, printable
from streams.config.printing import printable_lines

#: What lies in a prompt without having been searched for.
_NOT_FOUND_BY_SEARCH = ("recent", "system")


class AsJson:
    """A turn as a script reads it: an object per event."""

    def take(self, name: str, told: Any) -> None:
        """Show an event."""
        print_json({"event": name, "data": told})

    def note(self, text: str) -> None:
        """Say something that is no event of a turn."""
        print(f"!    {printable(text)}", file=sys.stderr, flush=True)


class Shown:
    """A turn as a person reads it: text as it comes, what went wrong, and at the end what it was made of.

    A stream that was taken up again may tell from the beginning: what stands there is not said twice.
    """

    def __init__(self) -> None:
        self._is_in_line = False
        self._shown = ""
        self._told = ""
        self._items: list[dict[str, Any]] | None = None

    def take(self, name: str, told: Any) -> None:
        """Show an event."""
        match name:
            case "turn":
                self._told = ""
            case "text":
                self._text(told["text"])
            case "notice":
                self._line(f"!    {printable(told['message'])}")
            case "prompt":
                self._items = told["items"]
            case "search":
                found = len(told.get("found", ()))
                self._line(f"     searched for “{printable(told['query'])}”: {found} found")
            case "duplicate" if not told.get("kept"):
                self._line(f"     said already: “{printable(told['duplicate_sentence'])}”")
            case "message":
                if not self._told:  # another server tells it: as a whole
                    self._text(told.get("content", ""))
                self._line("")
                self._sources(told.get("metadata", {}).get("answer") or {})
            case "tokens":
                print(f"     context: {told['total']:,} / {told['threshold']:,} tokens")
            case "summary":
                which = f"#{told['from_index']}–#{told['to_index']}"
                print(f"     summarized {which}: {told['tokens_before']:,} → {told['tokens_after']:,} tokens")
            case "end":
                self._line(f"!    {printable(told['message'])}" if told.get("message") else "")

    def note(self, text: str) -> None:
        """Say something that is no event of a turn."""
        self._line("")
        print(f"!    {printable(text)}", file=sys.stderr, flush=True)

    def _text(self, text: str) -> None:
        self._told += text
        if self._shown.startswith(self._told):
            return
        if not self._told.startswith(self._shown):  # it is answered anew
            self._line("")
            self._shown = ""
        new, self._shown = self._told[len(self._shown) :], self._told
        print("it   " * (not self._is_in_line) + printable_lines(new), end="", flush=True)
        self._is_in_line = True

    def _sources(self, answer: dict[str, Any]) -> None:
        for item in answer.get("prompt", {}).get("items", ()):
            if item.get("quoted"):
                print(f"     [{item['n']}] {item['tier']}: {printable(item['text'][:100])}")
        if self._items is not None:
            found = [each for each in self._items if each["tier"] not in _NOT_FOUND_BY_SEARCH]
            left = sum(1 for each in found if each.get("left_out"))
            memories = count(len(found), "memory", "memories")
            print(f"     {memories} found: {len(found) - left:,} in the prompt, {left:,} left out")

    def _line(self, text: str) -> None:
        if self._is_in_line:
            print()
            self._is_in_line = False
        if text:
            print(text)
