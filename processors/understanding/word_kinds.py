"""What kinds of verbs there are for the frame of a question (English).

Who "she" is in "Ann told Eve that she annoyed them" nothing says; in "that she visited them" it is who speaks.
What decides is whether the verb tells what somebody feels and of whom: "amuse" verbs have who feels it as their
object, "admire" verbs as their subject (Levin 1993, classes 31.1 and 31.2).  In "She wrote because she wanted
to ask", wanting and asking tell who; in "because she was moving" nothing does.
"""

from __future__ import annotations

from processors.text.stemming import stem_of

_AMUSES = """
    abash affect afflict affront aggravate aggrieve agitate agonize alarm alienate amaze amuse anger annoy
    antagonize appall appease arouse assuage astonish astound awe baffle beguile bewilder bewitch boggle
    bore bother bug calm captivate chagrin charm cheer chill comfort concern confound confuse console
    content convince cow crush cut daunt dazzle deject delight demean demolish demoralize depress devastate
    disappoint disarm discomfit discompose disconcert discourage disgrace disgruntle disgust dishearten
    disillusion dismay dispirit displease disquiet dissatisfy distract distress disturb dumbfound elate
    electrify embarrass embitter embolden enchant encourage engross enlighten enliven enrage entertain
    enthrall enthuse entice entrance exasperate excite exhaust exhilarate fascinate faze flabbergast flatter
    floor fluster frighten frustrate gall gladden grate gratify grieve harass harm haunt hearten horrify
    humble humiliate hurt hypnotize impress incense infuriate inspire insult interest intimidate intoxicate
    intrigue invigorate irk irritate jade jar jolt lull madden menace mesmerize mollify mortify move muddle
    mystify nauseate nettle numb obsess offend outrage overawe overwhelm pacify pain peeve perplex perturb
    pique placate plague please preoccupy provoke puzzle rankle reassure refresh relax relieve repel repulse
    revolt rile ruffle sadden satisfy scandalize scare shake shame shock sicken sober solace soothe
    spellbind spook stagger startle stimulate sting stir strike stump stun stupefy surprise tantalize tease
    tempt terrify terrorize threaten thrill tire torment touch transport trouble try unnerve unsettle uplift
    upset vex weary worry wound wow
"""
_ADMIRES = """
    abhor admire adore appreciate cherish covet deify deplore desire despise detest disdain dislike distrust
    dread enjoy envy esteem exalt execrate fancy favor favour fear glorify hate idolize lament like loathe
    love lust miss mistrust mourn need pity prefer prize regret relish resent respect revere rue savor stand
    support tolerate treasure trust value venerate want worship
"""
_SAYS = """
    accuse admit advise agree announce answer apologize argue ask beg blame call chat claim complain
    compliment confess congratulate consult criticize debate demand deny discuss encourage explain hear hint
    hope inform insist instruct intend introduce invite laugh look mention need offer order persuade plan
    plead pledge praise promise propose recommend refuse remind reply report request say scream seek shout
    smile speak suggest talk teach tell thank urge want warn whisper wish wonder write yell
"""
_LINES = {"amuses": _AMUSES, "admires": _ADMIRES, "says": _SAYS}
#: Of a verb in several lines, the first kind counts.
_KINDS = {stem_of(word): kind for kind, words in reversed(_LINES.items()) for word in words.split()}
_IRREGULAR = {
    "said": "say",
    "told": "tell",
    "sought": "seek",
    "spoke": "speak",
    "wrote": "write",
    "heard": "hear",
}


def kind_of(word: str) -> str:
    """Return the kind of a word in lower case: ``"amuses"``, ``"admires"``, ``"says"``, ``""`` for most."""
    return _KINDS.get(stem_of(_IRREGULAR.get(word, word)), "")
