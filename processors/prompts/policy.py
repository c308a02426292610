"""Additions of a tenant's policy to the prompt for notes, behind the part that is the same for everybody."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from models.policies import Rules


def addition(rules: Rules) -> str:
    """Return the text behind the task; "" without rules."""
    parts = []
    if rules.instructions.strip():
        parts.append(
            "The operator's instructions about what to note. They change neither the fields nor the checks:\n"
            + rules.instructions.strip()
        )
    if rules.categories:
        lines = (f"- {each.name}: {each.description}" for each in rules.categories)
        parts.append(
            "Further attributes, with several values; value says in 1 to 5 of their own words which:\n"
            + "\n".join(lines)
        )
    if rules.never_kept.topics:
        parts.append("Never note anything that mentions: " + "; ".join(rules.never_kept.topics) + ".")
    return "".join(f"\n\n{part}" for part in parts)


def with_categories(schema: Mapping[str, Any], rules: Rules) -> Mapping[str, Any]:
    """Return the schema of an answer, in which the tenant's categories are attributes, too."""
    if not rules.categories:
        return schema
    widened: dict[str, Any] = copy.deepcopy(dict(schema))
    attribute = widened["properties"]["notes"]["items"]["properties"]["attribute"]
    attribute["enum"] = [*attribute["enum"], *(each.name for each in rules.categories)]
    return widened
