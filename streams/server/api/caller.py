"""Caller of the API and its rights: every request is narrowed to them before a handler sees it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from models.messages import DEFAULT_TENANT
from streams.server.api.problems import NOT_ALLOWED, Problem


class Scope(StrEnum):
    """Scope that an operation needs.

    ``none``: no token, for it tells nothing of anybody; ``self``: any token, for it is about the token itself.
    """

    NONE = "none"
    SELF = "self"
    READ = "read"
    WRITE = "write"
    CHAT = "chat"
    OPERATE = "operate"


def _always() -> bool:
    return True


@dataclass(frozen=True)
class Caller:
    """Somebody who asks.  ``tenant_id`` ``None``: any; ``user_id`` ``None``: every person of the tenant.

    ``token``: which token it is (its short id); ``""``: none was needed.  ``holds`` tells whether the caller
    would be let in now, too: a token is revoked, or ends, while what was asked with it is still being answered.
    """

    scopes: frozenset[Scope] = frozenset(Scope)
    tenant_id: str | None = DEFAULT_TENANT
    user_id: str | None = None
    token: str = ""
    holds: Callable[[], bool] = field(default=_always, compare=False, repr=False)

    def check_scope(self, scope: Scope) -> None:
        """Raise a :class:`Problem` (403) unless the caller may do this."""
        if scope not in (Scope.NONE, Scope.SELF) and scope not in self.scopes:
            has = ", ".join(sorted(self.scopes)) or "none"
            raise Problem(NOT_ALLOWED, f"This needs the scope {scope}, and the token has {has}.")

    def narrow(self, given: dict[str, Any], fields: Collection[str]) -> dict[str, Any]:
        """Return the parameters with the caller's own tenant and person, where there are such fields.

        Raises:
            Problem: 403; another tenant's or another person's was asked for, or something of several people's.
        """
        narrowed = dict(given)
        if "tenant_id" in fields and self.tenant_id is not None:
            self._check("tenant", self.tenant_id, narrowed.setdefault("tenant_id", self.tenant_id))
        if "user_id" in fields and self.user_id is not None:
            self._check("person", self.user_id, narrowed.setdefault("user_id", self.user_id))
        return narrowed

    def check_person(self, fields: Collection[str]) -> None:
        """Raise a :class:`Problem` (403) if the caller is for one person, and this is about several."""
        if self.user_id is not None and "user_id" not in fields:
            raise Problem(
                NOT_ALLOWED, f"The token is for {self.user_id} alone, and this is about others as well."
            )

    def _check(self, what: str, own: str, asked: object) -> None:
        # A client may have an integer for an id: it is its digits.
        if asked == own or (type(asked) is int and str(asked) == own):
            return
        if self.token:
            raise Problem(
                NOT_ALLOWED, f"The token is for the {what} {own}, and another one was named: leave it out."
            )
        raise Problem(
            NOT_ALLOWED,
            f"Only the tenant {own} is answered for: the API cannot tell who asks. Make a token "
            "(`switchboard token create`), or, if something in front of it authenticates, start the service "
            "with SWITCHBOARD_API_AUTH=off.",
        )
