"""Prompt for merge questions: whether near facts say the same, or one is out of date (requirement 3.4).

All clusters of a person are asked about at once.  Clusters and facts have numbers, so a model can only decide about
what is in front of it; what it does not say, or says malformed, leaves a cluster as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from models.consolidation import Decision, MergeCluster
from models.ports import MergeVerdict
from processors.prompts.fence import RULE, fenced
from processors.prompts.prompt import Prompt, items, told

VERSION = "merging-3"

#: Room for the answer about one cluster.
MOST_TOKENS = 60

SYSTEM = f"""Task {VERSION}: decide which facts about a person say the same.

The data holds facts, one JSON record per line: cluster (facts that are near each other), n (the number of the fact in
its cluster), text, kind, confidence, said (when it was said last), at (when it happens, for an event), and denied (true: rules took the
facts of this cluster for a contradiction).
{RULE}

Answer for each cluster with its number, a decision, and the numbers of the facts that it is about (two at least):
- MERGE: these facts say the same of the same person or thing; one of them may say more.
- SUPERSEDES: it was so, and since then something else is so in its place (a move, another job, a plan that was done or given up, a
  wish that was changed). Name the fact that holds now first; it must have been said last.
- CONTRADICTION: they cannot both be so at the same time, and nothing tells which is.
- KEEP_BOTH: anything else: different events, people, numbers, dates or names; one denied and the other not about the
  same; both can be so. What was liked, owned or done before may go on beside the new. When in doubt, KEEP_BOTH; of a cluster that is
  denied, CONTRADICTION, or SUPERSEDES if one of them is plainly the newer state of things."""

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "clusters": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "cluster": {"type": "integer"},
                    "decision": {"type": "string", "enum": [each.value for each in Decision]},
                    "facts": {"type": "array", "items": {"type": "integer"}},
                },
                "required": ["cluster", "decision", "facts"],
            },
        }
    },
    "required": ["clusters"],
}


def prompt(clusters: Sequence[MergeCluster]) -> Prompt:
    """Return the prompt about one person's clusters."""
    most = 100 + MOST_TOKENS * len(clusters)
    return Prompt(VERSION, SYSTEM, fenced(records_of(clusters)), SCHEMA, most)


def records_of(clusters: Sequence[MergeCluster]) -> list[dict[str, Any]]:
    """Return the records for a model: neither ids nor names other than those in the statements."""
    shown = []
    for number, cluster in enumerate(clusters, 1):
        for n, fact in enumerate(cluster.facts, 1):
            record: dict[str, Any] = {
                "cluster": number,
                "n": n,
                "text": fact.statement,
                "kind": fact.kind.value,
                "confidence": round(fact.confidence, 2),
                "said": (fact.said.sent_at if fact.said else fact.last_evidence_at).strftime("%Y-%m-%d"),
            }
            if fact.event_at is not None:
                record["at"] = fact.event_at.strftime("%Y-%m-%d")
            if cluster.contradictory:
                record["denied"] = True
            shown.append(record)
    return shown


def read(answer: str, clusters: Sequence[MergeCluster]) -> tuple[MergeVerdict, ...]:
    """Return the verdict on each cluster; a cluster with two verdicts stays."""
    said = told(answer)
    content = said.content if said is not None and isinstance(said.content, dict) else {}
    # What stands last in an answer that was cut may be half.
    each_said = items(content.get("clusters"))
    whole = each_said[:-1] if said is not None and said.cut else each_said
    found: dict[str, list[MergeVerdict]] = {}
    for each in whole:
        verdict = _verdict(each, clusters)
        if verdict is not None:
            found.setdefault(verdict.cluster_id, []).append(verdict)
    return tuple(verdicts[0] for verdicts in found.values() if len(verdicts) == 1)


def _verdict(said: Any, clusters: Sequence[MergeCluster]) -> MergeVerdict | None:
    if not isinstance(said, dict) or said.get("decision") not in [*Decision]:
        return None
    number: Any = said.get("cluster")
    if not _is_number(number, len(clusters)):
        return None
    cluster = clusters[number - 1]
    numbers = items(said.get("facts"))
    if len(set(map(repr, numbers))) < 2 or not all(_is_number(each, len(cluster.facts)) for each in numbers):
        return None
    ids = tuple(dict.fromkeys(cluster.facts[each - 1].fact_id for each in numbers))
    return MergeVerdict(cluster.cluster_id, Decision(said["decision"]), ids)


def _is_number(value: Any, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most
