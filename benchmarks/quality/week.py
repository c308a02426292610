"""A made-up week of a person and an assistant who take turns: but for a few words ("thanks, tonight then") what
nobody says twice, in the words of nobody.

Sentences are put together from lists, questions among them, until a message is as long as one of that kind of
chat is: how long is drawn from the same measured lengths for everybody, the first person as the thirtieth.
About one sentence in three tells something that is worth remembering.
"""

from __future__ import annotations

import random
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

from models.messages import Role
from streams.llm.tokenizer import cl100k_counter


class Chat(StrEnum):
    """Kind of chat, which decides the length of messages."""

    SHORT = "short"
    LONG = "long"


#: Which share of messages is at most as long as :data:`LENGTHS` says.
_SHARES = (0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0)

#: Tokens (cl100k) of messages.  ``short``: what people write who tell each other of their lives for
#: months (LoCoMo: mean 29, median 26; in dialogues with assistants about errands it is 13 of people and 18 of
#: assistants).
#: ``long``: work with an assistant who explains much (BEAM 100K: mean 99 and 860, median 49 and 819).
LENGTHS: Mapping[Chat, Mapping[Role, Sequence[int]]] = {
    Chat.SHORT: {
        Role.USER: (1, 11, 13, 18, 26, 37, 48, 57, 72, 92),
        Role.ASSISTANT: (1, 11, 13, 18, 26, 37, 48, 57, 72, 92),
    },
    Chat.LONG: {
        Role.USER: (10, 18, 25, 38, 49, 83, 260, 347, 536, 3_000),
        Role.ASSISTANT: (52, 400, 501, 667, 819, 972, 1_146, 1_306, 1_781, 4_000),
    },
}


def length_at(chat: Chat, role: Role, share: float) -> float:
    """Return how long (tokens) a message is that ``share`` (0 to 1) of the messages are no longer than."""
    lengths, n = LENGTHS[chat][role], min(bisect_right(_SHARES, share), len(_SHARES) - 1) - 1
    part = (share - _SHARES[n]) / (_SHARES[n + 1] - _SHARES[n])
    return lengths[n] + part * (lengths[n + 1] - lengths[n])


def _listed(text: str) -> list[str]:
    return [" ".join(each.split()) for each in text.split("|")]


_KIN = _listed(
    """my sister|my brother|my neighbour|my boss|my mother|our landlord|my colleague Jonas|my friend Amina|
    my cousin|my daughter|my old teacher|my flatmate|my partner|my uncle Piet|my aunt Selma|my son Emil|
    my grandfather|my niece|my friend Oskar|my father-in-law|my doctor|my nephew Ruben|my tutor"""
)
_NAMES = _listed(
    """Ilse|Bram|Noor|Tomasz|Farah|Henk|Liv|Mateo|Sanne|Yusuf|Greta|Pavel|Aoife|Dragan|Mirthe|Kofi|Elin|
    Rasmus|Zeynep|Odile|Joris|Marisol|Anselm|Thea|Ibrahim|Wiebke|Luca|Saskia|Emeka|Britt"""
)

_WORDS: Mapping[str, Sequence[str]] = {
    # Of people one mostly speaks by their names: in LoCoMo one message in ten says what somebody is to one.
    "who": [*_NAMES, *_NAMES, *_NAMES, *_NAMES, *_KIN],
    "place": _listed(
        """Lisbon|the lake|the new bakery|the library|Ghent|the office|the market hall|Aarhus|the allotment|
        the clinic|the climbing hall|Porto|the harbour|the workshop|the old station|Tartu|the town hall|Bergen|
        the swimming pool|the garden centre|Trieste|the campsite|the bike shop|the hospital|Cork|the theatre|
        the riverside|the community kitchen|Ljubljana|the museum|the ferry terminal|the school yard|Tampere"""
    ),
    "thing": _listed(
        """rye bread|the quarterly slides|a second-hand bicycle|my knee|the tax return|my sourdough starter|
        a novel about beekeepers|the leaking tap|my driving lessons|an old camera|the balcony tomatoes|
        the budget|a birthday cake|the job interview|my Spanish course|the school play|my hiking boots|
        the choir|the fence|
        the night train|a wooden boat|the heating bill|my back pain|a letter to the bank|the spare key|
        the chess evening|a used cello|the moving boxes|my sleep|the carpet in the hall|a pair of glasses|
        the parents' evening|the quilt|my running plan|a rental car|the vegetable box|the printer|the tent|
        a visa for June|the holiday photos|my first half marathon|the washing machine|a bookshelf|
        the savings plan|the dance class|a recipe for dumplings|the bathroom tiles|my allergy test|
        the wedding list|an apprenticeship"""
    ),
    "food": _listed(
        """hazelnuts|shrimp|goat cheese|mushrooms|lentils|aubergine|celery|raw onions|dates|sesame|walnuts|
        pickled herring|coriander|blue cheese|strawberries|chickpeas|buckwheat|oysters|fennel|marzipan|tofu"""
    ),
    "job": _listed(
        """a nurse|a carpenter|a translator|a bus driver|a biologist|a bookkeeper|a teacher|an electrician|
        a florist|a surveyor|a midwife|a sound engineer|a gardener|a pharmacist|a locksmith|a cook"""
    ),
    "when": _listed(
        """yesterday|last Tuesday|this morning|on Friday|in spring|two weeks ago|tonight|next month|on Sunday|
        after lunch|before the holidays|in the evening|last winter|at the weekend|tomorrow|in a few days|
        on my day off|around noon|since March|the day after"""
    ),
    "feel": _listed(
        """tired|relieved|a bit nervous|quite proud|annoyed|curious|hopeful|not sure what to think|lost|amused|
        worried|glad|out of patience|surprised|fine|overwhelmed"""
    ),
}

#: What a person says.  As in LoCoMo two messages in three speak of who writes them, and one in three asks.
_SAID = (
    "and {thing}?",
    "{when}, at {place}",
    "not {thing}, no",
    "{who} is {feel}",
    "no rain {when}",
    "thanks, {when} then",
    "I like {food} and {thing}",
    "{thing} can wait, really",
    "I am {feel} about {thing}",
    "{who} was at {place} {when}",
    "what about {thing} {when}?",
    "first {thing}, and then {thing}",
    "it was crowded at {place} {when}",
    "I lost {thing} at {place} {when}",
    "{thing} costs more than {thing} by now",
    "how long does {thing} take {when}?",
    "nobody at {place} knew about {thing}",
    "{who} told me about {thing} {when}",
    "I am allergic to {food}, by the way",
    "please keep the answer about {thing} short",
    "the shop near {place} has {food} again, and {food}",
    "I work as {job} now, near {place}",
    "it took half of the day, {thing} and all, and {who} left early",
    "I would rather not talk about {thing} today, I am {feel}",
    "I went to {place} {when} with {who}, mostly because of {thing}",
    "{thing} turned out well in the end, although {place} was closed {when}",
    "that helps, thank you, although {thing} at {place} will still be difficult",
    "I moved closer to {place} {when}, and {who} helped me to carry {thing}",
    "there was music at {place} {when}, and {who} danced until {thing} was forgotten",
    "{who} is {job} and says that {thing} is not worth the trouble, which made me {feel}",
    "I work as {job} now, which means that {thing} has to wait until {when}",
    "what would you say to {who}, who keeps asking about {thing} every time we meet at {place}?",
    "is there a simple way to find out whether {thing} can still be repaired before {who} comes {when}?",
    "I used to go to {place} every week with {who}, but I no longer do since {thing} takes all of my time",
    "the plan for {when} is simple: {thing} in the morning, something with {food} at {place}, and then home",
)
_ANSWERED = (
    "{thing}, then",
    "noted: no {food}",
    "why not {when}?",
    "ask {who} first",
    "good luck with {thing}",
    "is {who} {feel} about it?",
    "then leave {thing} for {when}",
    "do you mean {thing} or {thing}?",
    "that depends on {thing} and on {who}",
    "shall we go through {thing} step by step?",
    "for {place} I would plan an hour more than you think",
    "there is no rule for {thing}; most people begin {when}",
    "take {thing} first, while you are fresh, and leave the rest for {when}",
    "I cannot know what {who} thinks, but being {feel} about {thing} is understandable",
    "write down three things that would have to be true for {thing} to go well",
    "there are a few ways to go about {thing}; the simplest is to ask {who} directly",
    "two common approaches: do a small part of {thing} {when}, or leave it to {who} and only check the result",
    "if {thing} is what worries you most, begin there, and ask {who} about the part that you know least of",
    "what helps with {thing} at {place} is a list: what must be there {when}, who brings it, and what can wait",
)

_SLOT = re.compile(r"\{(\w+)\}")

#: Tokens of a text that may be said twice; for a longer one so often other words are tried.
BRIEF, _TRIES = 10, 1_000


class Talk:
    """Sentences of several people's weeks; a sentence that is not brief is used once."""

    def __init__(self, seed: int, chat: Chat = Chat.SHORT) -> None:
        self._chance = random.Random(seed)
        self._chat = chat
        self._known: set[str] = set()
        self._count = cl100k_counter()
        self._sizes = {
            role: sorted((self._count(self._filled(each, random.Random(0))) + 1, each) for each in templates)
            for role, templates in ((Role.USER, _SAID), (Role.ASSISTANT, _ANSWERED))
        }

    def texts(self, count: int) -> Iterator[str]:
        """Yield ``count`` texts, the first by the person, the next by the assistant, and so on."""
        for number in range(count):
            yield self._new(Role.USER if number % 2 == 0 else Role.ASSISTANT)

    def _new(self, role: Role) -> str:
        tokens = round(length_at(self._chat, role, self._chance.random()))
        for _ in range(_TRIES):
            text = self._text(role, tokens)
            if text not in self._known or tokens <= BRIEF:
                self._known.add(text)
                return text
        raise ValueError(f"there is nothing new to say in {tokens} tokens: more words are needed")

    def _text(self, role: Role, tokens: int) -> str:
        sizes, said, left = self._sizes[role], list[str](), tokens
        shortest = sizes[0][0]
        while not said or left > shortest // 2:
            fitting = bisect_right(sizes, (left + 2, "")) or 1
            # Of those that fit the longer half: a long message is not many short sentences.
            _, template = sizes[self._chance.randrange(fitting // 2, fitting)]
            sentence = self._filled(template, self._chance)
            said.append(f"{sentence[0].upper()}{sentence[1:]}" + ("" if sentence[-1] in ".?" else "."))
            left -= self._count(said[-1])
        return " ".join(said)

    @staticmethod
    def _filled(template: str, chance: random.Random) -> str:
        return _SLOT.sub(lambda slot: chance.choice(_WORDS[slot[1]]), template)
