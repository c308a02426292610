"""The words that the extraction rules know.  Closed lists, lower case; the rules stand beside them.

A verb that no list names is neither a preference nor small talk: tense and company decide
(:mod:`processors.extraction.rules`).
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    """The words of a list that is written as one string."""
    return frozenset(text.split())


# --- adverbs between subject and verb -------------------------------------------------------------------

#: "I don't ... X" says what is not wanted.
CONSUMING = _words("eat drink watch listen use wear read smoke consume play trust buy take")

#: They carry meaning and stay.
ADVERBS = _words(
    "always never often usually sometimes rarely seldom mostly mainly generally normally typically only also "
    "still now currently recently lately already just once finally even ever both all almost hardly barely "
    "frequently occasionally regularly constantly strongly primarily exclusively strictly ideally soon then"
)
#: They only colour and go.
FILLERS = _words(
    "really actually literally honestly basically totally definitely absolutely truly simply so very super "
    "certainly obviously personally genuinely seriously especially particularly quite pretty much"
)
#: They make a statement less sure and go.
HEDGES = _words("kinda sorta probably maybe perhaps possibly somewhat")

#: A habit: "I always take the stairs".
HABIT_ADVERBS = _words(
    "always never usually rarely seldom mostly mainly generally normally typically only exclusively strictly"
)

# --- verbs, as written after "I" ------------------------------------------------------------------------

LIKING = _words(
    "love adore prefer favor favour hate despise detest loathe dislike like enjoy avoid crave refuse"
)
STRONG_LIKING = _words("love adore prefer hate despise detest loathe")
LIKED = _words("loved adored preferred hated despised detested loathed disliked liked enjoyed avoided craved")

#: What a person is or keeps doing when "I ..." stands in the present tense.
HABITS = _words(
    "live work study own speak drive play teach run volunteer practice practise collect cook bake eat drink "
    "smoke wear use read watch listen write paint draw sing dance swim ski surf hike climb cycle bike jog "
    "train coach code program design manage lead commute garden knit sew fish hunt travel suffer take go "
    "support follow attend belong keep raise rent sleep meditate exercise tend struggle believe care stick "
    "play have specialize specialise major make weigh adhere consume steer thrive prioritize prioritise learn "
    "trust abstain"
)

#: Said about the talk itself, or about a feeling of the moment: no fact in any tense.
TALK = _words(
    "think thought guess guessed mean meant know knew see saw hear heard hope hoped wish wished wonder "
    "wondered feel felt agree agreed understand understood bet suppose supposed imagine imagined promise "
    "promised swear swore say said tell told ask asked sound sounded appreciate appreciated thank thanked "
    "apologize apologized remember remembered forget forgot realize realized notice noticed doubt doubted "
    "admit recommend recommended suggest suggested figure figured assume assumed mention mentioned expect "
    "expected recall seem seemed want wanted need needed try tried let look looked request requested type "
    "typed click clicked send sent mind happen happened find"
)

#: "I'm ...ing" that says what somebody does for a while.
OCCUPATIONS = _words(
    "working studying living learning training volunteering teaching majoring saving raising taking renting "
    "staying writing building researching recovering"
)
#: "I'm ...ing" that says nothing about the person.
TALK_ING = _words(
    "feeling looking hoping trying wondering asking kidding joking saying thinking talking calling telling "
    "going doing being getting having guessing wishing sitting standing waiting driving coming loving liking "
    "enjoying wanting seeing hearing leaving heading dying freezing starving digging vibing crossing giving "
    "figuring pushing grinding stepping checking catching dealing deciding seeking needing sending sharing "
    "rooting cheering keeping counting referring speaking"
)
#: Nouns and adjectives on -ing that are not progressives.
NOT_PROGRESSIVE = _words(
    "amazing boring interesting king willing nothing something anything everything outgoing"
)

IRREGULAR_PAST = _words(
    "ate became began bent bit bled blew bought bred broke brought built burnt came caught chose cut dealt "
    "did dug drank dreamt drew drove fed fell felt fled flew forgot forgave fought found froze gave got grew "
    "had heard held hid hit hung hurt kept knew laid lay learnt led left lent let lit lost made meant met "
    "paid put quit ran rang read rode rose said sang sank sat saw sent set sewed shook shot slept sold spent "
    "split spoke stood stole stuck struck swam swept swore taught thought threw told took tore understood "
    "went woke won wore wrote"
)
#: Read as present tense after "I": the past looks the same and a habit is likelier.
SAME_IN_PAST = _words("cut hit hurt let put quit read set split")
IRREGULAR_PARTICIPLES = _words(
    "been beaten become begun bitten blown born broken brought built bought caught chosen come done drawn "
    "driven drunk eaten fallen felt flown forgotten found fought frozen gone given gotten grown had heard "
    "held hidden kept known laid led left lost made met paid put quit read ridden risen run said seen sent "
    "set shaken sold spent spoken stolen sung swum taken taught thought thrown told torn understood woken won "
    "worn written"
)
#: "I'd been" is "I had been"; other participles are rare there, and some look like "I would come".
AFTER_HAD = _words("been had gone done seen taken given started decided")
#: Verbs after "my ..." that do not show their third person by an -s.
VERBS_AFTER_MY = _words(
    "is are was were isn't aren't wasn't has have had doesn't don't didn't love like hate live work go play"
)
NOT_PAST_ED = _words("shed sled need feed speed bleed breed seed succeed proceed exceed weed heed embed")
NOT_ADVERB_LY = _words(
    "fly rely reply apply supply comply multiply family only early daily weekly monthly lovely"
)

#: Without an object they say nothing: "of course we have".
NEED_AN_OBJECT = _words(
    "have take make keep use go suffer care believe trust follow do attend support study own run manage lead "
    "tend"
)

# --- complements of "I am" ------------------------------------------------------------------------------

#: "I'm ... X": the adjective (with its preposition) is a preference.
LIKING_ADJECTIVES = (
    r"into\b|fond of|keen on|obsessed with|crazy about|nuts about|mad about|passionate about|addicted to|"
    r"allergic|intolerant|sensitive to|(?:an? )?(?:strict )?(?:vegetarian|vegan|pescatarian)|lactose|gluten|"
    r"kosher|halal|picky|interested in|against|committed to|opposed to|all about|partial to|big (?:on|into)|"
    r"sick of|tired of|averse to|comfortable with|uncomfortable with|more of an? |more into|on (?:a|"
    r"the) [\w-]+ diet|fed up with|"
    r"(?:an? )?(?:[\w-]+ )?(?:fan|lover|enthusiast|believer|admirer)\b|a sucker for|a .{0,20}\b(?:person|"
    r"addict|junkie)\b"
)
#: "I'm X": the adjective says who somebody is, not how they feel today.
TRAITS = (
    r"married|divorced|single|engaged|widowed|pregnant|retired|unemployed|self-employed|disabled|deaf|blind|"
    r"colou?r-?blind|left-handed|right-handed|bilingual|gay|lesbian|bisexual|trans(?:gender)?|non-?binary|"
    r"religious|atheist|diabetic|celiac|coeliac|asthmatic|dyslexic|autistic|introverted|extroverted|shy|"
    r"based in|from|originally from|new to|good at|bad at|terrible at|afraid of|scared of|terrified of|"
    r"responsible for|in charge of|fluent in|native to|in (?:my|the) (?:early |mid |late )?\w+ties|"
    r"on (?:medication|parental leave|maternity leave|sick leave|a budget)|wheelchair|\d{1,3}\b(?! (?:min|km|"
    r"%|per))"
)
#: "I was X": passive, and something happened.
MOODS = _words(
    "tired excited bored worried surprised interested shocked amazed scared confused disappointed relieved "
    "inspired thrilled blessed stressed overwhelmed pleased annoyed concerned impressed embarrassed exhausted "
    "delighted supposed determined prepared honored honoured touched motivated committed used ready "
    "frustrated satisfied depressed terrified hooked freaked convinced glad fascinated intrigued drained "
    "moved done stuck gone lost set stoked psyched flattered humbled encouraged grounded swamped"
)

#: "My day was ...": how things stand, not how they are.
OF_THE_DAY = _words(
    "awesome great fine good ok okay amazing nice wonderful happy sad so here there doing going full always"
)

# --- nouns ----------------------------------------------------------------------------------------------

#: "I have a ..." that is no possession worth keeping.
TALK_NOUNS = (
    r"question|idea|clue|problem|issue|doubt|point|feeling|thought|look|moment|minute|second|bit|lot|blast|"
    r"time|fun|faith|hope|trouble|chance|opportunity|go|try|good|great|nice|wonderful|fantastic|choice|say|"
    r"sense|power|strength|setback|trust|say|request|suggestion|favor|favour|plan|plans|reason|something|"
    r"nothing|everything|anything|it|that|this"
)
PEOPLE_AND_PETS = (
    r"wife|husband|partner|spouse|girlfriend|boyfriend|fianc[eé]e?|mom|mum|mother|dad|father|parents?|"
    r"grand(?:ma|pa|mother|father|parents|son|daughter|kids|children)|sons?|daughters?|kids?|child(?:ren)?|"
    r"bab(?:y|ies)|toddler|brothers?|sisters?|siblings?|twins?|aunt|uncle|cousins?|niece|nephew|in-laws|"
    r"(?:mother|father|sister|brother)-in-law|family|friends?|roommate|flatmate|neighbou?rs?|boss|colleagues?|"
    r"coworkers?|team|dogs?|cats?|pupp(?:y|ies)|kittens?|pets?|birds?|parrot|fish|hamster|rabbits?|horses?|"
    r"turtles?"
)
THINGS_OF_A_LIFE = (
    r"name|nickname|birthday|age|job|profession|occupation|hobb(?:y|ies)|goals?|dream(?: job)?|address|car|"
    r"bike|house|home|apartment|flat|hometown|major|degree|school|university|college|company|business|store|"
    r"shop|diet|budget|height|weight|allerg(?:y|ies)|doctor|phone|laptop|computer|email|language|"
    r"native language|mother tongue|nationality|religion|background|salary|wedding|anniversary|zodiac sign|"
    r"pronouns|time ?zone|shoe size|preference|pet peeve|biggest fear|passion|guilty pleasure|comfort food|"
    r"stress relief|happy place"
)

# --- time -----------------------------------------------------------------------------------------------

FREQUENCY = (
    r"every (?:other )?(?:\w+ )?(?:day|night|morning|evening|week|weekend|month|year|summer|winter|time|"
    r"\w+day)s?|"
    r"(?:once|twice|\w+ times) (?:a|per|each) (?:day|week|month|year)|daily|weekly|each (?:day|week|month|"
    r"year|\w+day)|on (?:mon|tues|wednes|thurs|fri|satur|sun)days|on weekends|all the time|a lot|most (?:days|"
    r"of the time)|in my (?:spare|free) time|for a living|these days|nowadays|after work|before bed"
)
FUTURE = (
    r"tomorrow|tonight|next (?:week|weekend|month|year|summer|winter|spring|fall|autumn|\w+day|time)|"
    r"this (?:week|weekend|month|year|summer|winter|spring|fall|autumn|evening|afternoon|\w+day)|in (?:a|an|"
    r"\d+|two|three|four|a few) (?:days?|weeks?|months?|years?|hours?)|"
    r"(?:on|by) (?:mon|tues|wednes|thurs|fri|satur|sun)day|in (?:january|february|march|april|may|june|july|"
    r"august|september|october|november|december)"
)
