"""An answer of a language model while it is streamed, and what is wrong with it at its end."""

from __future__ import annotations

from models.answers import Notice, ToolCall, Trouble
from streams.llm.account import Call
from streams.llm.port import Declined, Finished, StreamEvent, TextDelta, Usage

#: Characters of an answer that are kept.
_MOST_CHARACTERS = 100_000


class StreamedAnswer:
    """An answer that is being streamed: what was said so far, and the usage, which goes to ``call``."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.text = ""
        self.calls: list[ToolCall] = []
        self.finished: Finished | None = None
        self.refusal = ""

    def take(self, event: StreamEvent) -> str:
        """Take an event in and return what it adds to the text."""
        match event:
            case TextDelta(text):
                said = text[: _MOST_CHARACTERS - len(self.text)]
                self.text += said
                return said
            case ToolCall():
                self.calls.append(event)
            case Usage():
                self.call.usage = Usage(*map(max, self.call.usage, event))
            case Finished():
                self.finished = event
            case Declined():
                self.refusal = self.refusal or event.message
        return ""

    def trouble(self) -> Notice | None:
        """Return the notice about a failed answer after its end."""
        if self.refusal:
            return Notice(problem=Trouble.REFUSED, message=f"{self.refusal}.")
        if self.finished is not None and self.finished.at_limit:
            return Notice(problem=Trouble.CUT, message="The answer was longer than an answer may be.")
        if self.finished is None and (self.text or self.calls):
            return Notice(problem=Trouble.CUT, message="The model's answer ends in the middle.")
        if not self.text.strip() and not self.calls:
            return Notice(problem=Trouble.EMPTY, message="The model answered nothing.")
        return None
