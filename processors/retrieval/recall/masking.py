"""Masking of secrets in a text: card numbers, keys, tokens, patterns of one's own.

In linear time, whatever the text: the patterns below begin where a word begins and never look back, and those
of one's own are RE2's, which has no others.  Precision before recall: what is masked by mistake cannot be
found again, so a shape that others share (40 hexadecimal digits are a commit more often than a key) is masked
only where its prefix or what stands before it says what it is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from models.patterns import compiled
from processors.retrieval.recall import passwords
from processors.retrieval.recall.cards import card_numbers
from processors.retrieval.recall.widths import folded

#: Returns a text without secrets, and how many of each kind there were.
Mask = Callable[[str], tuple[str, Counter[str]]]


class _Shape(NamedTuple):
    """A secret's shape: its name, what a text with it holds (one of these), how it looks, what else it must be.

    A group named ``secret`` is what is masked, if not all of it is.
    """

    kind: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    is_one: Callable[[str], bool] = lambda secret: True


def _shape(
    kind: str, hints: str, pattern: str, is_one: Callable[[str], bool] = lambda secret: True, flags: int = 0
) -> _Shape:
    # It begins where no word goes on, so that each place of a text begins one match at most.
    return _Shape(kind, tuple(hints.split()), re.compile(r"(?<![A-Za-z0-9_-])" + pattern, flags), is_one)


def _is_random(secret: str) -> bool:
    """Say whether it looks made by a machine: digits and letters, and one piece of sixteen without a hyphen."""
    has_digit = any(character.isdigit() for character in secret)
    has_letter = any(character.isalpha() for character in secret)
    return has_digit and has_letter and any(len(piece) >= 16 for piece in re.split("[-_.]", secret))


def _is_mixed(secret: str) -> bool:
    """Say whether it is no word: it has digits and letters."""
    return any(map(str.isdigit, secret)) and any(map(str.isalpha, secret))


_PASSWORD_HINTS = "assw ASSW assphrase PASSPHRASE pwd PWD"
_PASSWORD = (
    r"(?P<secret>[^\s\"'`“”,;<>(){}\[\]]{5,1023}[^\s\"'`“”,;<>(){}\[\].!?:])"  # a sentence's end is none of it
)

_SHAPES = (
    _shape(
        "json web token", "eyJ", r"eyJ[A-Za-z0-9_-]{5,}(?:\.[A-Za-z0-9_-]*){2,4}", lambda jwt: len(jwt) > 40
    ),
    _shape("aws key", "AKIA ASIA ABIA ACCA", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _shape(
        "aws key",
        "ecret ECRET",
        r"(?:aws_?)?secret_?(?:access_?)?key[\"']?\s{0,5}[:=]\s{0,5}[\"']?(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
        flags=re.IGNORECASE,
    ),
    _shape("github token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{36,255}"),
    _shape("github token", "github_pat_", r"github_pat_[A-Za-z0-9_]{22,255}"),
    _shape("gitlab token", "glpat-", r"glpat-[A-Za-z0-9_-]{20,255}"),
    _shape(
        "slack token",
        "xox xapp",
        r"(?:xox[abceoprs]|xapp)-[A-Za-z0-9-]{10,255}",
        lambda t: any(map(str.isdigit, t)),
    ),
    _shape(
        "slack token",
        "hooks.slack.com",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9/_-]{20,255})",
    ),
    _shape("stripe key", "_live_ _test_", r"[rs]k_(?:live|test)_[A-Za-z0-9]{10,255}"),
    _shape("stripe key", "whsec_", r"whsec_[A-Za-z0-9+/]{24,255}={0,2}"),
    _shape("google key", "AIza", r"AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"),
    _shape("google key", "ya29.", r"ya29\.[A-Za-z0-9_-]{20,2048}"),
    _shape("google key", "GOCSPX-", r"GOCSPX-[A-Za-z0-9_-]{28}(?![A-Za-z0-9_-])"),
    _shape("api key", "sk-", r"sk-[A-Za-z0-9_-]{20,255}", _is_random),
    _shape("npm token", "npm_", r"npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])"),
    _shape("pypi token", "pypi-", r"pypi-AgE[A-Za-z0-9_-]{50,2048}"),
    _shape("hugging face token", "hf_", r"hf_[A-Za-z0-9]{30,255}"),
    _shape("sendgrid key", "SG.", r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
    _shape(
        "bearer token",
        "earer EARER",
        r"bearer[ \t]{1,5}(?P<secret>[A-Za-z0-9._~+/-]{20,8192}={0,2})",
        lambda header: any(map(str.isdigit, header)),
        re.IGNORECASE,
    ),
    _shape(
        "password",
        _PASSWORD_HINTS,
        # "db_password=", "dbPassword: ", "--password=".
        r"-{0,2}(?:[a-z0-9]{1,32}[_-]){0,3}[a-z0-9]{0,32}?(?:password|passwd|passphrase|pwd)[\"']?\s{0,5}[:=]\s{0,5}[\"']?"
        # "PWD=/home/ada2" is where somebody is.
        rf"(?![\w.]{{1,128}}\(|/){_PASSWORD}",
        _is_mixed,
        re.IGNORECASE,
    ),
    _shape(
        "password",
        "PASSW",
        # What a variable of an environment is set to is one without digits, too, unless it names another.
        r"(?:[A-Z0-9]{1,32}_){1,3}PASSW(?:OR)?D=[\"']?(?P<secret>[^\s\"'`,;<>(){}\[\].$%/\\*]{6,1023})(?![\w.(%])",
    ),
    _shape(
        "password",
        _PASSWORD_HINTS,
        # "My password is ...", "the password for our wifi was: ...".
        r"(?:password|passwd|passphrase)(?:\s(?:for|of|to)(?:\s[\w'’-]{1,32}){1,4}?)?\s{1,5}(?:is|was)\s{0,2}:?\s{0,5}[\"'“‘]?"
        # How it is kept, or how long it is or holds.
        r"(?!(?:base|sha|md|utf|argon|aes|rsa)-?\d|\d{1,4}-?(?:char|letter|digit|word|bit|day|week|month|year|hour|minute))"
        r"(?![\w/]{1,16}(?:-[\w/]{1,16}){0,2}-(?:hashed|salted|encrypted|encoded|protected|generated|derived|managed|"
        r"based|related|compliant|specific|only|like)(?![\w-]))"
        rf"{_PASSWORD}",
        _is_mixed,
        re.IGNORECASE,
    ),
)

_KEY_BEGINS = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_KEY_ENDS = re.compile(r"-----END (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----")

#: What a key that does not end consists of: lines of base64, and what may stand before them.
_KEY_BODY = re.compile(
    r"(?:[ \t\r\n]|\\[rn]|[A-Za-z0-9+/=]{32,}|[A-Za-z0-9+/=]+(?=[\r\n\\]|\Z)|[A-Za-z-]{1,32}:[^\r\n]{0,200})*"
)


class Masker:
    """Takes secrets out of texts.

    ``patterns`` are regular expressions of one's own (RE2's syntax); what they match is masked, too.

    Raises:
        ConfigurationError: as :func:`models.patterns.compiled`.
    """

    def __init__(self, patterns: Sequence[str] = ()) -> None:
        self._patterns = compiled(patterns)

    def mask(self, text: str) -> tuple[str, Counter[str]]:
        """Return ``text`` with ``[masked: <kind>]`` for each secret, and how many of each kind there were."""
        found: Counter[str] = Counter()
        work = _Text(text, folded(text), found)
        if "PRIVATE KEY" in work.folded:
            work.cut(_keys(work.folded), "private key")
        for shape in _SHAPES:
            if _has_any(work.folded, shape.hints):
                work.cut(_secrets(work.folded, shape), shape.kind)
        if passwords.may_be_in(work.folded):
            for pattern in passwords.PATTERNS:
                work.cut(_secrets(work.folded, _Shape("password", (), pattern, _is_mixed)), "password")
        work.cut(card_numbers(work.folded), "card number")
        text = work.shown
        for pattern in self._patterns:
            text, count = pattern.subn(lambda match: placeholder("own pattern"), text)
            if count:
                found["own pattern"] += count
        return text, found


class _Text:
    """A text, and the same folded (:mod:`.widths`): it is looked for in one and cut out of both."""

    def __init__(self, shown: str, folded: str, found: Counter[str]) -> None:
        self.shown = shown
        self.folded = folded
        self._found = found

    def cut(self, places: Iterable[tuple[int, int]], kind: str) -> None:
        """Put a placeholder in each place; they are in order and do not overlap."""
        places = list(places)
        if not places:
            return
        self._found[kind] += len(places)
        folded = _cut(self.folded, places, kind)
        self.shown = folded if self.shown is self.folded else _cut(self.shown, places, kind)
        self.folded = folded


def _has_any(text: str, hints: tuple[str, ...]) -> bool:
    for hint in hints:  # noqa: SIM110  # for each message and shape: a generator takes twice as long
        if hint in text:
            return True
    return False


def _cut(text: str, places: Iterable[tuple[int, int]], kind: str) -> str:
    parts, at = [], 0
    for begin, end in places:
        parts += [text[at:begin], placeholder(kind)]
        at = end
    return "".join([*parts, text[at:]])


def masking(patterns: Sequence[str] = (), *, off: bool = False) -> Mask:
    """Return the masker of secrets; ``off``: kinds to leave in.  Raises as :class:`Masker`."""
    return _unmasked if off else Masker(patterns).mask


def _unmasked(text: str) -> tuple[str, Counter[str]]:
    return text, Counter()


_PLACEHOLDER = "[masked: "


def placeholder(kind: str) -> str:
    """Return the placeholder of a kind of secret."""
    return f"{_PLACEHOLDER}{kind}]"


def has_masked(text: str) -> bool:
    """Say whether something stands in a text for a secret."""
    return _PLACEHOLDER in text


def _secrets(text: str, shape: _Shape) -> Iterator[tuple[int, int]]:
    group = "secret" if "secret" in shape.pattern.groupindex else 0
    for match in shape.pattern.finditer(text):
        if shape.is_one(match[group]):
            yield match.span(group)


def _keys(text: str) -> Iterator[tuple[int, int]]:
    at = 0
    ends = [match.end() for match in _KEY_ENDS.finditer(text)]
    ends.reverse()
    for match in _KEY_BEGINS.finditer(text):
        if match.start() < at:
            continue
        while ends and ends[-1] < match.end():
            ends.pop()
        at = ends[-1] if ends else _body_end(text, match.end())
        yield match.start(), at


def _body_end(text: str, begin: int) -> int:
    body = _KEY_BODY.match(text, begin)
    return body.end() if body else begin
