"""The language of a text by its script and its function words: enough to compare two texts, and no more."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import lru_cache

_LISTS = {
    "en": "the and is are was were has have had of to in on at for with from that this they their she her he "
    "his it its not no who does do did will would by been since about when after before every an a as or but "
    "if my i you we me us our your so just what there can now than then them him into out up all some like "
    "don be am im i'm it's",
    "de": "der die das und ist sind war waren hat haben hatte von zu im in am auf für mit aus dass sie er es "
    "ihr ihre sein seine nicht kein keine ein eine einen einem einer den dem des seit wenn nach vor auch als "
    "oder aber ich mein meine wird wurde bei zum zur habe bin hab wir du uns jetzt schon noch nur ab",
    "fr": "le la les et est sont était a ont avait de du des à au aux dans sur pour avec que qui elle il son "
    "sa ses ne pas un une depuis quand après avant aussi ou mais je mon ma mes par chez plus leur ce cette d "
    "l n s c j qu suis ai tu nous vous ça très",
    "es": "el la los las y es son era está ha han había de del a al en para con que quien ella él su sus no "
    "un una desde cuando después antes también o pero yo mi mis por como más se lo le muy hay tengo soy estoy "
    "tú me te nos ya",
    "pt": "o a os as e é são era está tem têm tinha de do da dos das ao à em no na nos nas para com que quem "
    "ela ele seu sua seus não um uma desde quando depois antes também ou mas eu meu minha por como mais se "
    "sou tenho estou você me te já muito",
    "it": "il lo la i gli le e è sono era ha hanno aveva di del della dei a al in nel nella per con che chi "
    "lei lui suo sua non un una da dal quando dopo prima anche o ma io mio mia più si ho sto tu ci mi già "
    "molto",
    "nl": "de het een en is zijn was waren heeft hebben had van te in op aan voor met uit dat die zij hij hun "
    "haar niet geen sinds als na ook of maar ik mijn wordt bij naar ben heb je we wij me nog al",
    "sv": "och är var har hade av till i på för med från att som hon han hennes hans inte en ett den det "
    "sedan när efter innan också eller men jag min mitt mina du vi mig",
    "pl": "i jest są był była ma mają z ze w na do dla od że który która ona on jej jego nie się po przed też "
    "lub ale ja mój moja przez jestem mam ty my mnie mi",
    "fi": "ja on ovat oli ei hän hänen se että joka kun jälkeen ennen myös tai mutta minä minun kanssa ole "
    "olen minulla sinä me",
    "cs": "a je jsou byl byla má mají z ze v na do pro od že který která ona on její jeho není se po před "
    "také nebo ale já můj moje přes jsem mám ty my mi",
}

FUNCTION_WORDS = {name: frozenset(words.split()) for name, words in _LISTS.items()}

_WORD = re.compile(r"[^\W\d_]+")

#: With fewer function words nothing is said of a text's language.
_LEAST = 2


def language_of(text: str) -> str:
    """Return the language or, where it is not Latin, the script of a text; ``""`` if that is not clear."""
    script = script_of(text)
    if script != "LATIN":
        return script
    words = _WORD.findall(text.casefold())
    found = Counter({name: sum(word in own for word in words) for name, own in FUNCTION_WORDS.items()})
    (first, most), (_, second) = found.most_common(2)
    # Neighbours share many of these words: of a close race nothing is said.
    return first if most >= _LEAST and most >= second * 3 / 2 and most > second + 1 else ""


def may_be_one_language(one: str, other: str) -> bool:
    """Return whether two texts may be in one language: false only if both are known to differ."""
    languages = language_of(one), language_of(other)
    if "" not in languages:
        return languages[0] == languages[1]
    scripts = script_of(one), script_of(other)
    return "" in scripts or scripts[0] == scripts[1]


def script_of(text: str) -> str:
    """Return the script of most letters (``LATIN``, ``CYRILLIC``, ``EAST ASIAN``); ``""`` without letters."""
    found = Counter(_script(sign) for sign in text if sign.isalpha())
    return max(found, key=lambda name: found[name], default="")


@lru_cache(maxsize=1 << 14)
def _script(sign: str) -> str:
    name = unicodedata.name(sign, "").partition(" ")[0]
    return "EAST ASIAN" if name in ("CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA") else name
