"""Function words of English, German, Spanish, French and Portuguese, and the language of a question by them."""

from __future__ import annotations

import re

_FUNCTION_WORDS = {
    "en": "the a an is are was were am be been what who whom whose which where when why how did does do has "
    "have had can could will would should may might shall must my your our of to in on at for from by "
    "with about and or but not so i you we me us she her hers he him his they them their it its there "
    "that this one again now then still just really also too yet already much many long old big far "
    "like up off out any some as than if because what's who's where's how's when's it's she's he's "
    "they're isn't doesn't didn't wasn't tell more ever else other first second last",
    "de": "der die das den dem des ein eine einen einem einer ist sind war waren bin was wer wen wem wo wann "
    "wie warum wieso welche welcher welches welchem welchen und oder ich du wir ihr mich mir nicht mein "
    "meine meinen meinem meiner dein deine hat habe haben hatte wird werde kann soll sie er ihn ihm es "
    "dort da dorthin denn noch schon mal auch zu zum zur in im an am auf aus bei von vom mit für um "
    "nach heißt heißen eigentlich nochmal viel viele",
    "es": "el la los las un una unos unas qué que cómo quién quien dónde cuándo cuánto cuánta cuántos cuántas "
    "cuál por para es está son soy era fue ha he y o de del al en con a mi mis tu tus su sus se lo le "
    "les me te nos ella él ellos ellas allí allá hay yo tú no ya más llama llaman",
    "fr": "le la les l un une des d qui que qu quoi où quand comment combien pourquoi quel quelle quels "
    "quelles est sont était suis ai a ont et ou de du en dans avec par pour je j tu il elle ils elles "
    "nous vous lui mon ma mes ton ta tes son sa ses notre votre se s ce c c'est est-ce qu'est-ce "
    "qu'elle qu'il là-bas ne n pas plus à au aux s'appelle t-elle t-il aime-t-elle appelle",
    "pt": "o a os as um uma uns umas que q qual quais quem onde aonde quando quanto quanta quantos quantas "
    "como por pra para é e são sou era foi tem tenho há de do da dos das em no na nos nas com ao à meu "
    "minha meus minhas seu sua teu tua se me te eu ele ela eles elas você vc não nao já ou chama chamam "
    "isso essa esse lá ali",
}
FUNCTION_WORDS = {language: frozenset(found.split()) for language, found in _FUNCTION_WORDS.items()}
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")


def words_in(text: str) -> list[str]:
    """Return the words of a text in lower case."""
    return [word.lower().replace("’", "'") for word in _WORD.findall(text)]


def language_of(text: str) -> str:
    """Return the language of a question, English if no other has more of its function words."""
    words = words_in(text)
    return max(FUNCTION_WORDS, key=lambda each: sum(word in FUNCTION_WORDS[each] for word in words))


def is_phrase(text: str) -> bool:
    """Return whether a text has a function word of a known language."""
    return any(word in found for word in words_in(text) for found in FUNCTION_WORDS.values())
