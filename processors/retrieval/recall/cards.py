"""Payment card numbers: which numbers are some, by issuer, length and check digit (ISO/IEC 7812-1)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

#: Leading digits, from and to (inclusive, of one length), and how many digits the numbers have.
_ISSUERS: tuple[tuple[str, str, tuple[int, ...]], ...] = (
    ("4", "4", (13, 16, 19)),  # Visa
    ("51", "55", (16,)),  # Mastercard
    ("2221", "2720", (16,)),
    ("34", "34", (15,)),  # American Express
    ("37", "37", (15,)),
    ("6011", "6011", (16, 17, 18, 19)),  # Discover
    ("622126", "622925", (16, 17, 18, 19)),
    ("644", "649", (16, 17, 18, 19)),
    ("65", "65", (16, 17, 18, 19)),
    ("3528", "3589", (16, 17, 18, 19)),  # JCB
    ("300", "305", (14, 16)),  # Diners Club
    ("3095", "3095", (14, 16)),
    ("36", "36", (14, 16)),
    ("38", "39", (14, 16)),
    ("62", "62", (16, 17, 18, 19)),  # UnionPay
    ("81", "81", (16,)),
    ("60", "60", (16,)),  # RuPay
    ("82", "82", (16,)),
    ("508", "508", (16,)),
    ("2200", "2204", (16, 17, 18, 19)),  # Mir
    ("5018", "5018", (13, 14, 15, 16, 17, 18, 19)),  # Maestro
    ("5020", "5020", (13, 14, 15, 16, 17, 18, 19)),
    ("5038", "5038", (13, 14, 15, 16, 17, 18, 19)),
    ("5893", "5893", (13, 14, 15, 16, 17, 18, 19)),
    ("6304", "6304", (13, 14, 15, 16, 17, 18, 19)),
    ("6759", "6759", (13, 14, 15, 16, 17, 18, 19)),
    ("6761", "6763", (13, 14, 15, 16, 17, 18, 19)),
)

SHORTEST, LONGEST = 13, 19

_DOUBLED = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)


def is_card_number(digits: str) -> bool:
    """Say whether ``digits`` (ASCII digits only) are a card number: of an issuer, of its length, with its check
    digit."""
    return SHORTEST <= len(digits) <= LONGEST and _has_issuer(digits) and passes_luhn(digits)


def passes_luhn(digits: str) -> bool:
    """Say whether the last digit is the check digit of the others; one in ten numbers passes by chance."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = ord(digit) - 48
        total += _DOUBLED[value] if place % 2 else value
    return not total % 10


def _has_issuer(digits: str) -> bool:
    return any(
        first <= digits[: len(first)] <= last and len(digits) in lengths for first, last, lengths in _ISSUERS
    )


#: Digits in groups, each parted from the next by one character.
_RUN = re.compile(r"[0-9]+(?:[ \u00a0\u202f.\u2010\u2011\u2013\u2212\u30fc-][0-9]+)*")

#: How people write the number in groups.
_GROUPINGS = frozenset(
    {
        (4, 4, 4, 4),
        (4, 6, 5),
        (4, 6, 4),
        (4, 5, 6),
        (4, 4, 5),
        (4, 4, 4, 1),
        (4, 3, 3, 3),
        (4, 4, 4, 3),
        (4, 4, 4, 4, 1),
        (4, 4, 4, 4, 2),
        (4, 4, 4, 4, 3),
        (8, 8),
        (6, 13),
    }
)
_MOST_GROUPS = 5
_DIGITS = re.compile(r"[0-9]+")


def card_numbers(text: str) -> Iterator[tuple[int, int]]:
    """Yield from where to where (exclusive) a card number stands in ``text``, in order; in linear time.

    Digits are ASCII (:func:`processors.retrieval.recall.widths.folded`).

    None are: digits inside a word or a decimal fraction, what begins with ``+`` (a telephone number), an IBAN,
    and digits in groups in which nobody writes a card number.
    """
    for run in _RUN.finditer(text):
        begin, end = run.span()
        if end - begin >= SHORTEST and not _is_iban(text, begin):
            yield from _in_run(text, begin, end)


def _in_run(text: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
    groups = [(begin + each.start(), begin + each.end()) for each in _DIGITS.finditer(text[begin:end])]
    first = 0
    while first < len(groups):
        length = 1
        if not _is_bound(text, groups[first][0] - 1, -1):
            for count in range(min(_MOST_GROUPS, len(groups) - first), 0, -1):
                if _is_number(text, groups[first : first + count]):
                    yield groups[first][0], groups[first + count - 1][1]
                    length = count
                    break
        first += length


def _is_number(text: str, groups: Sequence[tuple[int, int]]) -> bool:
    digits = "".join([text[begin:end] for begin, end in groups])
    if not SHORTEST <= len(digits) <= LONGEST or _is_bound(text, groups[-1][1], 1):
        return False
    if len(groups) > 1:
        if tuple([end - begin for begin, end in groups]) not in _GROUPINGS:
            return False
        if len({text[end] for _, end in groups[:-1]}) > 1:
            return False
    return is_card_number(digits)


def _is_bound(text: str, at: int, step: int) -> bool:
    """Say whether what stands at ``at``, beside digits, belongs to them: a letter, a sign, a decimal point."""
    if not 0 <= at < len(text):
        return False
    beside = text[at]
    if _is_of_word(beside) or beside == "_" or (beside == "+" and step < 0):
        return True
    return beside in ".," and 0 <= at + step < len(text) and text[at + step].isdecimal()


def _is_of_word(sign: str) -> bool:
    """Say whether digits beside it are of the same word: in other scripts no space parts the two."""
    if sign.isascii():
        return sign.isalnum()
    return sign.isalnum() and unicodedata.name(sign, "").startswith("LATIN ")


def _is_iban(text: str, begin: int) -> bool:
    """Say whether the digits at ``begin`` are the check digits of an IBAN: ``DE89 3704 ...``."""
    country = text[max(0, begin - 2) : begin]
    if len(country) < 2 or not (country.isascii() and country.isupper()):
        return False
    return not text[begin + 2 : begin + 3].isdecimal()
