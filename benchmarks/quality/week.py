"""A made-up week of a person and an assistant who take turns: what nobody says twice, in the words of nobody.

Sentences are put together from lists, as long as those that people write to an assistant, questions among them.
About one in three tells something that is worth remembering.
"""

from __future__ import annotations

import random
from collections.abc import Iterator


def _listed(text: str) -> list[str]:
    return [" ".join(each.split()) for each in text.split("|")]


_OPENINGS = _listed("By the way,|You know,|Honestly,|So,|Well,|Okay,|One more thing:|Right,|Hm,|Anyway,")
_PEOPLE = _listed(
    """my sister|my brother|my neighbour|my boss|my mother|our landlord|my colleague Jonas|my friend Amina|
    my cousin|my daughter|the plumber|my old teacher|my flatmate|my partner|my uncle Piet|a schoolmate"""
)
_PLACES = _listed(
    """Lisbon|the lake|the new bakery|the library|Ghent|the office|the market hall|Aarhus|the allotment|
    the clinic|the climbing hall|Porto|the harbour|the workshop|the old station|Tartu"""
)
_THINGS = _listed(
    """rye bread|the quarterly slides|a second-hand bicycle|my knee|the tax return|my sourdough starter|
    a novel about beekeepers|the leaking tap|my driving lessons|an old camera|the balcony tomatoes|the budget|
    a birthday cake|the job interview|my Spanish course|the school play|my hiking boots|the choir|the fence"""
)
_FOODS = _listed("hazelnuts|shrimp|goat cheese|mushrooms|lentils|aubergine|celery|raw onions|dates|sesame")
_JOBS = _listed(
    "a nurse|a carpenter|a translator|a bus driver|a biologist|a bookkeeper|a teacher|an electrician"
)
_WHEN = _listed("yesterday|last Tuesday|this morning|on Friday|in spring|two weeks ago|tonight|next month")
_FEEL = _listed("tired|relieved|a bit nervous|quite proud|annoyed|curious|hopeful|not sure what to think")

_SAID = (
    "{who} told me about {thing} {when}, and I am {feel} about it",
    "I went to {place} {when} with {who}, mostly because of {thing}",
    "I am allergic to {food}, so {place} was a bad idea when {who} wanted to eat there",
    "I work as {job} now, which means that {thing} has to wait until {when}",
    "I would rather not talk about {thing} today, I am {feel}",
    "what would you say to {who} who keeps asking me about {thing} every time we meet at {place}?",
    "I moved closer to {place} {when}, and {who} helped me to carry {thing}",
    "I really like {food}, but {who} cannot stand it, so what could I cook for six people?",
    "can you help me to plan {thing} for {when}, at {place} if that works?",
    "please keep the answer about {thing} short, I am on my way to {place}",
    "I used to go to {place} every week with {who}, but I no longer do since {thing} takes all of my time",
    "{who} is {job} and says that {thing} is not worth the trouble, which made me {feel}",
    "is there a simple way to find out whether {thing} can still be repaired before {who} comes {when}?",
    "that helps, thank you, although {thing} at {place} will still be difficult",
)
_ANSWERED = (
    "That sounds like a lot at once. If {thing} is what worries you most, begin there: write down three things "
    "that would have to be true for it to go well, and ask {who} about the one that you know least of.",
    "For {place} I would plan an hour more than you think. Take {thing} first, while you are fresh, and leave "
    "what can wait until {when}.",
    "Noted: no {food}. There are a few ways to go about {thing}; the simplest is to ask {who} directly.",
    "There is no rule for {thing}. Two common approaches: do a small part of it {when}, or leave it to {who} "
    "and only check the result.",
    "Good to hear. Shall we go through {thing} step by step, or do you want a list for {place} that you can "
    "print?",
    "I cannot know what {who} thinks, but being {feel} about {thing} is understandable. Would it help to put "
    "it off?",
)


class Talk:
    """What is said in the weeks of several people; each text comes once, whoever says it."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._known: set[str] = set()

    def texts(self, count: int) -> Iterator[str]:
        """Yield ``count`` texts, the first by the person, the next by the assistant, and so on."""
        for number in range(count):
            yield self._new(_SAID if number % 2 == 0 else _ANSWERED, by_person=number % 2 == 0)

    def _new(self, templates: tuple[str, ...], *, by_person: bool) -> str:
        opening = self._chance.choice(_OPENINGS) if by_person and self._chance.random() < 0.4 else ""
        text = f"{opening} {self._sentence(templates)}".strip()
        # What was said already goes on: there are only so many sentences, and thirty people say more.
        while text in self._known:
            text = f"{text} {self._sentence(templates)}"
        self._known.add(text)
        return text

    def _sentence(self, templates: tuple[str, ...]) -> str:
        text = self._one(templates)
        return f"{text[0].upper()}{text[1:]}" + ("" if text[-1] in ".?" else ".")

    def _one(self, templates: tuple[str, ...]) -> str:
        choose = self._chance.choice
        return choose(templates).format(
            who=choose(_PEOPLE),
            place=choose(_PLACES),
            thing=choose(_THINGS),
            food=choose(_FOODS),
            job=choose(_JOBS),
            when=choose(_WHEN),
            feel=choose(_FEEL),
        )
