"""Pairs of sentences that differ in one thing that matters, made by rule.

English pairs are made from the sentences of given answers, one rule after the other; those of five other
languages from frames whose places are filled in two ways.
"""

from __future__ import annotations

import random
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple


class Pair(NamedTuple):
    """Two sentences, the language, and what differs."""

    language: str
    rule: str
    first: str
    second: str


def _swap(pattern: str, values: dict[str, str]) -> Callable[[str, random.Random], str]:
    """Return a rule that replaces one of the words that ``values`` names."""
    found = re.compile(pattern.format("|".join(map(re.escape, values))))

    def change(sentence: str, pick: random.Random) -> str:
        hits = list(found.finditer(sentence))
        if not hits:
            return ""
        hit = pick.choice(hits)
        return sentence[: hit.start(1)] + values[hit[1]] + sentence[hit.end(1) :]

    return change


def _number(sentence: str, pick: random.Random) -> str:
    hits = list(re.finditer(r"\d+", sentence))
    if not hits:
        return ""
    hit = pick.choice(hits)
    return sentence[: hit.start()] + str(int(hit[0]) + 1) + sentence[hit.end() :]


def _letter(sentence: str, pick: random.Random) -> str:
    hits = list(re.finditer(r"(?<=\s)[B-HJ-Y](?=[\s.,)])", sentence))
    if not hits:
        return ""
    at = pick.choice(hits).start()
    return sentence[:at] + chr(ord(sentence[at]) + 1) + sentence[at + 1 :]


_NAME = re.compile(r"(?<=[a-z] )[A-Z][a-z]{3,}(?=[ .,])")


def _name(sentence: str, pick: random.Random) -> str:
    hits = list(_NAME.finditer(sentence))
    if not hits:
        return ""
    hit = pick.choice(hits)
    return sentence[: hit.start()] + hit[0][::-1].capitalize() + sentence[hit.end() :]


_UNITS = {
    "ms": "s", "MB": "Mb", "GB": "MB", "minutes": "seconds", "hours": "minutes", "days": "hours", "%": "‰",
    "weeks": "days", "months": "weeks", "years": "months", "units": "cm", "degrees": "radians", "seconds": "ms",
}  # fmt: skip
_VERBS = {"is": "was", "are": "were", "has": "had", "have": "had", "will": "would", "can": "could"}
_SYMBOLS = {"=": "≠", "+": "-", "<": ">", ">": "<", "$": "€", "/": "|", "&": "+", "#": "@"}
_AUXILIARY = {word: f"{word} not" for word in ("is", "are", "can", "will", "should", "must", "has", "may")}

#: Each changes one thing in a sentence, or returns "" if there is nothing to change.
RULES: dict[str, Callable[[str, random.Random], str]] = {
    "number": _number,
    "unit": _swap(r"(?<=\d )({})(?!\w)", _UNITS),
    "letter": _letter,
    "negation": _swap(r"(?<=[a-z] )({})(?= [a-z])", _AUXILIARY),
    "name": _name,
    "tense": _swap(r"(?<=[a-z] )({})(?= [a-z])", _VERBS),
    "symbol": _swap(r"(?<=[\w ])({})(?=[\w ])", _SYMBOLS),
}

_PLACES = ("letter", "name", "tense", "symbol", "number", "negation", "unit")

#: By language: frames, and two fillings for each of their places ("_": a space; a negation may be absent).
FRAMES: dict[str, list[tuple[str, str]]] = {
    "German": [
        (
            "Zug {letter} nach {name} {tense} bei {symbol}5 Grad um {number} Uhr {negation}ab, in 90 {unit}.",
            "B|D Bonn|Köln fährt|fuhr +|- 9|10 |nicht_ Minuten|Sekunden",
        ),
        (
            "In Halle {letter} {tense} {name} für {symbol}3 je Tag {negation}mehr als {number} {unit} lagern.",
            "A|C Anna|Hanna darf|durfte $|€ 40|14 |nie_ kg|g",
        ),
    ],
    "Spanish": [
        (
            "El tren {letter} a {name} {negation}{tense} con {symbol}5 a las {number} y tarda 90 {unit}.",
            "B|D Lugo|Vigo sale|salió +|- 9|10 |no_ minutos|segundos",
        ),
        (
            "En la sala {letter}, {name} {negation}{tense} por {symbol}3 al día más de {number} {unit} de pan.",
            "A|C Ana|Eva guarda|guardaba $|€ 40|14 |nunca_ kg|g",
        ),
    ],
    "Russian": [
        (
            "Поезд {letter} в город {name} {negation}{tense} при {symbol}5 в {number}, путь 90 {unit}.",
            "Б|Д Тверь|Пермь уходит|уходил +|- 9|10 |не_ минут|секунд",
        ),
        (
            "В зале {letter} {name} {negation}{tense} за {symbol}3 в день больше {number} {unit} муки.",
            "А|В Анна|Инна хранит|хранила $|€ 40|14 |никогда_ кг|г",
        ),
    ],
    "Arabic": [
        (
            "القطار {letter} إلى {name} {negation}{tense} عند {symbol}5 في الساعة {number} ويستغرق 90 {unit}.",
            "ب|د بغداد|دمشق يغادر|غادر +|- 9|10 |لا_ دقيقة|ثانية",
        ),
        (
            "في القاعة {letter} {name} {negation}{tense} مقابل {symbol}3 في اليوم أكثر من {number} {unit}.",
            "أ|ج ليلى|سلمى تحفظ|حفظت $|€ ٤٠|١٤ |لا_ كغ|غ",
        ),
    ],
    "Chinese": [
        (
            "开往{name}的{letter}列车在{symbol}5度时{number}点{negation}{tense}行程九十{unit}。",
            "B|D 北京|南京 出发|出发了 +|- 9|10 |不 分钟|秒钟",
        ),
        (
            "{name}在{letter}号房间{negation}{tense}每天{symbol}3存放{number}{unit}面粉。",
            "A|C 小红|小明 可以|可以过 $|€ 四十|十四 |不 公斤|克",
        ),
    ],
}


def from_frames() -> Iterator[Pair]:
    """Yield a pair for each place of each frame."""
    for language, frames in FRAMES.items():
        for frame, fillings in frames:
            pairs = [each.replace("_", " ").split("|") for each in fillings.split(" ")]
            usual = {place: first for place, (first, _) in zip(_PLACES, pairs, strict=True)}
            for place, (_, other) in zip(_PLACES, pairs, strict=True):
                yield Pair(language, place, frame.format(**usual), frame.format(**{**usual, place: other}))


def from_sentences(sentences: Iterable[str], number: int, pick: random.Random) -> Iterator[Pair]:
    """Yield so many pairs, one rule after the other, each from a sentence of its own."""
    left, made = list(dict.fromkeys(sentences)), 0
    pick.shuffle(left)
    rules = deque(RULES.items())
    while rules and made < number:
        rule, change = rules.popleft()
        for at, sentence in enumerate(left):
            changed = change(sentence, pick)
            if changed and changed != sentence:
                yield Pair("English", rule, left.pop(at), changed)
                made += 1
                rules.append((rule, change))
                break
