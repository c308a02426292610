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


class Taste(NamedTuple):
    """A subject of taste by its words.

    ``nouns`` name it, ``values`` and verbs (``doing``) tell it by themselves; ``wider`` are subjects whose words
    also name it, for a charging "station" is no radio station; ``noun`` goes with an adjective ("vegan food").
    """

    nouns: str
    values: str = ""
    doing: str = ""
    wider: tuple[str, ...] = ()
    noun: str = ""


# fmt: off
TASTES = {
    "charging": Taste(r"(?:(?:fast|public|ev|car) )*(?:charging|chargers?|charge(?= (?:stations?|points?|spots?|stops?)))(?: (?:stations?|points?|spots?|stops?))?|(?:quick|fast) charge|charge (?:the|my|our) \w+", doing="charge", wider=("station", "network", "shop")),
    "station": Taste(r"(?:(?:gas|fuel|petrol|filling) ?)?stations?|gas|fuel|petrol", doing="fill refuel", wider=("network", "shop")),
    "radio station": Taste(r"(?:radio|fm)(?: (?:stations?|channels?))?", wider=("station", "network")),
    "podcast": Taste(r"podcasts?(?: (?:shows?|episodes?))?|episodes?", wider=("station", "network")),
    "news": Taste(r"news(?: (?:sources?|channels?|updates?|bulletins?|coverage|reports?|headlines?))?|headlines|bulletins?|traffic (?:updates|information|alerts)", wider=("radio station", "station", "network")),
    "parking": Taste(r"(?:car )?parking(?: (?:spots?|lots?|spaces?|garages?|places?|areas?))?", values=r"on[- ]street|off[- ]street|covered|indoors?|underground|(?:on )?the street|street|secured?(?! \d)|security|guarded|roof(?:ed)?|(?:handicap(?:ped)?|wheelchair|disabled)(?:[- ]access\w*)?(?: needs)?|accessib\w+|parking[- ](?:house|garage)", doing="park", noun="parking"),
    "route": Taste(r"routes?|roads?|highways?|traffic|motorways?|tolls?|jams?|(?<=fastest )way|(?<=quickest )way|(?<=shortest )way|ferries", values=r"(?:fastest|quickest|shortest|scenic)(?: (?:time|distance))?|toll|motorways?|unpaved", noun="routes"),
    "cuisine": Taste(r"food|cuisine|dishes|meals?", values=r"italian|chinese|mexican|indian|american|japanese|thai|french|greek|korean|vietnamese|spanish|turkish|lebanese|mediterranean|ethiopian|moroccan|sushi|pizza|burgers?|ramen|tapas", noun="food"),
    "restaurant": Taste(r"restaurants?|dining|eater(?:y|ies)|diners?|fast food", values=r"fast[- ]food|fine[- ]dining|casual dining|buffets?|drive[- ]through|dine[- ]in", doing="eat dine"),
    "hotel": Taste(r"hotels?|hostels?|resorts?", doing="stay"),
    "flight": Taste(r"flights?|airlines?", doing="fly"),
    "seat heating": Taste(r"seat (?:heat(?:ing)?|heaters?|warmers?|temperature)|heated seats?", wider=("seat", "temperature")),
    "seat": Taste(r"seats?"),
    "fan": Taste(r"(?<!a )(?<!big )(?<!huge )fan(?: speed)?(?! of\b)"),
    "airflow": Taste(r"air ?flow|(?:hot |cool |warm )?air(?: vents?)?|vents?"),
    "temperature": Taste(r"(?:inside |cabin |car )?temperature|degrees|climate(?: control)?", values=r"\d{2} ?(?:degrees?(?: celsius| fahrenheit)?|°[cf]?)"),
    "lighting": Taste(r"(?:(?:interior|ambient|mood|cabin) )*(?:(?<!stop )(?<!traffic )lights?|lighting|ambien[ct]e|brightness)(?: brightness| colou?r)?"),
    "music": Taste(r"music|songs?|tunes?(?! in(?:to)?\b)|playlists?|bands?|albums?|artists?", values=r"rock|pop|jazz|rap|hip[- ]hop|classical|country|soul|r&b|folk|blues|heavy metal|techno|reggae|indie|disco", doing="listen"),
    "streaming": Taste(r"(?:music )?streaming(?: service)?|music service", wider=("music",)),
    "film": Taste(r"movies?|films?"),
    "book": Taste(r"(?<!you )(?<!to )(?<!and )(?<!please )book|books|novels?"),
    "payment": Taste(r"payments?(?: methods?)?", values=r"cash|cards?|credit cards?|contactless", doing="pay"),
    "price": Taste(r"price range", values=r"(?:moderate|normal|average|reasonable|medium|mid|fair)(?:ly)?[- ]price[ds]?|cheap(?:est)?|budget|expensive|affordable|upscale|high[- ]end|mid[- ]range|inexpensive|low[- ]cost|lowest price", noun="options"),
    "shop": Taste(r"supermarkets?|grocer(?:y|ies)(?: (?:stores?|shopping|shops?))?|(?:coffee )?shops?|cafes?|bakery|bakeries|bars?|pubs?|stores?|markets?|farms?|malls?|gyms?|chains?", values=r"local (?:farmers'? )?(?:markets?|farms?|produce)|farmers'? markets?", doing="shop"),
    "network": Taste(r"networks?"),
    "": Taste(r"options?|places?|spots?|ones|locations?|types?|brands?|settings?|ambian[cs]e|atmosphere|vibe"),
    "diet": Taste("", values=r"vegan|vegetarian|kosher|halal|gluten[- ]free|dairy[- ]free|nut[- ]free|plant[- ]based|sugar[- ]free", noun="food"),
}
# fmt: on


def _names(of: dict[str, str]) -> tuple[re.Pattern[str], dict[str | None, str]]:
    """One pattern for the words of all subjects, and the subject of each group that may match."""
    groups = "|".join(f"(?P<t{n}>{words})" for n, words in enumerate(of.values()))
    pattern = anycase(rf"(?<![\w-])(?:{groups})(?:[- ](?:friendly|certified))?(?![\w-])")
    return pattern, {f"t{n}": topic for n, topic in enumerate(of)}


HEAD, _HEADS = _names({topic: taste.nouns for topic, taste in TASTES.items() if taste.nouns})
_CLASS, _CLASSES = _names({topic: taste.values for topic, taste in TASTES.items() if taste.values})
_DOING = {verb: topic for topic, taste in TASTES.items() for verb in taste.doing.split()}
#: These say it only where their subject is spoken of.
_AMBIGUOUS = words(
    "street budget security accessible secure secured covered country card cards disabled soul pop folk free guarded "
    "underground indoor indoors roof"
)
#: A genre is preferred in podcasts and on the radio too: their subject stays.
_OWN_SUBJECT = frozenset(("podcast", "news", "radio station", "film", "book", "charging", "streaming", "seat"))
MEDIA = frozenset(("music", "podcast", "news", "radio station", "streaming"))


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


_BRAND = re.compile(r"[A-Z][a-z]+[A-Z]\w+(?: [A-Z]\w+)*(?= \w)")


def topic_of(text: str, context: str = "") -> str:
    """The subject of taste that ``text`` names last, ``context`` if none; a wider word means a narrower one."""
    topic = ""
    for head in HEAD.finditer(text):
        named = _HEADS[head.lastgroup]
        is_wider = topic and named in TASTES[topic].wider and not _FUEL.match(head[0])
        topic = topic if not named or is_wider else named
    return in_context(topic, text, context)


def first_topic(text: str) -> str:
    """The subject of taste that ``text`` names first."""
    return next((topic for head in HEAD.finditer(text) if (topic := _HEADS[head.lastgroup])), "")


def in_context(topic: str, text: str, context: str) -> str:
    """``topic`` as it is meant after ``context`` was spoken of: a "station" is of what one listens to, or charges at."""
    if not topic or not context:
        return topic or context
    bare = topic in ("station", "network") and _FUEL.search(text) is None
    return context if bare and topic in TASTES[context].wider else topic


_FUEL = anycase(r"\b(?:gas|fuel|petrol|filling)")


def preference(text: str, context: str = "") -> Preference | None:
    """Read "rap music" or "parking with security" as a subject and a value.

    ``context`` is the subject for a value that names none ("always on-street").  ``None`` if nothing is left
    but a subject ("a restaurant nearby").
    """
    text = _SHORTEST_TIME.sub("fastest", text)
    phrase = PHRASE_END.split(text, maxsplit=1)[0]
    heads = list(HEAD.finditer(phrase))
    if not heads:
        return _without_noun(essence(clean(text if context else phrase, words=5)), context)
    head = heads[-1]
    topic, before = topic_of(phrase) or context, clean(essence(phrase[: head.start()]), words=4)
    if before and head[0][0].isupper() and before.split()[-1][0].isupper():
        name = bare_name(f"{before} {head[0]}")  # "Harbour News", "Radio Nord Station"
        return Preference(named_topic(name, topic), name, name)
    if head[0].lower() == "ones":
        return Preference(topic, before, f"{before} {_plural(topic)}") if before and topic else None
    behind, with_ = ("", "") if before else _behind(text, head.end(), topic)
    value = before or _without_head(behind, topic)
    named = _CLASS.search(phrase[: head.end()]) or _CLASS.search(behind) if topic not in _OWN_SUBJECT else None
    if named is not None and (brand := _BRAND.match(before)) is not None:
        named, value = None, brand[0]  # "SmithCo fast food restaurants" are Smith's, not all fast food
    elif named is not None:
        topic, value = _CLASSES[named.lastgroup], _canonical(named[0])
    elif topic == "" and value:
        value = f"{value} {head[0]}"
        return Preference("", value, value)
    is_head = HEAD.fullmatch(value) is not None and (topic not in _OWN_SUBJECT or value.lower() == topic)
    if not value or (named is None and is_head):
        return None
    if behind:
        return Preference(topic, value, f"{_plural(head[0])} {with_} {behind}")
    is_whole = named is not None and named[0].lower() in f"{before} {head[0]}".lower()
    if named is not None and not (before and is_whole):  # "fast food", "pizza places", "support local markets"
        is_head = head[0].lower() in named[0].lower()
        return Preference(topic, value, named[0] if is_head else f"{named[0]} {_plural(head[0])}")
    return Preference(topic, value, f"{before} {_plural(head[0])}")


def _behind(text: str, start: int, topic: str) -> tuple[str, str]:
    """What stands behind a noun, and the word that joins it: "with security", "about tides"."""
    found = _WITH.match(text, start) or (_BY.match(text, start) if topic in MEDIA else None)
    if found is None:
        return "", ""
    said = clean(essence(PHRASE_END.split(found["v"])[0]), words=4)
    return said, found[0].split()[0] if topic in MEDIA else "with"


def _without_head(phrase: str, topic: str) -> str:
    """ "AC charging", said of a charging station, is "AC"."""
    for head in reversed([*HEAD.finditer(phrase)]):
        if head.start() and _HEADS[head.lastgroup] == topic:
            return phrase[: head.start()].strip()
    return phrase


def _without_noun(value: str, context: str) -> Preference | None:
    """A value that is told without saying in what: "vegan", "only jazz"."""
    named = _CLASS.fullmatch(value)
    if not value or ((named is None or not _is_meant(named, context)) and not context):
        return Preference("", value, value) if value else None
    told = _CLASSES[named.lastgroup] if named is not None and _is_meant(named, context) else ""
    topic = told if told and context not in _OWN_SUBJECT else context
    return Preference(topic, _canonical(value), with_noun(value))


def _is_meant(named: re.Match[str], context: str) -> bool:
    """ "Spanish" is a cuisine where one speaks of food."""
    word, topic = named[0].lower(), _CLASSES[named.lastgroup]
    is_people = topic == "cuisine" and word.endswith(("an", "ese", "ish", "ch"))
    return context in _EATING if is_people else word not in _AMBIGUOUS or context == topic


_IS_NOUN = anycase(
    r".*(?:sushi|pizza|burgers?|ramen|tapas|price|(?<!on-)(?<!off-)(?<!on )(?<!off )street|security|access|house|garage|time|distance|toll|motorways?)$"
)


def with_noun(phrase: str) -> str:
    """ "Dairy-free" is "dairy-free food"."""
    named = _CLASS.fullmatch(phrase)
    noun = TASTES[_CLASSES[named.lastgroup]].noun if named is not None else ""
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
    word = "handicapped" if _HANDICAPPED.match(said) else said.lower()
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
