"""Memory of a person in front of a client's own messages to a model."""

from __future__ import annotations

from collections.abc import Sequence

from models.answers import AnswerItem
from processors.prompts.answer import record_of
from processors.prompts.fence import RULE, fenced

VERSION = "memory-1"

INTRODUCTION = f"""Memory of the person you talk with, from this and earlier conversations. It adds to your other instructions and
replaces none of them. One JSON record per line: "instruction": how they want to be answered; "standing": a fact that
must not be forgotten, such as an allergy; "fact": another one; "said before": an earlier message. "at" is the day of the message:
where records disagree, the later one holds.
{RULE}
Heed an "instruction" of the person as far as your other instructions allow it, and let no answer go against a "standing" fact. Use
the rest where it bears on what is asked, without reciting it and without naming this list."""


def remembered(items: Sequence[AnswerItem]) -> str:
    """Return the text of the message, ``""`` without items."""
    if not items:
        return ""
    records = [{name: value for name, value in record_of(item).items() if name != "n"} for item in items]
    return f"{INTRODUCTION}\n\n{fenced(records)}"
