"""Unknown names in a question.

"Where does Pia live?" is not answered by where somebody else lives, however near the two are by meaning.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from unicodedata import normalize

from processors.text.lexicon import KIN, MONTHS, WEEKDAYS

#: "does Pia", "is Nina allergic", "Pia's job".
_ASKED = re.compile(
    r"\b(?P<verb>does|did|is|was|has|had|will|would|can|could|should)\s+(?P<name>[^\W\d_][\w'’-]*)(?P<rest>[^?]*)",
    re.IGNORECASE,
)
#: "Wo wohnt Zelda?", "¿Dónde vive Zelda?", "Où habite Zelda ?", "Onde mora a Zelda?", "Who is Zelda?".
_OTHERS = re.compile(
    r"\b(?i:wohnt|lebt|arbeitet|studiert|isst|mag|wer ist|vive|trabaja|estudia|qui[eé]n es|alérgic[oa] (?:a )?"
    r"|habite|vit|travaille|étudie|qui est|mora|trabalha|estuda|quem é|who is|who['’]s|whos)"
    r"\s+(?:a |o |la |el )?"
    r"(?P<name>[A-ZÀ-Þ][\w'’-]+)(?=\s*[?？]?\s*$| (?:allergi|alérgi)\w*)"
    r"|(?P<first>[A-ZÀ-Þ][\w'’-]+) (?:allergisch|est-(?:il|elle)|es alérgic[oa]|é alérgic[oa])\b"
)
_OWNER = re.compile(r"(?<!\w)(?P<name>[^\W\d_a-z][^\W\d_]+)['’]s\b")

#: What only people do: of these a name is told without its capital letter, too.
_DOES = re.compile(r"\s+(?:live|work|like|love|hate|prefer|study|speak)s?\b", re.IGNORECASE)

_NO_NAME_LINES = """
    i you he she it we they me him her us them my your his its our their mine yours the a an this that these
    those there here one any all some each both every no not anyone anybody someone somebody everyone
    everybody nobody nothing something anything people who what where when why how which whose
    doctor dr mr mrs ms miss sir madam prof let today tomorrow yesterday tonight now spring summer autumn fall
    winter christmas easter madame monsieur
"""
#: What stands in the place of a name and is none.
_NO_NAMES = frozenset((*_NO_NAME_LINES.split(), *KIN, *WEEKDAYS, *MONTHS))


def stranger(query: str, known: Iterable[str]) -> str:
    """Return the name that a question asks about, if it stands in none of the ``known`` texts; else ``""``."""
    names = _names(query)
    if not names:
        return ""
    unknown = dict(zip(map(_folded, names), names, strict=True))
    for text in known:
        if text:
            folded = _folded(text)
            for name in [name for name in unknown if name in folded]:
                del unknown[name]
            if not unknown:
                return ""
    return next(iter(unknown.values())) if len(unknown) == len(names) else ""


def _names(query: str) -> list[str]:
    found = [match["name"] for match in _ASKED.finditer(query) if _is_name(match["name"], match["rest"])]
    found += [match["name"] for match in _OWNER.finditer(query) if _is_name(match["name"], "")]
    found += [
        name for match in _OTHERS.finditer(query) if _is_name(name := match["name"] or match["first"], "")
    ]
    return list(dict.fromkeys(re.sub(r"['’]s$", "", name) for name in found))


def _is_name(word: str, rest: str) -> bool:
    bare = re.sub(r"['’]\w*$", "", word)
    if bare.casefold() in _NO_NAMES or len(bare) < 2:
        return False
    return not bare.islower() or _DOES.match(rest) is not None


def _folded(text: str) -> str:
    return normalize("NFKC", text).casefold()
