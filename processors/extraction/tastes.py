"""What people have tastes in: "Italian restaurants" is ``favourite/cuisine`` = Italian."""

from __future__ import annotations

import re
from typing import NamedTuple

from processors.extraction.english import anycase, third_person, words
from processors.extraction.values import QUOTES, clean


class Preference(NamedTuple):
    """A subject of taste (``""`` if none is named), what is preferred in it, and the phrase to say it with."""

    topic: str
    value: str
    phrase: str


def _table(names: dict[str, str]) -> tuple[re.Pattern[str], dict[str | None, str]]:
    """One pattern for all rows, and the name of each group that may match."""
    groups = "|".join(f"(?P<t{n}>{words})" for n, words in enumerate(names.values()))
    pattern = anycase(rf"(?<![\w-])(?:{groups})(?:[- ](?:friendly|certified))?(?![\w-])")
    return pattern, {f"t{n}": name for n, name in enumerate(names)}


#: What people have tastes in: the subject, and the nouns that name it.
HEAD, _HEADS = _table(
    {
        "charging": r"(?:(?:fast|public|ev|car) )*(?:charging|chargers?|charge(?= (?:stations?|points?|spots?|stops?)))(?: (?:stations?|points?|spots?|stops?))?",
        "station": r"(?:(?:gas|fuel|petrol|filling) ?)?stations?|gas|fuel|petrol",
        "radio station": r"(?:radio|fm)(?: (?:stations?|channels?))?",
        "podcast": r"podcasts?(?: (?:shows?|episodes?))?|episodes?",
        "news": r"news(?: (?:sources?|channels?|updates?|bulletins?|coverage|reports?|headlines?))?|headlines|bulletins?|traffic (?:updates|information|alerts)",
        "parking": r"(?:car )?parking(?: (?:spots?|lots?|spaces?|garages?|places?|areas?))?",
        "route": r"routes?|roads?|highways?|traffic|motorways?|tolls?|jams?|(?<=fastest )way|(?<=quickest )way|(?<=shortest )way|ferries",
        "cuisine": r"food|cuisine|dishes|meals?",
        "restaurant": r"restaurants?|dining|eater(?:y|ies)|diners?|fast food",
        "hotel": r"hotels?|hostels?|resorts?",
        "flight": r"flights?|airlines?",
        "seat heating": r"seat (?:heat(?:ing)?|heaters?|warmers?|temperature)|heated seats?",
        "seat": r"seats?",
        "fan": r"(?<!a )(?<!big )(?<!huge )fan(?: speed)?(?! of\b)",
        "airflow": r"air ?flow|(?:hot |cool |warm )?air(?: vents?)?|vents?",
        "temperature": r"(?:inside |cabin |car )?temperature|degrees|climate(?: control)?",
        "lighting": r"(?:(?:interior|ambient|mood|cabin) )*(?:(?<!stop )(?<!traffic )lights?|lighting|ambien[ct]e|brightness)(?: brightness| colou?r)?",
        "music": r"music|songs?|tunes?|playlists?|bands?|albums?|artists?",
        "streaming": r"(?:music )?streaming(?: service)?|music service",
        "film": r"movies?|films?",
        "book": r"(?<!you )(?<!to )(?<!and )(?<!please )book|books|novels?",
        "payment": r"payments?(?: methods?)?",
        "price": r"price range",
        "shop": r"supermarkets?|grocer(?:y|ies)(?: (?:stores?|shopping|shops?))?|(?:coffee )?shops?|cafes?|bakery|bakeries|bars?|pubs?|stores?|markets?|farms?|malls?|gyms?|chains?",
        "network": r"networks?",
        "": r"options?|places?|spots?|ones|locations?|types?|brands?|settings?|ambian[cs]e|atmosphere|vibe",
    }
)
#: Values that tell their subject by themselves.
_CLASS, _CLASSES = _table(
    {
        "cuisine": r"italian|chinese|mexican|indian|american|japanese|thai|french|greek|korean|vietnamese|spanish|"
        r"turkish|lebanese|mediterranean|ethiopian|moroccan|sushi|pizza|burgers?|ramen|tapas",
        "diet": r"vegan|vegetarian|kosher|halal|gluten[- ]free|dairy[- ]free|nut[- ]free|plant[- ]based|sugar[- ]free",
        "price": r"(?:moderate|normal|average|reasonable|medium|mid|fair)(?:ly)?[- ]price[ds]?|cheap(?:est)?|budget|expensive|affordable|upscale|high[- ]end|mid[- ]range|inexpensive|low[- ]cost|lowest price",
        "restaurant": r"fast[- ]food|fine[- ]dining|casual dining|buffets?|drive[- ]through|dine[- ]in",
        "music": r"rock|pop|jazz|rap|hip[- ]hop|classical|country|soul|r&b|folk|blues|heavy metal|techno|reggae|indie|disco",
        "shop": r"local (?:farmers'? )?(?:markets?|farms?|produce)|farmers'? markets?",
        "payment": r"cash|cards?|credit cards?|contactless",
        "route": r"(?:fastest|quickest|shortest|scenic)(?: (?:time|distance))?|toll|motorways?|unpaved",
        "parking": r"on[- ]street|off[- ]street|covered|indoors?|underground|(?:on )?the street|street|secured?(?! \d)|security|guarded|roof(?:ed)?|(?:handicap(?:ped)?|wheelchair|disabled)(?:[- ]access\w*)?(?: needs)?|accessib\w+|parking[- ](?:house|garage)",
        "temperature": r"\d{2} ?(?:degrees?(?: celsius| fahrenheit)?|°[cf]?)",
    }
)
#: These say it only where their subject is spoken of.
_AMBIGUOUS = words(
    "street budget security accessible secure secured covered country card cards disabled soul pop folk free guarded "
    "underground indoor indoors roof security"
)
#: A genre is preferred in podcasts and on the radio too: their subject stays.
_OWN_SUBJECT = frozenset(("podcast", "news", "radio station", "film", "book", "charging", "streaming", "seat"))
#: What is done tells the subject that its object names not: "park on the street".
_DOING = dict(
    each.split(":")
    for each in words(
        "park:parking pay:payment listen:music eat:restaurant dine:restaurant charge:charging fill:station refuel:station "
        "stay:hotel fly:flight shop:shop"
    )
)


def named_topic(name: str, topic: str) -> str:
    """The subject of a name: that which it tells by itself, else ``topic``."""
    if " by " in name and topic not in ("book", "film"):
        return "music"
    return "radio station" if _ON_AIR.search(name) and topic not in ("news", "podcast") else topic


def bare_name(name: str) -> str:
    """A name without quotation marks, and without the noun that says what it is of: "Nordwind podcast"."""
    return _NOUN.sub("", QUOTES.sub("", name).strip(" .,"))


_NOUN = anycase(
    r"(?<=\w) (?:(?:(?-i:charging|radio|podcast|gas|grocery|music|news) )?(?:stations?|networks?|podcasts?|restaurants?|"
    r"stores?|supermarkets?|shows?|apps?|playlists?|chains?|features?)|(?-i:charge points?|podcast|album|song|radio|music))$"
)
_ON_AIR = re.compile(r"\b(?:FM|AM|Radio)\b|\b\d{2,3}\.\d$")

MEDIA = frozenset(("music", "podcast", "news", "radio station", "streaming"))

_GENERIC = anycase(
    r"(?:(?:let's|there's|list|select|clean|shopping|maximi[sz]e|minimi[sz]e|pick|get|display|choose|prefer|make|have|use|take|if|the|an?|my|our|me|us|some|any|all|only|most|more|just|for|to|at|of|with|nearest|closest|near|nearby|close|next|local|"
    r"public|good|best|better|nice|great|decent|suitable|preferred|fav(?:ou?rite|e)s?|time|all-time|usual|latest|new|newest|other|different|"
    r"another|available|possible|current|future|recent|relaxing|interesting|popular|top|highly|rated|well|really|very|particular|quick|"
    r"specific|certain|alternative|main|same|general|settings?|options?|places?|spots?|stuff|enough|something|those|these|that|this|it|"
    r"car(?! wash)|vehicle|today's|tonight's|own|little|few|lot|bit|first|second|last|level|type|kind|how|what|where|is|are|was|stays?|there|avoids?|prioriti[sz]e|"
    r"taking|using|playing|finding|getting|having|listening|eating|via|through|in|on|by|up|service|services|routes?|if|when|find|need|includes?|accepts?|suggesting|showing|prioritizing|prioritising|providing|recommending|ambian[cs]e|tones?|hue|vibe|glow|colou?r|like|cozy|show|go|fresh|locate|driver's|facilit(?:y|ies)|features?|access|availability|available|amenities|genres?|topics?|trends?|shows?|chains?|maintain|steady|consistent(?:ly)?|optimi[sz]e|switch|adjust|alternat(?:e|ive)|instead)(?![\w-])[\s,]*)+"
)
#: Here the noun phrase ends.
PHRASE_END = anycase(
    r"\s+(?:with|from|via|through|that|every|each|when|whenever|as|to|for|near|along|by|on|at|in|around|from|about|of|nearby|close|and|or|which|so|without|after|before|during)\b"
)
#: What media are about, from whom, and by whom.
_BY = anycase(
    r"(?:\s+(?:please|podcast|song|music|to listen to|that's))*\s+(?:about|on|from|by|called|named|of|like)\s+(?:the |a )?(?P<v>(?-i:[A-Z])[\w&'°.-]*(?: (?:(?-i:[A-Z])[\w&'°.-]*|\d+\.\d)){0,3}|(?:about |on )?[\w-]+(?: and [\w-]+)?)"
)
_WITH = anycase(
    r"(?:\s+(?:nearby|near me|around here|close by|near here|close to me|around|here))*\s+(?:with|that (?:ha(?:s|ve)|offers?|accepts?|serves?)|offering|serving|accepting|about|called)\s+"
    r"(?:an? |the |my |some |only |good )*(?P<v>[\w&'°.-]+(?: [\w&'°.-]+){0,3})"
)


#: What is also called by a wider word: a charging "station", the "network" of a charger.  The narrower subject
#: stays, whichever was named first.
_WIDER = {
    "charging": ("station", "network", "shop"),
    "news": ("radio station", "station", "network"),
    "podcast": ("station", "network"),
    "radio station": ("station", "network"),
    "station": ("network", "shop"),
    "streaming": ("music",),
    "seat heating": ("seat", "temperature"),
}


#: A name that is one in any place of a sentence.
_BRAND = re.compile(r"[A-Z][a-z]+[A-Z]\w+(?: [A-Z]\w+)*(?= \w)")


def topic_of(text: str, context: str = "") -> str:
    """The subject of taste that ``text`` names last, ``context`` if none; a wider word means a narrower one."""
    topic = ""
    for head in HEAD.finditer(text):
        named = _HEADS[head.lastgroup]
        is_wider = named in _WIDER.get(topic, ()) and not _FUEL.match(head[0])
        topic = topic if not named or is_wider else named
    return in_context(topic, text, context)


def in_context(topic: str, text: str, context: str) -> str:
    """``topic`` as it is meant after ``context`` was spoken of: a "station" is of what one listens to, or charges at."""
    if not topic:
        return context
    bare = topic in ("station", "network") and _FUEL.search(text) is None
    return context if bare and topic in _WIDER.get(context, ()) else topic


_FUEL = anycase(r"\b(?:gas|fuel|petrol|filling)")


def preference(text: str, context: str = "") -> Preference | None:
    """Read "rap music" or "parking with security" as a subject and a value.

    ``context`` is the subject for a value that names none ("always on-street").  ``None`` if nothing is left
    but a subject ("a restaurant nearby").
    """
    text = _SHORTEST_TIME.sub("fastest", text)
    end = PHRASE_END.search(text)
    phrase = text[: end.start()] if end is not None else text
    heads = list(HEAD.finditer(phrase))
    if not heads:
        value = essence(clean(text if context else phrase, words=5))
        named = _CLASS.search(value)
        if named is not None and not (_CLASS.fullmatch(value) and _is_meant(named, context)):
            named = None
        if not value or (named is None and not context):
            return Preference("", value, value) if value else None
        return Preference(
            _CLASSES[named.lastgroup] if named and (not context or context not in _OWN_SUBJECT) else context,
            _canonical(named[0] if named else value),
            with_noun(value),
        )
    head = heads[-1]
    topic, before = topic_of(phrase) or context, clean(essence(phrase[: head.start()]), words=4)
    after = _WITH.match(text, head.end()) or (_BY.match(text, head.end()) if topic in MEDIA else None)
    behind = (
        clean(essence(PHRASE_END.split(after["v"])[0]), words=4) if after is not None and not before else ""
    )
    said_behind = behind
    last = list(HEAD.finditer(behind))
    if last and last[-1].start() and _HEADS[last[-1].lastgroup] == topic:
        behind = behind[: last[-1].start()].strip()  # "stations with AC charging"
    if before and head[0][0].isupper() and before.split()[-1][0].isupper():
        name = bare_name(f"{before} {head[0]}")  # "Harbour News", "Radio Nord Station"
        return Preference(named_topic(name, topic), name, name)
    if head[0].lower() in ("one", "ones"):
        return Preference(topic, before, f"{before} {_plural(topic)}") if before and topic else None
    value = before or behind
    named = _CLASS.search(phrase[: head.end()]) or _CLASS.search(behind) if topic not in _OWN_SUBJECT else None
    if named is not None and (brand := _BRAND.match(before)) is not None:
        named, value = None, brand[0]  # "SmithCo fast food restaurants" are Smith's, not all fast food
    elif named is not None:
        topic, value = _CLASSES[named.lastgroup], _canonical(named[0])
    if topic == "" and named is None:
        return Preference("", f"{value} {head[0]}".strip(), f"{value} {head[0]}".strip()) if value else None
    if not value or (
        named is None and HEAD.fullmatch(value) and (topic not in _OWN_SUBJECT or value.lower() == topic)
    ):
        return None
    if before or not behind:
        named_by_head = not before and named is not None and head[0].lower() in named[0].lower()
        noun = named[0] if named_by_head and named else _plural(head[0])
        shown = "" if named is None or before or named_by_head else named[0]
        return Preference(topic, value, f"{before or shown} {noun}".strip())
    with_ = "with" if after is None or topic not in MEDIA else after[0].split()[0]
    return Preference(topic, value, f"{_plural(head[0])} {with_} {said_behind}")


def _is_meant(named: re.Match[str], context: str) -> bool:
    """ "Spanish" is a cuisine where one speaks of food."""
    word, topic = named[0].lower(), _CLASSES[named.lastgroup]
    is_people = topic == "cuisine" and word.endswith(("an", "ese", "ish", "ch"))
    return context in _EATING if is_people else word not in _AMBIGUOUS or context == topic


#: What an adjective says of: "dairy-free" is no sentence's end.
_NOUNS = {"cuisine": "food", "diet": "food", "price": "options", "route": "routes", "parking": "parking"}
_IS_NOUN = anycase(
    r".*(?:sushi|pizza|burgers?|ramen|tapas|price|(?<!on-)(?<!off-)(?<!on )(?<!off )street|security|access|house|garage|time|distance|toll|motorways?)$"
)


def with_noun(phrase: str) -> str:
    """ "Dairy-free" is "dairy-free food"."""
    named = _CLASS.fullmatch(phrase)
    noun = _NOUNS.get(_CLASSES[named.lastgroup], "") if named is not None else ""
    return f"{phrase} {noun}" if noun and not _IS_NOUN.match(phrase) else phrase


def tells_class(text: str) -> bool:
    """Whether a word tells by itself what it is a taste in."""
    return _CLASS.search(text) is not None


_EATING = frozenset(("cuisine", "restaurant", "diet", "price"))
_SHORTEST_TIME = anycase(r"\bshortest (?:travel )?time\b")
#: One word for what is the same.
# fmt: off
_SAME = {
    said: one
    for one, many in (
        ("cheap", "affordable|inexpensive|budget|low-cost|low cost|budget-friendly"), ("expensive", "high-end|high end|upscale"),
        ("cheapest", "lowest price"), ("fastest", "quickest|shortest time|fastest time|fastest route"),
        ("shortest distance", "shortest"), ("green", "eco-friendly|environmentally friendly|eco"), ("technology", "tech"),
        ("Wi-Fi", "wi-fi|wifi"), ("secure", "secured|security|guarded"), ("indoor", "indoors"), ("covered", "roof|roofed|a roof"),
        ("on-street", "on street|street|the street|on the street"), ("off-street", "off street"), ("fast food", "fast-food"),
        ("burgers", "burger"), ("buffet", "buffets"), ("card", "cards|credit card|credit cards"),
    )
    for said in many.split("|")
}
# fmt: on


def _canonical(said: str) -> str:
    said = _MADE.sub("", said)
    word = said.lower()
    if _HANDICAPPED.match(word):
        return "handicapped"
    return _SAME.get(word, word if _CLASS.fullmatch(word) else said)


_MADE = anycase(r"(?<=\w)(?:[ -]friendly|-style|-certified|-based|-priced)$")
_HANDICAPPED = re.compile(r"(?:handicap|wheelchair|disabled|accessib)")


def essence(text: str) -> str:
    """Take the generic words off both ends."""
    generic = _GENERIC.match(text)
    words = (text[generic.end() :] if generic else text).split()
    while words and _GENERIC.fullmatch(words[-1]):
        words.pop()
    return " ".join(words)


_COUNTABLE = anycase(
    r"(?:restaurant|station|podcast|route|road|hotel|song|spot|lot|garage|point|store|supermarket|movie|film|book|"
    r"album|playlist|flight|charger|seat|place|diner|band|artist)$"
)


def _plural(noun: str) -> str:
    return f"{noun}s" if _COUNTABLE.search(noun) else noun


_AT = anycase(
    r"^(?:to|up at|up|with|by|in|on|at|my car|the car)\b ?(?:in |on |at |with |by )?(?:my |their |the |an? )?"
)
#: "Parking on the street" is done, "parking spots" are not.
_GERUND = anycase(r"([a-z]+)ing (?:in|on|at|with|by|up|my|under|from)\b")


def preferred(text: str, context: str = "") -> Preference | None:
    """Read the object of "I prefer": the verb tells the subject where the noun does not."""
    verb, _, rest = text.strip().partition(" ")
    doing = _DOING.get(verb.lower(), "")
    if not doing and (gerund := _GERUND.match(text.strip())) is not None:
        doing = _DOING.get(gerund[1].lower(), "") or _DOING.get(gerund[1].lower()[:-1], "")
    if doing:
        found = preference(_AT.sub("", rest), doing)
        says = f"{verb.lower()} {third_person(' '.join(text.split()[1:]))}"
        return found and found._replace(phrase=says if verb.endswith("ing") else f"to {says}")
    return preference(text, context)
