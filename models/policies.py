"""``memory.policies.v1``: what a tenant wants noted, what never, and for how long."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from hashlib import sha256
from typing import Annotated

import msgspec

from models.errors import ConfigurationError
from models.messages import Identifier, Timestamp
from models.patterns import MOST_PATTERNS, compiled
from models.statements import ATTRIBUTES, Kind

#: How long notes of a kind are kept: hours or days ("36h", "90d").
Duration = Annotated[str, msgspec.Meta(pattern="^[1-9][0-9]{0,4}[hd]$")]

#: Characters of the instructions to the extractor.
MOST_INSTRUCTIONS = 2000

#: The attribute of a note in one of the tenant's own categories: ``category/project``.
CATEGORY = "category"

_DURATION = re.compile(r"([1-9][0-9]{0,4})([hd])")

#: Names that a model is shown for other things.
_TAKEN = frozenset(ATTRIBUTES) | {"other"}


class Category(msgspec.Struct, frozen=True, kw_only=True):
    """A category of notes: its name, and a line that says what belongs in it."""

    name: Annotated[str, msgspec.Meta(pattern="^[a-z][a-z0-9_-]{0,39}$")]
    description: Annotated[str, msgspec.Meta(min_length=1, max_length=200, pattern=r"^[^\r\n]*$")]


class NeverKept(msgspec.Struct, frozen=True, kw_only=True):
    """Words and patterns that no note may mention.

    ``topics``: words and phrases, compared as whole words without regard to case.  ``patterns``: regular
    expressions of RE2.
    """

    topics: Annotated[
        tuple[Annotated[str, msgspec.Meta(min_length=1, max_length=100)], ...], msgspec.Meta(max_length=200)
    ] = ()
    patterns: Annotated[tuple[str, ...], msgspec.Meta(max_length=MOST_PATTERNS)] = ()


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """Rules of a policy.

    ``instructions`` and ``categories`` are shown to a language model that extracts; the built-in extractor
    knows neither.  ``expires_after``: for how long a note of a kind is shown after its latest evidence; of
    ``relation``, what the graph holds.
    """

    instructions: Annotated[str, msgspec.Meta(max_length=MOST_INSTRUCTIONS)] = ""
    categories: Annotated[tuple[Category, ...], msgspec.Meta(max_length=20)] = ()
    never_kept: NeverKept = NeverKept()
    expires_after: Annotated[
        dict[Kind, Duration], msgspec.Meta(extra_json_schema={"propertyNames": {"enum": sorted(Kind)}})
    ] = {}


class Policy(Rules, frozen=True, kw_only=True):
    """Policy of a tenant.  Key: ``tenant_id``, compacted; without a value there is none."""

    tenant_id: Identifier
    set_at: Timestamp


class GivenCategory(Category, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A category as somebody gives it: a name that is misspelt is refused."""


class GivenNeverKept(NeverKept, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Words and patterns as somebody gives them: a name that is misspelt is refused."""


class GivenRules(Rules, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rules as somebody gives them; those that are left out are none.  A name that is misspelt is refused."""

    categories: Annotated[tuple[GivenCategory, ...], msgspec.Meta(max_length=20)] = ()
    never_kept: GivenNeverKept = GivenNeverKept()

    def rules(self) -> Rules:
        """Return the rules as the topic has them."""
        return msgspec.convert(msgspec.to_builtins(self), Rules)


#: Rules of a tenant without a policy.
NO_RULES = Rules()


def rules_of(policy: Rules | None) -> Rules:
    """Return the rules alone, whoever set them and when."""
    if policy is None:
        return NO_RULES
    return Rules(**{name: getattr(policy, name) for name in Rules.__struct_fields__})


def rules_hash(rules: Rules) -> str:
    """Return 16 hexadecimal digits that differ where the rules do; ``""`` for those of no policy."""
    if rules == NO_RULES:
        return ""
    return sha256(msgspec.json.encode(rules, order="sorted")).hexdigest()[:16]


def lifetimes(rules: Rules) -> Mapping[Kind, timedelta]:
    """Return for how long notes of each kind are shown; those that are not named for ever."""
    found = {}
    for kind, text in rules.expires_after.items():
        if match := _DURATION.fullmatch(text):
            number = int(match[1])
            found[kind] = timedelta(hours=number) if match[2] == "h" else timedelta(days=number)
    return found


def check(rules: Rules) -> None:
    """Refuse rules that cannot be followed.

    Raises:
        ConfigurationError: a pattern is no regular expression or matches the empty text, a topic has no letter
            or digit, a category's name is taken or there twice.
    """
    compiled(rules.never_kept.patterns)
    for topic in rules.never_kept.topics:
        if not any(map(str.isalnum, topic)):
            raise ConfigurationError(
                f"the topic {topic!r} has no letter and no digit: write a word or a phrase"
            )
    names = [each.name for each in rules.categories]
    for name in names:
        if name in _TAKEN:
            raise ConfigurationError(f"the category {name!r} is there already: choose another name")
        if names.count(name) > 1:
            raise ConfigurationError(f"the category {name!r} is named twice: leave one of them out")
