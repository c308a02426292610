"""Whether each pronoun of a line stands for something that the line names before it (English).

Read among other lines, "Ada admires his patience" takes its "his" from whoever the line before is about.  So a
line is told when what its pronouns stand for stands in it, in a clause before theirs; of what is neither sure
nor idiom, nothing is told.  Number and kind decide (Hobbs 1978 without the tree): a person for "she", several
for "they", anything that is named for "it".  What a verb is done to is never its own subject (Chomsky 1981,
principle B), and a time or a place is hardly meant.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from processors.summaries.perspective import is_known_verb
from processors.summaries.reading import is_content_word, words
from processors.summaries.speech_acts import any_of, is_clause

#: No noun follows: "that", but not "that tax form".
ALONE = (
    r"\b(?=\W*\Z|\W*[,;.!?]|'(?:s|ll|d)\b| (?:after|again|and|as|at|because|before|but|by|every|first|for|"
    r"from|if|in|instead|up|out|off|down|away|back|is|isn't|was|wasn't|will|would|has|had|can|could|may|might|"
    r"later|more|myself|next|now|on|once|or|right|so|soon|then|to|today|together|tomorrow|tonight|too|until|"
    r"when|while|with|without|yet)\b)"
)
#: "It" that stands for nothing before it: the weather, the time, what follows, a set phrase.
_OPINION = (
    r"(?:(?:(?!an?\b|the\b)\w+ ){0,2}(?!an?\b|the\b)\w+|"
    r"an? (?:\w+ )?(?:shame|pity|relief|wonder|miracle|fact|thing))"
)
_IDIOM = any_of(
    r"\bit(?:'s| is| was|'d be| would be| will be|'ll be| has been|'s been| can be| could be| might be| must "
    r"be| feels?| felt| seems?| takes?| took| costs?| hurts?| helps?| makes?| means?)(?: not|"
    r"n't)?(?: (?!(?:to|that|how|when|if|for|going|used|supposed|about|due|ready|able|meant|based|on|in|of|by|"
    r"at|with|from)\b)\w[\w-]*){0,5} (?:to \w|for (?:me|us|you|\w+) to\b|how\b|when\b|if\b|since\b)",
    # "It's a boat that I love" is a boat.
    rf"\bit(?:'s| is| was|'s been| has been| seems?| means?) (?:{_OPINION} )?that\b",
    r"\bit(?:'s| is| was) (?:not )?\w+ (?:i|we|you|he|she|they|the|my|our|\w+ing)\b",
    r"\bit(?:'s| is| was|'ll be| will be|'s been| has been| looks like| gets| got| turns? out| turned "
    r"out)(?: (?!with\b|for\b|in\b|on\b)\w+){0,3} (?:rain\w*|snow\w*|sunny|windy|late|early|dark|time|noon|"
    r"midnight|\d[\d:]*|half|a (?:long )?(?:while|time)|(?:mon|tues|wednes|thurs|fri|satur|sun)day|spring|"
    r"summer|autumn|fall|winter|christmas|years?|months?|weeks?|days?|hours?|minutes?)\b",
    r"\bit (?:rains?|rained|snows?|snowed|depends)\b|\b(?:when|as far as) it comes? to\b|\b(?:find|found|"
    r"think|make|makes|made|consider|take|takes|took|feel|felt) it (?:\w+ )?\w+ (?:to|that|when|if)\b|"
    r"\b(?:make|made|makes|making) it(?: (?:to|on time|in time|home|there|through|work)\b|\W*\Z| (?:\w+day|"
    r"\d))|\bit(?=: )|\btake it (?:easy|slow)\b|\b(?:worth|hate|love|appreciate|like|enjoy) it(?= when\b|"
    r" if\b|\W*\Z(?<=worth it))|\bworth it\b",
    r"\b(?:all|that's|help) it\b|\b(?:call|calling) it (?:a day|quits)\b|\bas it (?:is|was|turned out)\b",
)
_ANY_IT = re.compile(r"\bit\b", re.IGNORECASE)
_IT = re.compile(r"\b(?:it|its|itself)\b(?!['’]?s? (?:\w+ )?(?:you|me|us) (?:who|that))", re.IGNORECASE)
_THAT = any_of(
    r"(?:\A|(?<=[,.!?] ))this(?= (?:gave|gives|made|makes|took|takes|meant|means)\b)",
    r"(?:\A|(?<=[,.!?] ))that(?= \w+s\b)",
    rf"(?<![a-z] so )\b(?:this|that){ALONE}(?! (?:i|we|you|he|she|it|they|the|there)\b)",
)
#: Whoever decides such things: "they say", "the hall that they built".
_WHOEVER = any_of(r"\b(?:they say|that they|which they)\b")
_THEY = any_of(rf"\b(?:they|them|their|theirs|themselves)\b|\b(?:these|those){ALONE}")
_PERSON = any_of(r"\b(?:he|him|his|himself|she|her|hers|herself)\b")
_END = r"(?=\W*\Z|\W*[,;.!?]| (?:is|was|are|were|has|had|have|will|can|to|for|and|but|so|in|on|with|when)\b)"
_AFTER_NOUN = r"(?=\W*\Z|\W*[,;.!?]| (?:for|and|but|so|on|with|when|last|this|next|\w+day)\b)"
_ONE = any_of(
    rf"\b(?:\w+ ){{0,2}}(?:the|this|that|another|new|old|normal|\w+er) one{_END}(?! in\b| with\b)|"
    rf"\b(?:\w+ ){{0,2}}ones\b(?! who\b)",
    rf"\b(?:buy|get|got|have|need|want|order|rent|take|try|find|bring|make|use) one(?:{_END}|(?= right| now))",
)
#: Of what there are others, so many or any: no noun says.
_OTHER_ONE = any_of(
    rf"\bthe other(?: ones?)?\b{_END}",
    rf"\b(?:any|some|a few)\b(?:{_END}|(?= (?:around|here|near\w*|left|within|from|in|at)\b))",
    r"\b(?:it|them|this|that),? too\W*\Z|\bof (?:that|this) (?:kind|sort|type)\b|\bany (?:that|who|which)\b|"
    r"\b(?:so|too) many\b(?=\W*\Z|[,;.!?])|\ban? (?:\w+ )?fan\W*\Z|\b(?:that|this) (?:place|thing|shelf|"
    r"process|purpose|procedure|case)\b",
)
#: Which one is meant, without more: "that way", "those days".
_KNOWN = (
    r"(?:way|kind|sort|type|time|day|week|month|year|morning|afternoon|evening|night|\w+day|spring|summer|"
    r"autumn|fall|winter|term|semester|season|weekend|one|next|past|last|coming|point|moment|much|who|as)s?\b"
)
#: "These students", "that licence": which ones, the line has to say before.
_POINTED_NOUN = any_of(
    rf"\b(?:these|those|such(?: an?)?) (?!{_KNOWN})(?P<several>[a-z]+){_END}",
    rf"\b(?P<verb>\w+) that (?!{_KNOWN})(?P<done>[a-z]+){_AFTER_NOUN}",
    r"(?:^(?:(?:and|but|so|is|was|are|does|did|do|can|could|will|has|if|when)\b,? )*|\b(?:in|to|at|for|from|"
    rf"with|about|by|of|on|into) )that (?!{_KNOWN})(?P<noun>[a-z][\w-]+(?: [a-z][\w-]+)?)",
)
#: A "that" behind one of these begins a clause.
_SAYING_TEXT = "think thought know knew say said believe hope feel felt see saw hear heard mean guess tell told"
_SAYING = frozenset(_SAYING_TEXT.split())

_PEOPLE = any_of(
    r"\b(?:(?:grand|step|god|great-)?(?:mother|father|mom|mum|mommy|dad|daddy|ma|pa|son|daughter|child|"
    r"parent|aunt|uncle|sister|brother|cousin|niece|nephew)|(?:grand)?(?:ma|pa)|wife|husband|spouse|partner|"
    r"girlfriend|boyfriend|fianc\w+|bride|bridegroom|groom|friend|buddy|pal|neighbou?r|roommate|flatmate|"
    r"colleague|co-?worker|boss|manager|director|president|secretary|assistant|teacher|professor|tutor|"
    r"coach|mentor|student|pupil|doctor|dr|nurse|dentist|vet|therapist|patient|lawyer|judge|officer|"
    r"policeman|policewoman|driver|waiter|waitress|chef|cook|clerk|agent|customer|client|guest|owner|"
    r"landlord|landlady|tenant|singer|actor|actress|author|writer|artist|player|champion|man|woman|guy|girl|"
    r"boy|lady|gentleman|kid|baby|person|dude|mr|mrs|ms|dog|cat|puppy|kitten|horse|pet)\b"
)
#: The end of most plurals, and what is several without it.
_SEVERAL = any_of(
    r"\b(?!(?:always|perhaps|sometimes|besides|yes|this|its|us|thus|thanks|was|is|has|does|gas|bus|news|less|"
    r"across|towards?|afterwards|times|lots)\b)\w{2,}[a-hj-rtv-z]s\b",
    r"\b(?:people|children|men|women|folks|police|staff|team|family|crew|band|company|group|couple|"
    r"audience|feet|"
    r"teeth|mice|someone|somebody|anyone|anybody|everyone|everybody|nobody|no one)\b|\b\w+,? (?:and|"
    r"or) (?!(?:i|we|you|he|she|it|they|there|this|that|then|so|if|when|what|how)\b)(?:the |my |our |an? )?\w+",
)
#: Behind these a word is a verb or an adjective, and names nothing.
_NO_NOUN_TEXT = """
i we you he she they it to not never always really just also will would can could should must may might 'll
am is are was were be been being i'm we're you're i've we've i'd i'll we'll don't didn't can't won't wouldn't
couldn't isn't wasn't feel feels felt so very too quite pretty more most have had has let's
"""
_BEFORE_NO_NOUN = frozenset(_NO_NOUN_TEXT.split())
#: Behind these it is a noun, though there is a verb like it: "by train".
_NOTHING = frozenset(
    ("sometimes", "nothing", "everything", "nobody", "everybody", "someone", "somebody", "everyone")
)
_A_NOUN_TEXT = "a an the my your our his her their this that by of with for in on from about"
_BEFORE_A_NOUN = frozenset(_A_NOUN_TEXT.split())
#: No day, and behind no word that a place stands behind.
_NAME = re.compile(
    r"(?<=[\w,;:'’)] )(?<!\b[Ii]n )(?<!\b[Aa]t )(?<!\b[Oo]n )(?<!\bby )(?<!\bnear )(?<!\bof )(?!I\b)"
    r"(?!(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|January|February|March|April|June|July|August|September|"
    r"October|November|December)[A-Z]\w+"
)
_NAMED_FIRST = re.compile(r"\A[A-Z]\w+(?:['’]s)? (?=(?:is|was|has|had|will|and|said|says|told|thinks|wants)\b)")
#: What is done to it: "seeing it" names nothing.
_DOING = re.compile(r"\b\w+ing\s+\Z")
#: A subject, or whose something is.
_OWN_CLAUSE = any_of(
    r"(?:he|she|they|his|her|their|its|(?:\w+ )*ones?)\b|(?:it|this|that|these|those)(?:'s|'ll|'d| (?:\w+ly |"
    r"also |just |still |never |always |only )?(?:is|are|was|were|has|have|had|will|would|can|could|may|might|"
    r"must|should|do|does|did|got|came|went|took|gave|made|\w+n't|\w{2,}(?<!s)s|\w+ed)\b)"
)
_CLAUSE_BEGINS = any_of(
    r"(?P<stop>[;:.!?–—])\s|,\s|\b(?:and|but|or|so|because|if|when|while|since|until|till|that|which|who|"
    r"where|what|how|after|before|as|than|though|although|to)\b"
)
#: When or where.
_CIRCUMSTANCE = any_of(
    r"\b(?:(?:in|on|at|during|until|since|last|next|every|each|all)(?: (?:the|an?|my|our|your|his|her|their|"
    r"this|that|these|those|\w+st))*|this) [\w-]+"
)
_TOKEN = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


def leaves_open(text: str) -> bool:
    """Tell whether a pronoun of a text stands for something that the text does not name before it."""
    free = _WHOEVER.sub("__ ", _IDIOM.sub(lambda idiom: _ANY_IT.sub("__", idiom.group()), text))
    named: tuple[tuple[re.Pattern[str], Callable[[str], bool]], ...] = (
        (_PERSON, _names_a_person),
        (_THEY, _names_several),
        (_IT, _names_a_thing),
        (_THAT, _names_a_thing),
        (_ONE, lambda before: _names_a_thing(before) or _names_several(before)),
    )
    unnamed = any(not names(_before(found)) for cue, names in named for found in cue.finditer(free))
    return unnamed or _OTHER_ONE.search(free) is not None or any(map(_is_unnamed, _POINTED_NOUN.finditer(free)))


def _before(pronoun: re.Match[str]) -> str:
    """What may name what a pronoun stands for: all before it, or before its clause where it is no subject."""
    text, end = pronoun.string, pronoun.start()
    if not _OWN_CLAUSE.match(text, end):
        begins = list(_CLAUSE_BEGINS.finditer(text, 0, end))
        # "A sleeve or glove in it": where no verb stands, no clause begins.
        end = next((b.end() for b in reversed(begins) if b["stop"] or _has_verb(text[b.end() : end])), 0)
    return _CIRCUMSTANCE.sub(" __", text[:end])


def _has_verb(part: str) -> bool:
    forms = (form for word in part.lower().split() for form in (word, word[:-1], word[:-2]))
    return is_clause(part) or any(map(is_known_verb, forms))


def _is_unnamed(pointed: re.Match[str]) -> bool:
    """Tell whether the noun that something is pointed at with has not been said before it."""
    verb = (pointed["verb"] or "").lower()
    if verb in _SAYING or (verb and not is_known_verb(verb)):
        return False  # "I know that people row"
    noun = words(pointed["noun"] or pointed["several"] or pointed["done"])
    return bool(noun) and not noun & words(pointed.string[: pointed.start()])


def _names_a_person(before: str) -> bool:
    named = _NAME.search(before) or _NAMED_FIRST.match(before)
    return named is not None or _PEOPLE.search(before) is not None


def _names_several(before: str) -> bool:
    return any(not is_known_verb(found.group().split()[-1].lower()) for found in _SEVERAL.finditer(before))


def _names_a_thing(before: str) -> bool:
    """Tell whether there is a noun in a text, as far as its place and the lists of verbs tell."""
    previous = ""
    for found in _TOKEN.finditer(_DOING.sub("", before)):
        word = found.group().replace("’", "'")
        folded = word.lower()
        if (
            is_content_word(folded.partition("'")[0])
            and folded not in _NOTHING
            and previous not in _BEFORE_NO_NOUN
            and (word == folded or previous in _BEFORE_A_NOUN)  # "Rosa, that ..." is said to her
        ):
            several = _SEVERAL.match(folded) or _PEOPLE.match(folded)  # no "it"
            if not several and previous in _BEFORE_A_NOUN:
                return True
            if not (several or folded.endswith(("ly", "ing")) or is_known_verb(folded)):
                return True
        previous = folded
    return False
