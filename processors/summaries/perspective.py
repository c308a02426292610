"""Say in the third person what somebody said of themselves: "I'm vegan" of Ben's is "Ben is vegan".

Where several people speak, "I" says nothing: each line of a summary names whose it is.  This is the rewriting
that Goyal et al. (2022, "perspective shift") do with a model, by rule and only for the first person singular.
What the rules do not know for sure keeps its words behind the speaker's name: "Ben: we fly on Monday".
"""

from __future__ import annotations

import re

#: "Ralph, I heard ...", "Ooh Ralph, I ...": whom it is said to; "Weekdays, I" says when.
_VOCATIVE = re.compile(
    r"\A(?:(?:Mr|Mrs|Ms|Dr|Miss)\.? |(?!In |At |On |By |For |To |From |With |Like |"
    r"Since )[A-Z][a-z]{1,4} )?(?!\w*(?:days?|nights?|ends?|times?|morrow|mornings?|noons?|evenings?|"
    r"ly|now|then|once|here|fore|ever)\b)[A-Z][a-z]+, (?=(?:I|my)\b)"
)
_QUOTED = re.compile(r"[\"“”«»]|(?<!\w)['‘]\s?\w")
#: Said to somebody or of several: "you" and "we" are others to a reader than to who hears it.
_TOGETHER = re.compile(r"\b(?:you|your|yours|yourself|we|us|our|ours|ourselves)\b", re.IGNORECASE)
_SINGULAR = re.compile(r"\b(?:I|i|me|my|mine|myself)\b", re.IGNORECASE)
#: "am I", "do I": asked of oneself; "World War I": no person.
_UNSURE = re.compile(
    r"(?i:\b(?:am|do|did|have|had|can|could|should|would|shall|will|was|may|must)(?:n't)? i\b)|"
    r"\b(?:War|Part|Chapter|Act|Phase|Volume|Type|Class|Level|Stage|Article|Title|King|Queen) (?:\w+ )?I\b|"
    # Of two, or a verb of two parts, "I hand-feed": its end would be another.
    r"\A(?:[\w'’-]+ ){1,3}and I\b|\bI \w+-\w|"
    r"(?i:\b(?:mr|mrs|ms|dr|sir)\.? i\b|^(?:me|my) (?:too|neither)\b|^(?:let|excuse) me\b|"
    r", my name is\b|, i['’]m afraid\W*\Z|\boh my\b|\bmy (?:god|goodness|gosh|word)\b|^(?:for|to) me,? i\b)"
)
_ADVERB = (
    r"(?:really|also|just|still|only|always|usually|actually|absolutely|definitely|now|already|probably|"
    r"never|often|sometimes|especially|certainly|simply|even|rather|hardly|truly|once|finally|generally|"
    r"mostly|recently|ever|both|currently|completely|totally|fully|quite|strongly|sincerely)"
)
_SUBJECT = re.compile(
    rf"\bI(?P<clitic>['’](?:m|ve|ll|d))?(?P<adverbs>(?: {_ADVERB})*)"
    r"(?: (?P<verb>[a-z]+(?:['’]t)?))?\b(?![-'’])",
    re.IGNORECASE,
)
_OTHERS = re.compile(r"\b(?P<word>me|myself|mine|my)\b", re.IGNORECASE)

_IRREGULAR = {
    "am": "is",
    "have": "has",
    "haven't": "hasn't",
    "do": "does",
    "don't": "doesn't",
    "go": "goes",
    "gotta": "has to",
    "wanna": "wants to",
}
_VERBS = """
accept add admire admit adore advise agree answer apologize appreciate arrange arrive ask assume avoid bake
believe belong book bring buy call care carry celebrate change chat check cherish choose clean close collect
come complain cook count cover deal decide deserve dislike doubt dream drink drive earn eat end enjoy enter
envy exercise expect explain fear feel fight fill find finish fix fly focus follow forget get give grab grow
guess handle happen hate hear help hope imagine include insist intend invite jog join keep know lack last
learn leave like listen live look lose love make manage mean meet mind miss move need notice offer open
order owe own paint pay plan play practice prefer prepare promise propose provide receive recommend refuse
regret remain remember rent repair require respect rest return ride run save say search see seem sell send
serve share show sing sit sleep smoke sound speak spend stand start stay stock stop study suffer suggest suppose
swim take talk teach tell tend think travel treasure treat trust try turn understand use value visit
volunteer wait wake walk want wash watch wear wish wonder work worry write
"""
_PRESENT = frozenset(_VERBS.split())
#: More that are told of somebody; some of them begin statements as nouns, so they are no sign of a command.
_MORE_VERBS = """
achieve act aim allow apply approach attend base become blend breathe bring camp catch challenge chase combine
commute compare compete complete connect consider continue contribute cope create crave dance depend design
develop discover discuss draw dress
encourage escape excel experiment explore express face fail figure freelance gain
garden gather hang hike host improve inspire introduce invest judge laugh lead lean lift lend maintain
manage mentor motivate paint perform pick pray present protect push reach realize recharge recognize record
reflect relate relax rely research respond sail save score sketch ski solve spread start strive struggle
support surf switch tackle tend track train tweak upgrade vent vote wander
"""
_INFLECTED = _PRESENT | frozenset(_MORE_VERBS.split())
#: No command: "Last week".
_COMMANDS = _PRESENT - {"last"}
#: "I get tired and think": the second verb has the same subject, unless it is no verb ("my body and mind").
_CLAUSE = re.compile(rf"\b[Ii](?: {_ADVERB})* (?P<first>[a-z]+)\b(?P<rest>[^,;:.!?]*)")
_JOINED = re.compile(r"\b(?:and|or|but) (?P<verb>[a-z]+)\b")
_INFINITIVE = re.compile(r"\b(?:to|let|lets|help|helps|make|makes|see|watch|hear)\b")
_PAST_VERBS = """
became began broke brought built came chose cost did drove fell felt found gave got grew had heard held kept
knew left lost made meant met paid put ran rang read said sang sat saw sent slept sold spent spoke stood swam
taught thought told took was went woke won wore wrote
"""
_PAST = frozenset(_PAST_VERBS.split())
_UNCHANGED = frozenset(
    ("will", "would", "can", "cannot", "could", "should", "shall", "must", "may", "might", "was", "did", "had")
)
_PARTICIPLE = re.compile(
    r"(?:\w+ed|been|had|better|gone|seen|done|got|taken|made|known|heard|thought|paid|left|said|told|lost|"
    r"bought|"
    r"brought|met|written|eaten|forgotten|found|given|kept|sold|sent|spent|slept|won|broken|driven|flown)\Z"
)


def third_person(text: str, name: str) -> str:
    """Return what ``name`` said of themselves, as said of them; other words stay as they are."""
    own = _VOCATIVE.sub("", text)
    unclear = any(cue.search(own) for cue in (_QUOTED, _UNSURE, _TOGETHER)) or not _SINGULAR.search(own)
    # "Wish I had one", "Check my boat": whose the verb is has not been said.
    if unclear or is_imperative(own) or _lacks_subject(own) or _is_joined(own):
        return f"{name}: {text}"
    if not all(_is_told(found) for found in _SUBJECT.finditer(own)):
        return f"{name}: {text}"
    told = _SUBJECT.sub(lambda found: _said_of(found, name), own)
    told = _OTHERS.sub(
        lambda found: {"me": name, "myself": "themself"}.get(found["word"].lower(), f"{name}'s"), told
    )
    if name not in told:
        return f"{name}: {text}"
    # What stood before it, "Well, at noon I ...", is no part of it any more.
    begins = told.startswith(name) or told[:2] != told[:2].lower()
    return told if begins else told[:1].upper() + told[1:]


def is_imperative(sentence: str) -> bool:
    """Tell whether a sentence begins with a frequent verb as it is told to do."""
    first = sentence.split(maxsplit=1)[:1]
    return bool(first) and first[0].lower() in _COMMANDS


def _lacks_subject(sentence: str) -> bool:
    """Tell whether a sentence begins with a verb in the past tense: "Had a look, and I think it fits"."""
    first = sentence.split(maxsplit=1)[0].lower()
    if first in _PAST or first in ("been", "gonna", "gotta", "wanna"):
        return True
    return first.endswith(("ing", "ed", "n't", "n’t"))


def is_past(word: str) -> bool:
    """Tell whether a word is a verb in the past tense."""
    folded = word.lower()
    return (
        folded in _PAST
        or folded in ("was", "were", "did", "been")
        or (folded.endswith("ed") and not folded.endswith("eed"))
    )


def is_verb(word: str) -> bool:
    """Tell whether a word is a frequent verb in the present or past tense, or an imperative."""
    folded = word.strip(".,!?;:").lower()
    if folded in _PAST or folded.endswith("ed"):
        return True
    return any(form in _PRESENT for form in (folded, folded.removesuffix("s"), folded.removesuffix("es")))


def is_known_verb(word: str) -> bool:
    """Tell whether a word is a verb that is told of somebody, or the past of one."""
    return is_verb(word) or word in _INFLECTED


def _is_told(subject: re.Match[str]) -> bool:
    """Tell whether the word behind "I" is known to stay as it is, or how it is told of somebody."""
    verb = (subject["verb"] or "").lower().replace("’", "'")
    unchanged = not verb or subject["clitic"] or verb in _UNCHANGED or verb.endswith("n't")
    return bool(unchanged or verb in _INFLECTED or verb in _IRREGULAR or is_verb(verb))


def _said_of(found: re.Match[str], name: str) -> str:
    clitic, adverbs, verb = (found["clitic"] or "")[1:].lower(), found["adverbs"], found["verb"] or ""
    if clitic:
        auxiliary = {"m": "is", "ve": "has", "ll": "will"}.get(clitic) or _would_or_had(verb.lower())
        return f"{name} {auxiliary}{adverbs}" + (f" {verb}" if verb else "")
    return f"{name}{adverbs}" + (f" {_inflected(verb)}" if verb else "")


def _is_joined(own: str) -> bool:
    """Tell whether a second verb in the present tense may be that of "I", too."""
    return any(
        joined["verb"] in _INFLECTED
        and not _INFINITIVE.search(found["first"] + found["rest"][: joined.start()])
        for found in _CLAUSE.finditer(own)
        if found["first"] in _INFLECTED or found["first"] in _IRREGULAR
        for joined in _JOINED.finditer(found["rest"])
    )


def _would_or_had(verb: str) -> str:
    return "had" if _PARTICIPLE.match(verb) else "would"


def _inflected(verb: str) -> str:
    """The third person of a verb in the present tense; any other word as it is."""
    folded = verb.lower().replace("’", "'")
    if folded in _IRREGULAR:
        return _IRREGULAR[folded]
    if folded not in _INFLECTED:
        return verb
    if folded.endswith(("s", "sh", "ch", "x", "z", "o")):
        return verb + "es"
    if folded.endswith("y") and folded[-2] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + "s"
