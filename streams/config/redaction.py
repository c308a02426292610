"""Secrets, kept out of whatever leaves the process: logs, answers, health, error texts, tracebacks, listings.

Two guards.  What shows a URL shows it through :func:`without_credentials`.  And since the errors of libraries
repeat what they were given, everything that goes out passes through :func:`redacted`, which replaces the
secrets that :func:`keep_secret` was told of, wherever they stand.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import parse_qsl, quote, unquote

MASK = "***"

#: A shorter one may be a word ("redis", "qdrant"), and would be replaced wherever that is said; only the places
#: that are known to hold it hide it.
SHORTEST = 8

_secrets: set[str] = set()
_pattern: re.Pattern[str] | None = None


def keep_secret(values: Iterable[str]) -> None:
    """Replace these values in everything that goes out, for as long as the process lives."""
    global _pattern
    for value in values:
        forms = {
            value,
            unquote(value),
            quote(value, safe=""),
            quote(value),
            value.encode("unicode_escape").decode(),
        }
        _secrets.update(form for form in forms if len(form) >= SHORTEST)
    if _secrets:
        # the longest first: one may be the beginning of another
        _pattern = re.compile("|".join(map(re.escape, sorted(_secrets, key=len, reverse=True))))


def forget_secrets() -> None:
    """Forget every secret: for tests, which have other ones each."""
    global _pattern
    _secrets.clear()
    _pattern = None


def redacted(text: str) -> str:
    """Return ``text`` without the secrets of this process."""
    return text if _pattern is None else _pattern.sub(MASK, text)


def without_credentials(url: str) -> str:
    """Return a URL without its user and password and without the values of its query.

    Also of what is no proper URL: a password may hold characters that end its place (``:pa/ss@``, ``:pa?ss@``).
    """
    scheme, separator, rest = url.partition("://")
    if not separator:
        scheme, rest = "", url
    _, at, rest = rest.rpartition("@")
    place, mark, query = rest.partition("?")
    if mark:
        names = [pair.partition("=")[0] for pair in re.split("[&;]", query)]
        query = "&".join(f"{name}={MASK}" for name in names)
    return f"{scheme}{separator}{MASK + '@' if at else ''}{place}{mark}{query}"


def credentials_of(url: str) -> list[str]:
    """Return the secrets of a URL: user and password together, the password, the values of the query."""
    _, separator, rest = url.partition("://")
    userinfo, at, rest = (rest if separator else url).rpartition("@")
    found = []
    if at:
        found += [userinfo, userinfo.partition(":")[2]]
    found += [value for _, value in parse_qsl(rest.partition("?")[2])]
    found += [pair.partition("=")[2] for pair in re.split("[&;]", rest.partition("?")[2])]
    return [value for value in found if value]
