"""A line that needs what is not in it is not told: whose "we", which day, what was only advised."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from models.messages import Role
from models.summaries import SessionSummary
from models.windows import WindowMessage
from processors.summaries.extractive import roll_up, summarize_messages
from streams.adapters.tokenizer import cl100k_counter

#: A Saturday: the next week begins two days later, the next month fifteen.
NOW = datetime(2026, 2, 14, 7, 30, tzinfo=UTC)
AMPLE = 1000
count = cl100k_counter()

#: Who speaks, what they say, and on which day of the talk.
Said = tuple[str, str, int]


def told(*said: Said) -> str:
    """All that the summary tells."""
    messages = [
        WindowMessage(
            message_id=f"m{i}",
            user_id=speaker,
            role=Role.USER,
            content=content,
            sent_at=NOW + timedelta(days=day),
            arrived_at=NOW + timedelta(days=day),
            index=i,
            offset=i,
        )
        for i, (speaker, content, day) in enumerate(said)
    ]
    return str(summarize_messages(messages, AMPLE, count))


def talk(*contents: str) -> list[Said]:
    """Two people in turn, on one day."""
    return [(("ada", "ben")[i % 2], content, 0) for i, content in enumerate(contents)]


@pytest.mark.parametrize(
    ("said", "days"),
    [
        ("The choir sings at the old harbour tomorrow evening.", 1),
        ("I need to return the rowing boat today.", 1),
        ("The roof was repaired by two carpenters last week.", 2),
        ("The ferry company opens its new pier on Friday.", 2),
        ("The orchard lost most of its trees last month.", 15),
    ],
)
def test_a_day_is_told_only_as_long_as_it_is_the_same(said: str, days: int) -> None:
    words = said.removesuffix(".").split()[-3:]
    for later in (0, days - 1):
        assert " ".join(words) in told(("ada", said, 0), ("ben", "The lamps are blue.", later))
    assert " ".join(words) not in told(("ada", said, 0), ("ben", "The lamps are blue.", days))


def test_the_today_of_an_earlier_summary_is_not_rolled_up() -> None:
    earlier = SessionSummary(key_facts=("Ada rows across the lake today.", "Ada lives near the lighthouse."))
    later = SessionSummary(key_facts=("Ada repairs the old boat tonight.",))
    assert roll_up([earlier, later], AMPLE, count).key_facts == (
        "Ada lives near the lighthouse.",
        "Ada repairs the old boat tonight.",
    )


def test_an_hour_without_its_day_is_not_told() -> None:
    said = "The rehearsal is on Thursday in the chapel. Don't forget the lanterns for the procession at 6:30."
    assert "6:30" not in told(*talk(said))
    assert "6:30" in told(*talk("Don't forget the lanterns for the procession at 6:30."))


@pytest.mark.parametrize(
    ("said", "untold"),
    [
        # Whose "we" it is, the talk says and the line does not.
        (
            talk("You have to meet my wife.", "Gladly!", "We have been living in Bergen since June."),
            "Bergen",
        ),
        (talk("How was it?", "We sailed to the island together. He cooked a wonderful fish soup."), "sailed"),
        # What would come of what somebody advises.
        (
            talk(
                "The garden is too much work for me.",
                "Why don't you hire a gardener? You'll have whole weekends for your paintings.",
                "I rather like to weed it myself.",
            ),
            "paintings",
        ),
        # It was found.
        (
            talk(
                "Have you asked the neighbours about the parrot?",
                "Well, they haven't seen him.",
                "Look up there, in the chestnut. There he is!",
            ),
            "seen him",
        ),
        # Not the question is answered by it.
        (
            talk("Isn't this berth B12?", "No, it's B21, my own berth. I have already signed for it."),
            "signed for it",
        ),
        # Who "they" are is not "it".
        (
            talk("The stove smokes in the morning and it fills the hall. They never settled the problem."),
            "They never",
        ),
        (
            talk("Shall you need the ladder for the barn?", "It is summer. We couldn't possibly."),
            "possibly",
        ),
        (talk("The singer from Oslo has a new record.", "I am a huge fan."), "huge fan"),
        (talk("I keep meaning to see that place with my sister."), "that place"),
        (talk('The letter says "the tenants have agreed to the new rent. And nobody signed it."'), "tenants"),
    ],
)
def test_what_needs_more_than_its_line_is_not_told(said: list[Said], untold: str) -> None:
    assert untold not in told(*said)


def test_of_many_sentences_that_differ_in_a_number_some_are_looked_at() -> None:
    many = " ".join(f"The tram number {i} goes to the old harbour." for i in range(40))
    line = told(*talk(f"{many} The harbour has a lighthouse of red bricks."))
    assert "red bricks" in line
    assert "tram number 1 " in line or "tram number 0 " in line
    assert "tram number 39 " not in line


@pytest.mark.parametrize(
    ("said", "is_told"),
    [
        (talk("We have been painting the fence since the early morning."), "fence"),
        (talk("My wife and I were cycling along the coast, and we loved the lighthouses."), "lighthouses"),
        (
            talk("I called two plumbers in May. They never settled the problem with the pump."),
            "plumbers",
        ),
        (talk("You should see the new library. The reading room has forty tables."), "forty"),
    ],
)
def test_what_says_it_all_is_told(said: list[Said], is_told: str) -> None:
    assert is_told in told(*said)
