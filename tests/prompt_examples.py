"""Material of each prompt, and a good answer to it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from models.answers import AnswerItem
from models.consolidation import Likeness, MergeCluster
from models.context import FoundBy, Tier
from models.messages import Role
from models.statements import Kind
from models.summaries import SummaryRequest
from models.understanding import QuestionAsked
from models.windows import Window, WindowReason
from tests import samples

_BEGAN = datetime(2026, 3, 1, 10, 0, tzinfo=UTC)

_LINES = (
    (Role.USER, "Hi! I moved to Munich in January."),
    (Role.ASSISTANT, "How do you like it there?"),
    (Role.USER, "A lot, but I don't like the coffee at work."),
    (Role.USER, "And please keep your answers short."),
)


def window() -> Window:
    """Return a window of four messages."""
    messages = [
        samples.window_message(
            index,
            text,
            at=_BEGAN + timedelta(minutes=index),
            message_id=f"m-{index}",
            user_id="mara",
            role=role,
            offset=index,
        )
        for index, (role, text) in enumerate(_LINES)
    ]
    return samples.window(messages, window_id="w-1", conversation_id="c-1", reason=WindowReason.IDLE)


#: What a model should say about :func:`window`.
EXTRACTED = """{"notes": [
 {"n": 1, "quote": "I moved to Munich in January.", "note": "The user has lived in Munich since January 2026.",
  "change": "new", "k": 0, "about": "user", "attribute": "home", "value": "Munich", "denied": false,
  "date": "2026-01",
  "importance": 3, "sure": "high"},
 {"n": 3, "quote": "I don't like the coffee at work.", "note": "The user does not like the coffee at work.",
  "change": "new", "k": 0, "about": "user", "attribute": "like", "value": "coffee at work", "denied": true,
  "date": "",
  "importance": 1, "sure": "high"},
 {"n": 4, "quote": "please keep your answers short", "note": "The user wants short answers.", "change": "new",
  "k": 0,
  "about": "user", "attribute": "instruction", "value": "keep answers short", "denied": false, "date": "",
  "importance": 3, "sure": "high"}],
 "relations": [
 {"n": 1, "subject": {"type": "person", "name": "", "role": "self"}, "relation": "lives_in",
  "object": {"type": "place", "name": "Munich", "role": ""}, "ended": false,
  "quote": "I moved to Munich in January."}]}"""


def summary_request() -> SummaryRequest:
    """Return a request for a summary of the messages of :func:`window`."""
    shown = window()
    return SummaryRequest(
        request_id="r-1",
        conversation_id=shown.conversation_id,
        user_id=shown.user_id,
        from_index=shown.from_index,
        to_index=shown.to_index,
        messages=shown.messages,
        tokens=60,
        threshold=50,
        source=shown.source,
        arrived_at=shown.messages[-1].arrived_at,
    )


#: What a model should say about it.
SUMMARIZED = """{"profile": {"preferences": ["Does not like the coffee at work", "Wants short answers"],
 "constraints": []}, "key_facts": ["Moved to Munich in January and likes it there"], "decisions": [],
 "open_questions": [], "todos": []}"""


def near(name: str, *statements: str) -> MergeCluster:
    """Return a question whether these statements are one fact."""
    facts = tuple(
        Likeness(
            fact_id=f"{name}-{n}", statement=text, confidence=0.8, kind=Kind.PREFERENCE, last_evidence_at=_BEGAN
        )
        for n, text in enumerate(statements, 1)
    )
    return MergeCluster(cluster_id=name, facts=facts)


#: Facts that are near each other.
CLUSTERS = (
    near("a", "Wants short answers", "Prefers answers to be short"),
    near("b", "Won the first match of the season", "Won the fourth match of the season"),
)

#: What a model should decide about them.
DECIDED = """{"clusters": [{"cluster": 1, "decision": "MERGE", "facts": [1, 2]},
 {"cluster": 2, "decision": "KEEP_BOTH", "facts": [1, 2]}]}"""

#: A question that rests on what was said before it.
ASKED = QuestionAsked(
    query="Is the coffee better there?",
    user_id="mara",
    tenant_id="default",
    turns=("I moved to Munich in January.", "How do you like it there?"),
    speakers=("A", "assistant"),
    remembered=("Lives in Munich", "Does not like the coffee at work"),
)

#: What a model should say it means.
UNDERSTOOD = """{"is_ambiguous": false, "score": 0.2, "reasons": [], "possible_interpretations": [],
 "clarifying_questions": [], "rewritten_query": "Is the coffee better in Munich?",
 "references": [{"words": "there", "meanings": ["Munich"]}], "needed": [3, 4]}"""


def _item(n: int, tier: Tier, name: str, text: str, role: Role | None = None) -> AnswerItem:
    found_by = FoundBy.RECENT if tier is Tier.RECENT else FoundBy.MEANING
    return AnswerItem(tier=tier, id=name, text=text, tokens=20, found_by=found_by, n=n, role=role, at=_BEGAN)


#: What an answer may be made of, the question at the end.
ANSWER_ITEMS = (
    _item(1, Tier.INSTRUCTIONS, "f-1", "Wants short answers"),
    _item(2, Tier.FACTS, "f-2", "Lives in Munich"),
    _item(3, Tier.EPISODES, "t-1", "I don't like the coffee at work.", Role.USER),
    _item(4, Tier.RECENT, "q", "Which city do I live in?", Role.USER),
)

#: What a model should answer then.
ANSWERED = "In Munich [2]. (Short, as you wish [1].)"
