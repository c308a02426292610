"""The tables: what a clause says, by its mood and its words.

A row is a pattern over what follows subject and auxiliary, the attribute that it fills, and how it is said of
somebody ("live in {v}").  The first row that fits decides.  ``{v}`` is the cleaned group ``v``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from processors.extraction.clauses import RELATIVES, Mood
from processors.extraction.english import anycase, words

#: How sure a statement is (0–1): told outright, liked or owned, happened or planned, set or excluded until further
#: notice, asked for once (below what ends anything else).
TOLD, LIKED, HAPPENED, SET, ASKED = 0.9, 0.8, 0.75, 0.6, 0.45


class Row(NamedTuple):
    """A way to say something.

    ``says`` begins with a base verb; ``{verb}`` is the clause's own.  ``flags``: ``-`` the words deny the value
    ("hate"), ``x`` they end it ("quit"), ``n`` only denied, ``p`` only not denied, ``e`` only ended, ``d`` only
    with a date, ``h`` only with a word of habit, ``a`` keeps the article, ``l`` a list of values, ``g`` a verb
    that is liked, ``w`` a whole phrase of up to fourteen words.
    """

    pattern: re.Pattern[str]
    attribute: str
    says: str
    confidence: float
    flags: str


def _rows(*rows: tuple[str, str, str, float, str]) -> tuple[Row, ...]:
    return tuple(
        Row(anycase(pattern.replace("V", r"(?P<v>\S.*)")), attribute, says, sure, flags)
        for pattern, attribute, says, sure, flags in rows
    )


_PET = (
    r"(?:dogs?|cats?|puppy|puppies|pups?|kittens?|kitty|hamsters?|rabbits?|bunny|parrots?|turtles?|tortoises?|goldfish|fish|"
    r"guinea pigs?|horses?|pony|lizards?|geckos?|snakes?|ferrets?|budgies?|chickens|retriever|labrador|poodle|"
    r"terrier|shepherd|beagle|corgi|bulldog|husky|dachshund|collie|pets?)"
)
#: "A driver" or "only an assistant" is what one is for the moment, "a truck driver" an occupation.
ROLE = (
    r"(?:(?<=[\w-] )(?<!\ban )(?<!\ba )(?<!\bthe )(?:driver|assistant|officer|specialist|planner|judge|producer)|[\w-]*(?:teacher|nurse|doctor|engineer|developer|lawyer|programmer|designer|accountant|writer|author|"
    r"artist|musician|scientist|chef|baker|cook|waiter|waitress|pilot|farmer|manager|director|analyst|"
    r"architect|dentist|therapist|psychologist|pharmacist|electrician|plumber|carpenter|mechanic|journalist|"
    r"editor|photographer|painter|dancer|actor|actress|singer|professor|lecturer|researcher|student|consultant|"
    r"librarian|paramedic|firefighter|soldier|veteran|banker|barista|bartender|hairdresser|coach|trainer|"
    r"tutor|translator|surgeon|physicist|chemist|biologist|economist|historian|salesperson|recruiter|"
    r"technician|administrator|secretary|receptionist|cashier|clerk|entrepreneur|freelancer|intern|"
    r"colorist|veterinarian|vet|midwife|gardener|florist|screenwriter|novelist|poet|copywriter|counselor|social worker|"
    r"business owner|homemaker|stay-at-home (?:mom|dad|parent)|stylist|instructor|priest|pastor|nanny|gamer))"
)
DIET = r"(?:vegan|vegetarian|pescatarian|pescetarian|keto|gluten[- ]free|halal|kosher|dairy[- ]free|plant[- ]based|paleo|low[- ]carb)"
HEALTH = (
    r"(?:diabetes|asthma|arthritis|migraines?|insomnia|anxiety|depression|adhd|epilepsy|eczema|hypertension|high blood pressure|"
    r"celiac(?: disease)?|coeliac(?: disease)?|ibs|cancer|back pain|a bad (?:back|knee|hip)|a heart condition|tinnitus|vertigo|"
    r"type [12] diabetes|sleep apnea|gout|anemia|lupus|dyslexia|autism|chronic \w+(?: \w+)?|(?:a )?hearing loss)"
)
_OCCASION = (
    r"(?:[\w'-]+ ){0,3}?(?:appointment|exam|interview|meeting|deadline|flight|party|wedding|trip|test|surgery|concert|race|"
    r"marathon|audition|presentation|check-?up|conference|reunion|match|game|tournament|class|course|workshop|call|"
    r"operation|recital|date|webinar|session|retreat|vacation|holiday|show|review|anniversary|graduation|launch|event)"
)
_COUNT = r"(?:an?|one|two|three|four|five|six|my own|some|several|\d+)"

#: One animal, or some of a kind, but no fish tank.
_ONE_PET = (
    rf"(?:{_COUNT}|the|this) (?:(?!kids?\b|children\b|for\b|of\b|in\b|with\b|about\b)[\w-]+ ){{0,2}}{_PET}\b(?! (?:tank|bowl|food|park|show|house|bed|shop|store|person|lover)s?\b)"
    r"(?:,? (?:called|named) (?-i:[A-Z])\w+(?:,? and (?-i:[A-Z])\w+)?)?"
)

# A row is a line.
# fmt: off
LIKING = _rows(
    (r"(?:like|love|enjoy|adore|appreciate|dig|cherish) (?:to )(?:just |also |really )?(?P<g>(?:(?:rock|scuba|ice|horseback|bird|binge) )?\w+)(?P<v>.*)", "like", "like {v}", LIKED, "g"),
    (r"(?:like|love|enjoy|adore|dig|fancy|savou?r) V", "like", "like {v}", LIKED, "l"),
    (r"(?:hate|dislike|detest|loathe|despise|can't stand|can't bear) (?:to )(?P<g>\w+)(?P<v>.*)", "like", "like {v}", LIKED, "g-"),
    (r"(?:hate|dislike|detest|loathe|despise|can't stand) V", "like", "like {v}", LIKED, "-l"),
    (r"find (?P<v>.{3,50}?) (?:to be )?(?:(?:the|more|most|so|very|really|quite|much|always) )*(?:relaxing|reliable|comfortable|convenient|easier|better|soothing|enjoyable|straightforward|calming|accurate|comforting|efficient|fun|interesting|perfect|ideal|the right \w+|just right)\b", "like", "like {v}", LIKED, ""),
    (r"(?:care(?: much)? about|worry about) V", "", "care about {v}", LIKED, "n"),
    (r"mind V", "", "mind {v}", LIKED, "n"),
    (r"(?:want|need|use|feel like) (?!to\b)V", "like", "want {v}", LIKED, "e"),
)
ALLERGIES = _rows(
    (r"(?:have|developed) (?:an? )?(?:[\w-]+ )?(?:allergy|allergies|intolerance) to V", "allergy", "be allergic to {v}", TOLD, "l"),
    (r"(?:have|developed) (?:an? )?(?:\w+ )??(?P<v>(?!(?:severe|bad|mild|serious|food|strong|seasonal|any|such|no)\b)[\w-]+) (?:allergy|allergies|intolerance)\b(?! to\b)", "allergy", "be allergic to {v}", TOLD, ""),
)
AVOIDING = _rows((r"(?:avoid|not eat|stay away from|steer clear of|stick to avoiding) V", "constraint", "avoid {v}", LIKED, ""))
SPEAKING = _rows((r"speak (?P<v>(?:(?:fluent|some|a little|basic|native) )?(?-i:[A-Z])\w+(?:(?:, (?-i:[A-Z])\w+)*,? and (?-i:[A-Z])\w+)?)$", "language", "speak {v}", TOLD, "l"))

DO = _rows(
    (r"(?:live|reside|stay) (?:in|at|near|outside(?: of)?) (?P<v>(?-i:the |a |an )?(?-i:[A-Z]).*)", "home", "live in {v}", TOLD, ""),
    (rf"work as (?P<v>(?:an?|the) .*?|(?:[\w-]+ )*{ROLE})(?= (?:at|for|with|in|on|who)\b|$)", "occupation", "work as {v}", TOLD, "a"),
    (r"work (?:at|for|by) (?P<v>(?!the (?:moment|time|same)\b|\d|(?:money|fun|free|it|you|them|peace|love|change|hours|years)\b)\S.*?)(?= (?:as|so|to|during|full|part)\b|$)", "employer", "work at {v}", TOLD, ""),
    (r"work in (?P<v>(?!the (?:morning|evening|afternoon)|a (?:team|group)|bed)(?:(?:a|an|the) )?[\w-]+(?: [\w-]+){0,3})$", "occupation", "work in {v}", LIKED, "a"),
    (r"work (?P<v>from home|remotely|part[- ]time|full[- ]time|nights|night shifts?|freelance|shifts)\b", "habit", "work {v}", LIKED, ""),
    (r"teach (?P<v>(?!my\b|me\b|them\b|you\b|her\b|him\b|us\b).*)", "habit", "teach {v}", LIKED, ""),
    (r"(?:study|major in) (?P<v>(?!for\b|at\b|in\b|with\b|hard\b).*)", "education", "study {v}", LIKED, ""),
    (r"(?:run|own) (?P<v>(?:an?|my own) (?:[\w-]+ ){0,3}(?:business|company|shop|store|studio|restaurant|bakery|cafe|farm|agency|salon|startup)\b.*)", "occupation", "run {v}", LIKED, "a"),
    (r"(?:come|hail) from (?P<v>(?-i:[A-Z]).*)", "origin", "come from {v}", TOLD, ""),
    (r"have a birthday on V", "birthday", "have a birthday on {v}", TOLD, ""),
    (rf"have (?:got )?(?P<v>{_ONE_PET}(?:(?:,? and|,) {_ONE_PET})*)", "pet", "have {v}", TOLD, "a"),
    (rf"have (?P<v>{_COUNT} (?:[\w-]+ ){{0,2}}{RELATIVES}\b(?: and {_COUNT} (?:[\w-]+ )?{RELATIVES}\b)?)(?! (?:who|that|to|in))", "family", "have {v}", TOLD, "a"),
    (rf"(?:have|suffer from|live with|struggle with) (?P<v>(?:\w+ )?{HEALTH})\b", "health", "have {v}", TOLD, "a"),
    (rf"have (?P<v>(?:an?|my|another|the) {_OCCASION}\b.*)", "plan", "have {v}", HAPPENED, "da"),
    (r"(?:have|own|drive) (?P<v>(?:an?|two|three) (?:(?!(?:in|for|with|at|of|from|to|on)\b)[\w-]+ ){0,3}(?:car|bike|motorcycle|truck|house|boat|piano|guitar|van|scooter|electric car|e-bike|camper|garden|flat|apartment|condo|cabin|farm|tesla|suv|violin)\b)", "possession", "own {v}", LIKED, "a"),
    (r"(?:play|collect|practi[cs]e|knit|paint|coach|volunteer(?: at| with| for)?|meditate|run|swim|jog) (?P<v>(?:the )?(?:guitar|piano|violin|drums|cello|flute|bass|ukulele|saxophone|trumpet|clarinet|chess|tennis|football|soccer|basketball|volleyball|badminton|golf|hockey|rugby|cricket|baseball|video games|stamps|coins|vinyl(?: records)?|yoga|tai chi|karate|judo|meditation|pottery)\b.*)", "habit", "{verb} {v}", LIKED, ""),
    (r"(?:eat|drink|consume) (?P<v>.*)", "habit", "{verb} {v}", LIKED, "h"),
    (r"(?:plan|intend|hope|aim|want) to (?P<v>(?:become|learn(?! (?:about|(?:a (?:bit|little|lot) )?more)\b)|move|start(?! with| by)|open|visit|travel|study|apply|buy|adopt|run|retire|launch|publish|get married|build|write|join|finish|complete|submit|be an?|work as|have (?:kids|children))\b.*)", "plan", "plan to {v}", HAPPENED, "wa"),
    (r"(?P<v>smoke|vape|meditate|journal|commute|snore|freelance|garden|ski|snowboard|surf|blog|crochet)\b(?P<o>.*)", "habit", "{v}", LIKED, ""),
    (r"(?P<v>(?!have to|need|want|mean|think|know|feel|guess|hope|say|wonder|see|get|am|be|have|find|try|end|make|seem|like|love|wish|look|forget|wanna|gotta|rely|struggle|believe|keep|remember|let|enjoy|prefer|ask|tell|consider|tend|notice|understand|miss|trust)[a-z]{2,}(?<!ed)\b .*)", "habit", "{v}", LIKED, "hwa"),
)

BE = _rows(
    (r"(?P<v>\d{1,2})(?: years? old| yrs? old|$| and\b|,)", "age", "be {v} years old", TOLD, ""),
    (r"called (?P<v>(?-i:[A-Z]).*)", "name", "be called {v}", TOLD, ""),
    (r"(?:from|a native of) (?P<v>(?-i:the |a |an )?(?:small \w+ in )?(?-i:[A-Z]).*)", "origin", "be from {v}", TOLD, ""),
    (rf"(?P<v>{DIET})\b(?! (?:restaurant|food|place|option|menu|recipe|dish))", "diet", "be {v}", TOLD, ""),
    (r"(?:an? )(?:\w+ )?(?P<v>vegan|vegetarian|pescatarian)\b(?! \w+ing)", "diet", "be {v}", TOLD, ""),
    (r"(?:on|following|doing) an? (?P<v>(?:\w+[- ]?){1,2}) diet", "diet", "be on a {v} diet", TOLD, ""),
    (r"allergic to V", "allergy", "be allergic to {v}", TOLD, "l"),
    (r"(?P<v>(?:lactose|gluten|fructose|histamine)[- ]intolerant)", "allergy", "be {v}", TOLD, ""),
    (r"(?:recovering from|suffering from|living with) V", "health", "have {v}", TOLD, "a"),
    (r"(?P<v>diabetic|asthmatic|colou?r-?blind|pregnant|deaf|dyslexic|epileptic|autistic|left-handed|disabled|sober|hard of hearing|transgender|trans|gay|lesbian|bisexual|non-?binary)\b", "health", "be {v}", TOLD, ""),
    (r"(?P<v>(?:happily )?(?:married|engaged|divorced|widowed|separated|single)(?: to (?-i:[A-Z])\w+)?)(?= with\b|$|[,.;!]| and\b| for\b| since\b| now\b| again\b)", "relationship", "be {v}", TOLD, ""),
    (r"dating V", "relationship", "be dating {v}", LIKED, "a"),
    (r"(?P<v>retired|unemployed|self-employed|between jobs|a stay-at-home \w+)\b", "occupation", "be {v}", TOLD, "a"),
    (rf"(?P<v>an? (?:(?!fan|big|bit|huge|very|good|great|better|bad|terrible|little|(?:for|of|to|with|who|and|in|on|at|from|by|under|than)\b)[\w/-]+ ){{0,4}}{ROLE})\b(?! (?:lover|fan|myself|who thinks))(?P<o>.*)", "occupation", "be {v}", TOLD, "a"),
    (r"(?:learning|teaching myself)(?: how)? to V", "habit", "be learning to {v}", LIKED, "w"),
    (r"(?:learning|studying up on|teaching myself) V", "habit", "be learning {v}", LIKED, "w"),
    (r"(?:of )?an? (?:(?:big|huge|massive|real|great|avid|total) )*(?:fan of|sucker for|believer in) V", "like", "like {v}", LIKED, "l"),
    (r"(?:of )?an? (?:(?:big|huge|massive|real|great|avid|total|more) )*(?P<v>(?!huge|big|massive|great|good|nice|people)[\w-]+(?: [\w-]+)?) (?:fan|lover|enthusiast|buff|nerd|addict)\b", "like", "be a {v} fan", LIKED, ""),
    (r"(?:of )?an? (?:(?:big|huge|massive|real|great|total|more) )*(?P<v>(?!huge|big|massive|great|good|nice|people)[\w-]+(?: [\w-]+)?) person\b", "like", "be a {v} person", LIKED, ""),
    (r"(?:(?:big|huge|massive) fans? of|into|fond of|obsessed with|crazy about|addicted to|hooked on|keen on|partial to|passionate about|mad about|in love with|big on|interested in(?! (?:learning|knowing|hearing|finding|reading)\b)) V", "like", "like {v}", LIKED, "l"),
    # "Off work" and "off the market" are where one is, not what one has given up.
    (r"(?:over(?! the moon\b| \d| \w+ing\b)|done with|through with|off(?! (?:work|school|sick|duty|campus|season|topic|track|limits|base|guard|balance|today|tonight|tomorrow|this|the|my|our|until|till|again|early|out)\b)) V", "like", "like {v}", LIKED, "xp"),
    (r"(?:moving|relocating) (?:back )?to (?P<v>(?-i:[A-Z]).*)", "plan", "be moving to {v}", HAPPENED, "d"),
    (r"(?:planning|hoping|thinking of|thinking about|looking|saving up|saving|preparing|about|going) to (?P<v>(?:become|learn(?! (?:about|(?:a (?:bit|little|lot) )?more)\b)|move|open|visit|travel|study|apply|buy|adopt|retire|launch|publish|get married|run|go to|take|build|write|join|meet|attend|start|complete|finish|submit)\b.*)", "plan", "plan to {v}", HAPPENED, "wap"),
    (r"(?:planning|hoping|thinking of|thinking about|looking|saving up|saving|preparing|about|going)(?: for| on)? (?P<v>(?:getting|moving|buying|adopting|starting|changing|opening|learning|studying|applying|visiting|going to|quitting|retiring|writing|taking|an? (?:\w+ )?(?:trip|wedding|party|vacation|move|holiday|new \w+|house|car))\b.*)", "plan", "plan {v}", HAPPENED, "wap"),
    (r"(?P<v>(?:flying|travel?ling|going|visiting|meeting|starting|seeing|getting married|attending|hosting|leaving|presenting|moving|taking|running|submitting|launching|having|preparing for)\b.*)", "plan", "be {v}", HAPPENED, "dwa"),
    (r"(?:expecting|having) (?P<v>an? (?:baby|child|boy|girl)|twins)\b", "family", "be expecting {v}", TOLD, "a"),
)

WAS = _rows(
    (r"born (?:and raised )?in (?P<v>(?-i:[A-Z]).*)", "origin", "be from {v}", TOLD, ""),
    (r"born on V", "birthday", "be born on {v}", TOLD, ""),
    (r"(?:raised|brought up) in V", "origin", "be from {v}", TOLD, ""),
    (r"diagnosed with V", "health", "have {v}", TOLD, "a"),
)

DID = _rows(
    (r"(?:moved|relocated) (?:back )?(?:here )?(?:from \S.{1,40}? )?to (?P<v>(?!a new|another|the next|the country)(?:the )?(?-i:[A-Z]).*)", "home", "live in {v}", TOLD, ""),
    (r"(?:moved|relocated) (?:(?:here|away|out) )?(?:from|of) (?P<v>(?-i:[A-Z]).*)", "home", "live in {v}", TOLD, "xp"),
    (r"grew up (?:in|on|near) (?P<v>(?:(?:rural|northern|southern|eastern|western|a|an|the|small|big|little) )*(?:(?-i:[A-Z])|(?:town|village|farm|city|suburbs|countryside|ranch|island)\b).*)", "origin", "be from {v}", TOLD, ""),
    (r"(?:quit|left|lost|resigned from) (?:my|our) (?:\w+ )?job (?:at|with) (?P<v>(?-i:[A-Z]).*)", "employer", "work at {v}", TOLD, "xp"),
    (r"(?:quit|left|lost|resigned from) (?:my|our) (?:\w+ )?job as V", "occupation", "work as {v}", TOLD, "xap"),
    (r"(?:quit|left|lost|resigned from) (?:my|our) (?:\w+ )?job\b(?P<v>)", "employer", "left the job", TOLD, "xp"),
    (r"(?P<v>retired)\b", "occupation", "be {v}", TOLD, ""),
    (r"(?:quit|stopped|gave up) (?P<v>(?!being|worrying|trying|thinking|feeling)[\w-]+ing(?: \S+){0,2}|coffee|sugar|meat|alcohol|dairy|caffeine|cigarettes|gluten)\b", "habit", "gave up {v}", TOLD, "xp"),
    (rf"(?:adopted|got|bought|rescued) (?P<v>{_COUNT} (?:[\w-]+ ){{0,3}}{_PET}\b(?:,? (?:called|named) (?-i:[A-Z])\w+)?)", "pet", "have {v}", TOLD, "a"),
    (r"(?:became|started (?:working )?as) (?P<v>an? .*)", "occupation", "be {v}", TOLD, "a"),
    (r"(?:started|began) (?:working )?(?:at|for) (?P<v>(?-i:[A-Z]).*)", "employer", "work at {v}", TOLD, ""),
    (r"(?:went|turned|became) (?P<v>vegan|vegetarian|pescatarian|keto|gluten-free)\b", "diet", "be {v}", TOLD, ""),
    (r"(?:got|became) (?P<v>married|engaged|divorced)\b", "relationship", "be {v}", TOLD, ""),
    (r"graduated from V", "education", "graduated from {v}", TOLD, "a"),
    (r"studied at V", "education", "studied at {v}", TOLD, "a"),
    (r"(?:graduated (?:with a degree )?in(?! \d)|got my degree in|majored in) V", "education", "studied {v}", TOLD, "a"),
)

WILL = _rows(
    (r"be (?P<v>\w+ing .*)", "plan", "will be {v}", HAPPENED, "dwa"),
    (r"(?:be (?=in |at |on ))?(?P<v>(?!be |go all |see you|let you|talk|keep|try|definitely|be sure|never|remember|cherish|miss|forget)\w+ .*)", "plan", "will {v}", HAPPENED, "dwa")
)
CAN = _rows(
    (r"(?:stand|bear) V", "like", "like {v}", LIKED, "nl"),
    (r"(?:resist|get enough of|do without|go without|live without|say no to) V", "like", "like {v}", LIKED, "n-"),
    (r"(?:eat|drink|have|tolerate|digest|handle) (?P<v>(?!a conversation|enough|fun|been\b|\w+ed\b).*)", "constraint", "cannot {verb} {v}", TOLD, "n-a"),
)
# fmt: on

TABLES: dict[Mood, tuple[Row, ...]] = {
    Mood.DO: (*LIKING, *ALLERGIES, *SPEAKING, *AVOIDING, *DO),
    Mood.USED: (*ALLERGIES, *SPEAKING, *AVOIDING, *DO),  # who used to love something may love it still
    Mood.BE: (*WAS, *BE),
    Mood.WAS: WAS,
    Mood.DID: (*ALLERGIES, *DID),
    Mood.WILL: WILL,
    Mood.CAN: (*SPEAKING, *CAN),
    Mood.MUST: AVOIDING,
}

OCCASION = anycase(rf"{_OCCASION}$")
ONE_PET = anycase(_ONE_PET)
PET = anycase(rf"(?:[\w-]+ ){{0,2}}{_PET}$")
RELATIVE = anycase(
    rf"(?:(?:older|younger|little|big|best|youngest|oldest|eldest|twin|late|\d+-year-old) )*{RELATIVES}(?: (?P<name>(?!(?:days|years|time|stuff|life|things)\b)[A-Za-z]\w+))?$"
)
#: What can be said of somebody else and stays worth knowing.
OF_OTHERS = words(
    "home occupation employer origin diet allergy health age like relationship education pet name language"
)


def first(rows: Iterable[Row], rest: str) -> tuple[Row, re.Match[str]] | None:
    """The first row whose pattern fits the beginning of ``rest``."""
    for row in rows:
        if (match := row.pattern.match(rest)) is not None:
            return row, match
    return None
