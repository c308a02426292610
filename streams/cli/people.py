"""Names of people as somebody types them: which one was meant."""

from __future__ import annotations

from difflib import get_close_matches

import msgspec

from models.errors import SwitchboardError
from streams.cli import recall_api
from streams.cli.output import UNKNOWN, printable
from streams.config.settings import Settings

#: Among how many people a name is looked for; each costs a count of facts.
_MOST = 200


class _Person(msgspec.Struct):
    user_id: str


class _People(msgspec.Struct):
    people: list[_Person]


async def unknown(settings: Settings, user: str, tenant: str) -> str:
    """Return the sentence that nobody of this name is known, with the name that is nearest to it."""
    said = UNKNOWN.format(user=printable(user), tenant=printable(tenant))
    near = await _nearest(settings, user, tenant)
    return f"{said} Did you mean {printable(near)}?" if near else said


async def _nearest(settings: Settings, user: str, tenant: str) -> str:
    try:
        found = await recall_api.get(settings, "/v1/people", {"tenant_id": tenant, "limit": _MOST}, _People)
    except SwitchboardError:
        return ""  # it is a hint: who asked is told that nobody is known, whatever answers
    folded = {each.user_id.casefold(): each.user_id for each in ([] if found is None else found.people)}
    near = get_close_matches(user.casefold(), folded, n=1, cutoff=0.75)
    return folded[near[0]] if near else ""
