"""What requests show of a person: what is asked for, always or once, and what is turned down.

A preference is told ("prefer …", "always …", "only …") or shown by what is asked for ("find me a kosher
restaurant"); the latter is said as what it is, and weighs little until it is repeated.  Only what names a subject
that people have tastes in counts.
"""

from __future__ import annotations

import re

from processors.extraction.clauses import NO_MORE
from processors.extraction.drafts import AFFIRMED, ENDED, NEGATED, Draft, say
from processors.extraction.english import anycase
from processors.extraction.predicates import ASKED, LIKED, SET
from processors.extraction.tastes import (
    HEAD,
    MEDIA,
    PHRASE_END,
    Preference,
    bare_name,
    essence,
    in_context,
    named_topic,
    preference,
    preferred,
    topic_of,
)
from processors.extraction.values import clean

_PROPER = r"(?-i:[A-Z])[\w&']*(?-i:[a-z])(?-i:[A-Za-z])*(?!\w)(?: (?:van |von |de |la |the |of )?(?-i:[A-Z])[\w&.']*(?!\w)){0,2}"
_WANTED = r"(?:(?:it to be (?:at )?|to be (?:at )?|to fill up at |to stop at |to |that |it |when |if |having |using |taking |listening to |when it's |it when it's )*)"
_DEVICE = (
    r"(?:(?:the|my|interior|inside|ambient|cabin|car|dashboard|driver's|seat|fan|room) ){0,3}(?:lights?|lighting|brightness|fan(?: speed)?|temperature|"
    r"seat(?: heating| heaters?)?|heating|air ?flow|air|climate(?: control)?)"
)
#: What things in a room or a car are set to.
_LEVEL = r"(?:low|medium|high|max(?:imum)?|min(?:imum)?|full|dim|bright|warm|cool|soft|gentle|strong|red|blue|green|yellow|purple|orange|pink|white|amber|\d+ degrees)"
_SEEKING = r".*\b(?:find|play|show|locate|look|search|change|switch|suggest|recommend|navigate|take)\b.*\b"
_ONE_THAT = r"that (?:doesn't|does not|don't|do not)"
_ANY = r"(?:any |an? |the )?(?!considering\b|whether\b|if\b|how\b)"
_THING = r"(?P<v>[\w'-]+(?: [\w'-]+){0,2})"
#: "My preference to avoid tolls" names none.
_NO_DEED = r"(?!(?:indifferent|no|not|always|only|come|unpaved)\b|(?:consider|prioriti[sz]|includ|requir|avoid|exclud|select)\w*)"
_CHOSEN = r"(?P<v>[^,]{2,50}?)"
#: How something is asked for: the pattern, how it is said, and flags: ``-`` the thing is turned down, ``!`` it is
#: told to last, ``w`` what it is of may stand anywhere in the sentence, ``p`` a way to pay, ``s`` a setting,
#: ``f`` a favourite (``t`` of a subject that is known), ``m`` a title, ``n`` a name.
# fmt: off
_ASKED: tuple[tuple[re.Pattern[str], str, str], ...] = tuple(
    (anycase(pattern.replace("V", r"(?P<v>\S.{1,120})")), says, flag)
    for pattern, says, flag in (
        (rf"{_SEEKING} (?:{_ONE_THAT} (?:need|require|use|involve)|without the need for) {_ANY}{_THING}", "do without", "-w"),
        (rf"{_SEEKING} (?:without(?: considering)?|other than|anything but|{_ONE_THAT} (?:offer|cover|include|have|accept|play|serve|contain|allow)|that (?:isn't|aren't|is not|are not)) {_ANY}{_THING}", "avoid", "-w"),
        (r".*?\b(?P<v>[\w-]+(?: [\w-]+)?)(?: (?:is|are))?(?: not|n't| no longer)(?: really)? (?:required|needed|important|necessary|relevant|a (?:concern|big deal|priority|must|requirement))\b", "do without", "-w"),
        (r".*?(?:\bnot|n't) (?:with|take|accept) (?P<v>cash|credit cards?|cards?)\b", "avoid", "-p"),
        (r".*?\b(?:pay(?:ing)? (?:with|in|by|using)|takes?|accepts?) (?P<v>cash|credit cards?|cards?|contactless)\b", "want", "p"),
        (r".*?\b(?P<v>cash|cards?)(?: payments?)? only\b", "want", "p"),
        (r"(?:don't|do not|never|stop) (?:ever )?(?:play|show|take|use|want|find|choose|select|recommend|suggest|need|playing|using|showing|taking|selecting|suggesting|choosing)(?: me)? (?!to\b)V", "avoid", "-"),
        (r"(?:always )?(?:avoid(?:ing)?|skip|exclude|steer clear of|stay away from|remove|disable|no more|anything but|turn off|not keep|not use|not worry about|not set|stop (?:using|playing|focusing on|prioriti[sz]ing|going for|sticking to))(?: (?:suggest|select|choos|us|tak|play|show|pick)ing)?(?: me)? V", "avoid", "-"),
        (r"(?:no need (?:for|of)|(?:i |we )?(?:(?:don't|do not|no longer)(?: really)? (?:need|require|want)|won't (?:be needing|need|require))) (?!to\b)V", "do without", "-"),
        (r"(?:no|not(?! (?:limit|just|only|always|necessarily|sure)\b)|without) V", "avoid", "-"),
        (rf"(?:i(?:'d| would)? (?:really |always |usually |generally |definitely |much |actually |only |strongly )*(?:prefer(?! (?:that|this|it|those|these) (?:over|to|rather|instead)\b)|rather have|favou?r)|i(?:'d| would) rather (?:go (?:to|for|with)|use|take|find)|i (?:really )?only like|prefer(?:ably)?|ideally|prioriti[sz]e) {_WANTED}V", "prefer", "!"),
        (rf"(?:i |we )(?:only|always|exclusively|usually)(?: to)? (?:want|use|pick|choose|go for|take|like|prefer|play|look for|buy|drive|go with|need|go to|opt for|stick (?:to|with)) {_WANTED}V", "prefer", "!"),
        (rf"(?:only|always|exclusively)(?! (?:in|at|on|for|from|there|here|been|a|an|one|two|three|four|five|\d+)\s)(?: to)? (?:(?:want|use|pick|choose|go for|take|like|prefer|play|look for|find|show|buy|drive|go with|select|consume|read|watch)(?: me)? )?{_WANTED}V", "prefer", "!"),
        (r"(?:yes|no|yeah|ok|definitely|just)?,? ?(?P<v>[\w'&-]+(?: [\w'&-]+){0,2}),? only$", "want only", "!"),
        (r"(?:make sure|ensure|be sure|please)(?: that| to| we| it| you| i| the \w+| my \w+)* (?:avoids?|excludes?|do not (?:use|take)|don't (?:use|take|get)|doesn't (?:have|use|include|take)|not|never|skips?|(?:is|are)n't) V", "avoid", "-"),
        (r"(?:make sure|ensure|be sure)(?: that| to)?(?: it's| it is| it has| there's| there is| they have| they accept| to (?:use|find|have|include)| we(?:'re| are)?(?: taking| using| go for)?| you(?: find| use| include)?| they| it stays (?:at|on)| we stick to| (?:the|my|our|all|any)(?: future)? [\w ]{3,30}? (?:has|have|is|are|offers?|accepts?|supports?))? V", "ask for", ""),
        (r"(?:it |they |yes |yeah |but )*(?:must|has to|have to|needs? to|should)(?: be| offer| accept) V", "ask for", ""),
        (r"(?:set|keep|turn|adjust|change|put|make|direct|switch|lower|raise|maintain|increase|decrease|reduce|bring|boost|have|activate|crank|heat|blow)(?: up| down| on)? (?P<x>(?!sure\b)(?:the |my |all |our )?[\w' ]{2,40}?) (?:(?:(?:set |stays? |kept )?(?:to|at|on|around|towards?|up to|down to|to maintain|on to)) |(?=\d))(?:an? |the |my |something )?(?P<s>[\w°.-]+(?: [\w°.-]+){0,2})", "want", "s"),
        (rf"(?:(?:make|turn|set|keep) )?(?P<x>{_DEVICE}|it),? (?:a )?(?:set |stay |kept )?(?:to |on |at )?(?P<s>{_LEVEL})(?: (?:inside|please|for me))*$", "want", "s"),
        (rf"(?:set|make|add|use|choose|save)(?: up)? {_CHOSEN} (?:as |to )?(?:my|our) (?:new )?(?:fav(?:ou?rite|e)s?|go-to|preferred|default|usual|top|main|standard) (?P<x>(?![\w ]*(?:list|collection|queue|library)\b)[\w ]{{3,30}})", "prefer", "f"),
        (rf"(?:set|make|change|switch|update) (?:my |our |the )?(?P<x>[\w ]{{3,30}}?) (?:preference|priority|default|choice)s? (?:to|as) {_NO_DEED}{_CHOSEN}(?= (?:always|permanently|from|for|when|only|instead)\b|$)", "prefer", "f"),
        (rf"(?:set|make|use|choose|save|add) {_CHOSEN} (?:as|to) (?:my|our) (?:list of )?(?:fav(?:ou?rite|e)s? )?(?P<x>[\w ]{{3,40}})", "prefer", "ft"),
        (rf"(?:switch|change|update) (?:my|our) (?P<x>[\w ]{{3,40}}?) to {_NO_DEED}{_CHOSEN}(?= (?:always|permanently|from|for|when|only|instead|and)\b|[,.]|$)", "prefer", "ft"),
        (rf"(?:play|listen to|put on|hear|start)(?: me)? (?:something|anything|some(?:thing)? \w+|some|(?:the )?latest|(?:the )?(?:latest )?(?:songs?|tracks?|hits|tunes|music|episodes?|news|updates?|shows?))(?: \w+)? (?:by|from|of|on) (?P<v>{_PROPER})", "ask for", "m"),
        (rf"(?:find|locate|search for|look for|look up|need|want|show|crav(?:e|ing)|in the mood for|grab)(?: me| us)? (?:a |an |some )?(?P<v>{_PROPER})(?=$|[,.]| (?:nearby|near|locations?|places?|spots?|around|close|for|on|and|please|here)\b)", "ask for", "n"),
        (rf"(?:play|listen to|put on|go to|start(?: playing| with)?|turn on|open(?: up)?|switch to|tune in to|use|connect to|pull up) (?:some (?:good old )?)?(?P<v>{_PROPER}(?: \d+(?:\.\d+)?)?)(?=$|[,.?!]| (?:for|on|and|please|radio|app|podcast|now|again|to|at)\b)", "ask for", "m"),
        (rf"(?:find|navigate to|where(?:'s| is| are)|(?:always )?take (?:me|us) to|locate|look up|stop at|get me to|show)(?: me| us)? (?:(?:the |a |an )?(?:nearest|closest|nearby) |(?<=always take me to ))(?P<v>{_PROPER})(?! (?:station|restaurant|store|parking))", "ask for", "n"),
        (r"(?:(?:is|are) there(?= an? | any | some )(?! (?:a|an|any|some) (?:faster|better|new)\b|.*\b(?:you|routes?|traffic|artists)\b)|find(?:ing)?|show(?:ing)?|locate|filter for|know (?:of )?any|suggestions? for|recommendations? for|look(?:ing)? (?:for|up)|search(?:ing)? for|navigate(?: me)? to|take (?:me|us) to|direct (?:me|us) to|guide (?:me|us) to|get|recommend|suggest|book|pick|choose|need|want|start with|go (?:to|for|with)|stick (?:to|with)|head (?:to|for)|(?:start |set |begin )?(?:a |the )?(?:navigation|route|course|directions?) (?:to|for)|get (?:me|us) to|bring (?:me|us) to|crav(?:e|ing)|in the mood for|feel(?:ing)? like|include|add|try|use|" r"play|listen to|put on|start|tune in(?:to| to)?|turn on|switch(?: over)? to|open|hear|stream|follow|optimi[sz]e for|take)(?: (?:me|us))? (?:to (?:find|use|listen to|hear|have|eat|go to|visit|get|try|charge at|park at|stop at|refuel at) )?(?:a list of |one of the |some of the )?(?:something (?!that\b|to\b|like\b)|some |any |an? |the )?V", "ask for", ""),
    )
)
# fmt: on
_POLITE = anycase(
    r"(?:(?:start(?= (?:avoid|skipp|us|tak|play|pick|show)\w*ing\b)|from now on|going forward|in (?:the )?future|next time|for (?:today|tonight)|please|just|kindly|also|and|but|so|then|now|hey|ok(?:ay)?|yes|yeah|no,|great|perfect|thanks|sure|alright|actually|maybe|definitely|"
    r"(?:could|can|would|will) (?:you|we|i)(?: mind)?|(?:should|shall) we|let's|lets|i(?:'d| would) (?:like|love)(?: (?:you|us))?(?: to)?|i (?:really )?(?:want|need)(?: (?:you|us))? to|"
    r"i(?:'m| am)(?: (?:really|actually|currently|just))*(?= (?:looking|craving|in the mood|searching|feeling))|i've been(?= craving)|i(?= (?:need|want|crave|feel))|we(?= need)|i (?:do )?need to|"
    r"try to|remember to|help me(?: to)?|how about(?: we)?|(?:is it|would it be) possible to|(?:is there|are there)(?: an option to| a way to)?|i would(?= need))\b[\s,.!]*)+"
)
_LASTING = anycase(
    r"\b(?:always|only|never|from now on|going forward|every time|in (?:the )?future|usual(?:ly)?|fav(?:ou?rite|e)|go-to|prefer\w*|"
    r"no matter|exclusively|each time|all the time|permanently|instead|any ?more|for good|regular(?:ly)?|i frequent|future|"
    # "For the drive" is of today, "for my drives" is not.
    r"(?:my|our|all) (?:trips|drives|rides|journeys|commutes|errands|travels|meals))\b"
)
_CLAUSE_END = anycase(
    r"[,;:!?]|\.(?!\d)|\s[-–—]|\b(?:because|since|when(?:ever)?|while|so (?:that|i|we)|but|where|if|unless|although|though|even|"
    r"and (?:i|it|we|my|can|could|please|make|start|find|set|turn|play|take|navigate|avoid|show|then|also|let)|rather|instead|over|than|as (?:it|i|they|long|my)|that's|it's|is|are|i)\b"
)
#: A short reply is about what was spoken of before.
_SHORT_REPLY = 6
#: "Looking for a studio has been tricky" asks for nothing.
_DOING_IT = anycase(
    r"(?:looking|searching|craving|finding|avoiding|skipping|playing)\b.*\b(?:is|was|has|have|are|were|can|feels?|makes?)\b"
)
_PLAYING = anycase(
    r"(?:.*\b)?(?:play|listen|put on|hear|tune|turn on|start playing|start with|start (?=(?-i:[A-Z])\w*(?-i:[A-Z]))|go to (?=(?-i:[A-Z])[\w ]+ \d))"
)
_GENERIC_HEAD = anycase(r"\b(?:options?|places?|spots?|ones|one|locations?|types?)\b")
_NOT_BARE = anycase(
    r"(?:no|name|list|tell|give|without|don't|too|disable|exclude|remove|include|locate|search|i|we|you|he|she|it|they|there|that|this|what|how|is|are|was|were|do|does|did|can|will|so|such|great|love|amazing|enjoy|"
    r"my|your|confirm|ignore|start|stop|set|check|show|navigate|find|always|only|never|avoid|play|take|turn|keep|cancel|go|"
    r"drive|lower|raise|increase|decrease|change|adjust|add|what's|how's|any|more|less|not|nice|good|thanks|thank|volume|seen|read|and|or|.* (?:is|are|was|were))\b"
)


def asked_for(text: str, context: str, *, alone: bool = False) -> Draft | None:
    """What a request or a stated preference shows of a person's taste.

    ``context``: the subject spoken of before, which a short reply is about; ``alone``: it is all that was said.
    """
    text = text.rstrip(" .!?…")
    if _DOING_IT.match(text):
        return None
    lasting = _LASTING.search(text) is not None
    polite = _POLITE.match(text)
    for rest in (text, text[polite.end() :]) if polite else (text,):
        for pattern, says, flags in _ASKED:
            if (match := pattern.match(rest)) is None:
                continue
            is_set = "s" in flags or "-" in flags or _SETS.match(rest)
            sure = LIKED if lasting or flags[:1] in ("!", "f") else SET if is_set else ASKED
            found = _read_object(match, flags, text, context)
            if found is not None and (found.topic or _says_by_itself(found.value, flags, lasting)):
                return _wish(found, says, "-" in flags, sure, text, context)
    named = preference(text) if alone and not _NOT_BARE.match(text) else None
    if named is None or not named.topic:
        return None
    return _wish(
        named, "ask for", False, LIKED if lasting else ASKED, text, context
    )  # "fast food", said of restaurants


def _wish(what: Preference, says: str, denied: bool, sure: float, text: str, context: str) -> Draft:
    topic = in_context(what.topic, text, context)
    if denied and not what.topic and (of := topic_of(what.value)) in SET_TOPICS:
        # "Turn off the seat heating for good": no setting of it
        return Draft(f"favourite/{of}", "", f"No longer wants {what.value}", sure, assertion=ENDED)
    attribute = f"favourite/{topic}" if topic else "like"
    if denied and NO_MORE.search(text):
        return Draft(attribute, what.value, f"No longer wants {what.value}", sure, assertion=ENDED)
    polarity = NEGATED if denied else AFFIRMED
    return Draft(attribute, what.value, say(f"{says} {what.phrase}"), sure, polarity=polarity)


_SETS = anycase(r"(?:switch|change|set|make|adjust)\b")
_NAME = anycase(_PROPER)


def _says_by_itself(value: str, flags: str, lasting: bool) -> bool:
    """What is told to last needs no subject ("always supermarkets"), nor does a name that is excluded."""
    told = HEAD.fullmatch(value) is not None and (flags == "!" or (flags == "-" and lasting))
    return told or (flags == "-" and _NAME.fullmatch(value) is not None)


#: "Routes that are longer" are not all routes.
_QUALIFIED = anycase(r"\b(?:that|which|with|where|longer|to)\b")


def _read_object(match: re.Match[str], flag: str, text: str, context: str) -> Preference | None:
    """What the object of a request prefers, by the flag of its row."""
    if "w" in flag:
        found = preference(match["v"], topic_of(text))
        return found if found is not None and found.topic else None
    if "p" in flag:
        found = preference(match["v"].lower(), "payment")
        return found and found._replace(
            phrase=f"{'paying' if '-' in flag else 'to pay'} with {match['v'].lower()}"
        )
    if flag == "s":
        return _setting(match["x"], _REST.split(match.string[match.start("s") :])[0], context)
    if "f" in flag:
        topic = topic_of(match["x"]) or ("" if "t" in flag else clean(match["x"].lower(), words=2))
        found = preference(match["v"], topic)
        value = found.value if found is not None and found.topic == topic else clean(match["v"], words=8)
        shown = f"{value} as {PHRASE_END.split(match['x'].strip())[0]}"
        return Preference(topic, value, shown) if value and topic and topic not in SET_TOPICS else None
    if flag in ("m", "n"):
        return _title(bare_name(match["v"]), flag, match.string, _topic_of_name(text, context))
    context = topic_of(match.string[: match.start("v")], context)
    short = len(match["v"].split()) <= _SHORT_REPLY
    end = _CLAUSE_END.search(match["v"], 1)
    what = match["v"][: end.start()] if end else match["v"]
    of_context = (short and flag == "!") or _GENERIC_HEAD.search(what)
    found = preferred(what, context if of_context else "")
    if (
        found is None
        and flag in ("-", "!")
        and not _QUALIFIED.search(what)
        and (only := clean(PHRASE_END.split(what)[0], words=2))
        and HEAD.fullmatch(only)
    ):
        topic = topic_of(only)
        is_kind = topic in ("route", "shop")  # "avoid tolls", "always supermarkets"
        return Preference(topic if is_kind else "", only.lower(), only.lower())
    if found is not None and not found.topic and _NAME.fullmatch(found.value) is not None:
        return found._replace(topic=_topic_of_name(text))  # "exclude Smith's from my grocery search"
    return found


def _topic_of_name(text: str, context: str = "") -> str:
    """The subject of a name in ``text``: where one is taken by a fast route is no route."""
    topic = topic_of(text, context)
    return "" if topic == "route" or topic in SET_TOPICS else topic


def _title(named: str, flag: str, request: str, subject: str) -> Preference | None:
    """A name that is asked for: music by its title, a chain, a source of news."""
    subject = named_topic(named, subject)
    if flag == "m" and subject not in MEDIA:
        if not _PLAYING.match(request):
            return None
        subject = "music"
    if not subject and _BRAND.match(named) is None:
        return None  # "find Cambridge" is no taste
    return Preference(subject or "shop", named, named)


_BRAND = re.compile(r"[A-Z][a-z]+[A-Z]")
#: A setting ends here.
_REST = re.compile(r"[,;.!?](?!\d)")
_OF_LEVEL = anycase(
    r" (?:brightness|levels?|modes?|settings?|speed|colou?r|light(?:s|ing)?|celsius|fahrenheit|inside)$"
)
SET_TOPICS = frozenset(("seat heating", "seat", "fan", "airflow", "temperature", "lighting"))
#: "Comfortable" and "warmer" say no setting.
_RELATIVE = anycase(
    r"(?:more |a bit |much |slightly )?(?:comfortable|usual|normal|same|better|cooler|warmer|lower|higher|softer|brighter|dimmer|louder|right|good|my|something)\b"
)
_DEGREES = anycase(r"(\d+(?:\.\d)?) ?(?:degrees?|°)")


def _setting(what: str, to: str, context: str) -> Preference | None:
    if (degrees := _DEGREES.search(to)) is not None:
        return Preference(
            "temperature", f"{degrees[1]} degrees", f"the temperature set to {degrees[1]} degrees"
        )
    value = clean(essence(PHRASE_END.split(to)[0]), words=3)
    value = essence(HEAD.sub("", _OF_LEVEL.sub("", value)))
    if _RELATIVE.match(value):
        return None
    topic = topic_of(f"{what} {to}") or (context if what.lower() in ("it", "that", "them") else "")
    if topic not in SET_TOPICS or not value:
        return None
    of = what if topic_of(what) == topic else topic
    return Preference(topic, value, f"the {essence(of) or topic} set to {value}")
