"""What the built-in extractor reads in a window: made-up sentences, and what they state."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from models.messages import Role
from models.statements import Assertion, Kind, Polarity, Precision, Statement, attribute_of
from models.windows import Window, WindowMessage, WindowReason, WindowSource
from processors.extraction.reading import read_window

SAID = datetime(2024, 5, 15, 14, 40, tzinfo=UTC)  # a Wednesday
USER, ASSISTANT = Role.USER, Role.ASSISTANT


def window(*turns: tuple[Role, str] | str) -> Window:
    """A window of these turns, a minute apart; a bare text is the person's."""
    said = [(USER, turn) if isinstance(turn, str) else turn for turn in turns]
    messages = tuple(
        WindowMessage(
            message_id=f"m{n}",
            user_id="ada",
            role=role,
            content=content,
            sent_at=SAID + timedelta(minutes=n),
            arrived_at=SAID + timedelta(minutes=n),
            index=n,
            offset=n,
        )
        for n, (role, content) in enumerate(said)
    )
    return Window(
        window_id="w",
        conversation_id="c",
        user_id="ada",
        reason=WindowReason.CLOSED,
        message_ids=tuple(message.message_id for message in messages),
        messages=messages,
        from_index=0,
        to_index=len(messages) - 1,
        overlap=0,
        source=WindowSource(topic="t", partition=0, first_offset=0, last_offset=len(messages) - 1),
    )


def sentences(*turns: tuple[Role, str] | str) -> list[str]:
    return [statement.statement for statement in read_window(window(*turns))]


def only(*turns: tuple[Role, str] | str) -> Statement:
    (statement,) = read_window(window(*turns))
    return statement


@pytest.mark.parametrize(
    ("said", "since", "precision"),
    [
        ("I moved to Munich in January.", "2024-01-01", Precision.MONTH),
        ("In January I moved to Munich.", "2024-01-01", Precision.MONTH),
        ("We moved from Berlin to Munich two years ago.", "2022-01-01", Precision.YEAR),
        ("I have lived in Munich since 2019.", "2019-01-01", Precision.YEAR),
        ("Since last summer I live in Munich.", "2023-06-01", Precision.SEASON),
        ("I've been living in Munich since May 2020.", "2020-05-01", Precision.MONTH),
        ("I've been based in Munich since Monday.", "2024-05-13", Precision.DAY),
        ("I live in Munich.", "", None),
        ("I moved to Munich before 2020.", "", None),
        ("I moved to Munich in 2030.", "", None),
        ("I moved to Munich in the year 9999.", "", None),
        ("I live in Munich since the 2019 merger.", "", None),
        ("I live in Munich in January.", "", None),
        ("I used to live in Munich in 2019.", "", None),
    ],
)
def test_since_when_it_is_so_is_told_by_the_state_or_by_the_change(
    said: str, since: str, precision: Precision | None
) -> None:
    (home,) = (each for each in read_window(window(said)) if each.attribute == "home")
    assert (home.value, home.event_at) == ("Munich", None)
    assert (f"{home.since:%Y-%m-%d}" if home.since else "", home.since_precision) == (since, precision)


@pytest.mark.parametrize("said", ["I was born in Rome in 1990.", "I graduated from Yale in 2010."])
def test_what_somebody_is_from_has_no_beginning(said: str) -> None:
    assert all(each.since is None for each in read_window(window(said)))


def test_a_year_in_which_something_began_is_no_part_of_it() -> None:
    assert only("I became a nurse in 2010.").value == "nurse"


@pytest.mark.parametrize(
    ("said", "attribute", "value", "sentence"),
    [
        ("My name is Ada.", "name", "Ada", "Is called Ada"),
        ("I'm 41 years old.", "age", "41", "Is 41 years old"),
        ("I live in Munich.", "home", "Munich", "Lives in Munich"),
        ("We moved to Munich.", "home", "Munich", "Lives in Munich"),
        ("I've been living in Lyon for three years.", "home", "Lyon", "Lives in Lyon"),
        ("I grew up in Porto.", "origin", "Porto", "Is from Porto"),
        ("I'm a nurse at a big hospital.", "occupation", "nurse", "Is a nurse"),
        ("I work as a carpenter in Leeds.", "occupation", "carpenter", "Works as a carpenter"),
        ("I work for Initech, and it is fine.", "employer", "Initech", "Works at Initech"),
        ("I have two daughters.", "family", "two daughters", "Has two daughters"),
        ("I'm married with kids.", "relationship", "married", "Is married"),
        ("We have a dog named Fidget.", "pet", "dog named Fidget", "Has a dog named Fidget"),
        ("I'm vegan.", "diet", "vegan", "Is vegan"),
        ("I'm allergic to walnuts.", "allergy", "walnuts", "Is allergic to walnuts"),
        ("I have a walnut allergy.", "allergy", "walnut", "Is allergic to walnut"),
        ("I can't eat gluten.", "constraint", "gluten", "Cannot eat gluten"),
        ("I have asthma.", "health", "asthma", "Has asthma"),
        ("I really love hiking.", "like", "hiking", "Likes hiking"),
        ("I love to hike.", "like", "hiking", "Likes hiking"),
        ("I'm a big fan of jazz.", "like", "jazz", "Likes jazz"),
        ("I can never resist a nice pretzel.", "like", "pretzel", "Likes a pretzel"),
        ("My favourite colour is teal.", "favourite/colour", "teal", "Favourite colour is teal"),
        ("Teal is my favourite colour.", "favourite/colour", "Teal", "Favourite colour is Teal"),
        (
            "I usually drink tea in the morning.",
            "habit",
            "drinking tea in the morning",
            "Usually drinks tea in the morning",
        ),
        ("I play chess every Sunday.", "habit", "playing chess every Sunday", "Plays chess every Sunday"),
        ("I speak Danish.", "language", "Danish", "Speaks Danish"),
        (
            "I want to become a pilot one day.",
            "plan",
            "become a pilot one day",
            "Plans to become a pilot one day",
        ),
    ],
)
def test_slots(said: str, attribute: str, value: str, sentence: str) -> None:
    found = only(said)
    assert (found.attribute, found.value, found.statement) == (attribute, value, sentence)
    slot = attribute_of(attribute)
    assert slot is not None
    assert found.kind is slot.kind
    assert (found.subject, found.polarity, found.assertion) == ("user", Polarity.AFFIRMED, Assertion.HOLDS)


@pytest.mark.parametrize(
    ("said", "subject", "attribute", "value", "sentence"),
    [
        ("My sister lives in Rome.", "sister", "home", "Rome", "Sister lives in Rome"),
        ("My wife is allergic to cats.", "wife", "allergy", "cats", "Wife is allergic to cats"),
        ("My son's name is Emil.", "son", "name", "Emil", "Son is called Emil"),
    ],
)
def test_others_are_named_as_they_are_spoken_of(
    said: str, subject: str, attribute: str, value: str, sentence: str
) -> None:
    found = only(said)
    assert (found.subject, found.attribute, found.value, found.statement) == (
        subject,
        attribute,
        value,
        sentence,
    )


@pytest.mark.parametrize(
    ("said", "attribute", "value", "sentence"),
    [
        ("I don't like mushrooms.", "like", "mushrooms", "Does not like mushrooms"),
        ("I hate crowded beaches.", "like", "crowded beaches", "Does not like crowded beaches"),
        ("I never drink alcohol.", "habit", "drinking alcohol", "Does not drink alcohol"),
        ("I've never visited Iceland.", "event", "visited Iceland", "Has never visited Iceland"),
    ],
)
def test_negated(said: str, attribute: str, value: str, sentence: str) -> None:
    found = only(said)
    assert (found.attribute, found.value, found.statement) == (attribute, value, sentence)
    assert (found.polarity, found.assertion) == (Polarity.NEGATED, Assertion.HOLDS)


@pytest.mark.parametrize(
    ("said", "attribute", "value", "sentence"),
    [
        ("I no longer live in Berlin.", "home", "Berlin", "No longer lives in Berlin"),
        ("I don't eat meat anymore.", "habit", "eating meat", "No longer eats meat"),
        ("I used to have a parrot.", "pet", "parrot", "No longer has a parrot"),
        ("I used to speak Greek.", "language", "Greek", "No longer speaks Greek"),
        ("I quit smoking.", "habit", "smoking", "Gave up smoking"),
        ("I quit my job.", "employer", "", "Left the job"),
        ("I'm not into poetry any more.", "like", "poetry", "No longer likes poetry"),
    ],
)
def test_ended(said: str, attribute: str, value: str, sentence: str) -> None:
    found = read_window(window(said))[0]
    assert (found.attribute, found.value, found.statement) == (attribute, value, sentence)
    assert found.assertion is Assertion.ENDED


@pytest.mark.parametrize(
    "turns",
    [
        ("I live in Berlin, sorry, Munich.",),
        ("I live in Berlin. Sorry, Munich.",),
        ((ASSISTANT, "So you are in Berlin?"), "Actually no, I live in Munich."),
    ],
)
def test_corrected(turns: tuple[tuple[Role, str] | str, ...]) -> None:
    found = only(*turns)
    assert (found.attribute, found.value, found.assertion) == ("home", "Munich", Assertion.CORRECTED)


def test_correction_in_a_later_message_names_both() -> None:
    first, second = read_window(window("I live in Berlin.", (ASSISTANT, "Nice!"), "Sorry, Munich."))
    assert (first.value, first.assertion) == ("Berlin", Assertion.HOLDS)
    assert (second.value, second.assertion, second.statement) == (
        "Munich",
        Assertion.CORRECTED,
        "Lives in Munich",
    )
    assert second.source_message_ids == ("m0", "m2")


@pytest.mark.parametrize(
    ("said", "attribute", "sentence", "day", "precision"),
    [
        (
            "I adopted a kitten last Tuesday.",
            "event",
            "Adopted a kitten on 14 May 2024",
            "2024-05-14",
            Precision.DAY,
        ),
        ("Two years ago I visited Peru.", "event", "Visited Peru in 2022", "2022-01-01", Precision.YEAR),
        (
            "I'm flying to Oslo on 3 June.",
            "plan",
            "Is flying to Oslo on 3 June 2024",
            "2024-06-03",
            Precision.DAY,
        ),
        (
            "I have a dentist appointment tomorrow at 5.",
            "plan",
            "Has a dentist appointment on 16 May 2024 at 17:00",
            "2024-05-16",
            Precision.MINUTE,
        ),
        (
            "I signed up for the city run on 8 November.",
            "event",
            "Signed up for the city run on 8 November 2024",
            "2024-11-08",
            Precision.DAY,
        ),
        ("My exam is on Friday.", "plan", "Exam on 17 May 2024", "2024-05-17", Precision.DAY),
    ],
)
def test_events_have_dates(said: str, attribute: str, sentence: str, day: str, precision: Precision) -> None:
    found = next(each for each in read_window(window(said)) if each.attribute == attribute)
    assert (found.kind, found.statement) == (Kind.EVENT, sentence)
    assert found.event_at is not None
    assert (found.event_at.date().isoformat(), found.event_precision) == (day, precision)


@pytest.mark.parametrize(
    "said",
    [
        "Do you think I'm allergic to nuts?",
        "What if I moved to Oslo, and I lived there?",
        "If I lived in Paris, I would be happy.",
        "I wish I had a dog.",
        "Imagine I live on a boat.",
        "My friend says I should move to Rome.",
        "According to my aunt I am a nurse.",
        'He told me "I live in Cairo and I love it" yesterday.',
        "> I live in Cairo",
        "In my novel I live in Cairo.",
        "I'm vegan, just kidding.",
        "I love your idea.",
        "I love it.",
        "I like being asked.",
        "I prefer Danish ones.",
        "I'm off on Mondays.",
        "I've outgrown my walnut allergy.",
        "Set the bar high.",
        "What is the best way to parse it? Standard library only.",
        "I'm fine, thanks.",
        "I'm not sure if this is the right way.",
        "Don't give up on your dreams.",
        "Ich wohne in Berlin und ich mag Tee.",
        "Vivo en Madrid y no me gusta el ruido.",
        "Я живу в Москве.",
        "```\nI live in Cairo\n```",
        "",
        "...",
    ],
)
def test_nothing_is_stated(said: str) -> None:
    assert sentences(said) == []


def test_joke_takes_back_what_stood_before_it() -> None:
    assert sentences("I live on the moon. Just kidding!") == []


def test_assistant_states_nothing() -> None:
    assert sentences((ASSISTANT, "I live in Berlin. You love tea, and my name is Max.")) == []


@pytest.mark.parametrize(
    ("asked", "replied", "sentence"),
    [
        ("Where do you live?", "Berlin.", "Lives in Berlin"),
        ("Nice to meet you! What's your name?", "Ada", "Is called Ada"),
        ("Do you have any allergies?", "Walnuts", "Is allergic to Walnuts"),
        ("What do you do for a living?", "a plumber", "Works as a plumber"),
        ("What is your favourite season?", "Autumn, I think!", "Favourite season is Autumn"),
    ],
)
def test_short_answer(asked: str, replied: str, sentence: str) -> None:
    found = only((ASSISTANT, asked), replied)
    assert found.statement == sentence
    assert found.source_message_ids == ("m0", "m1")


@pytest.mark.parametrize(
    ("asked", "replied"),
    [("Where do you live?", "Why do you ask?"), ("Do you like cheese?", "Hm"), ("Ok?", "Berlin.")],
)
def test_no_answer(asked: str, replied: str) -> None:
    assert sentences((ASSISTANT, asked), replied) == []


def test_preference_over_five_messages() -> None:
    first, whole = read_window(
        window(
            "you know what i like?",
            (ASSISTANT, "what?"),
            "raspberries.",
            (ASSISTANT, "thats great."),
            "especially on pancakes.",
        )
    )
    assert (first.value, first.source_message_ids) == ("raspberries", ("m0", "m1", "m2"))
    assert whole.statement == "Likes raspberries, especially on pancakes"
    assert (whole.completes, whole.source_message_ids) == ("raspberries", ("m0", "m1", "m2", "m3", "m4"))


def test_preference_whose_beginning_is_in_the_window_before() -> None:
    found = only("raspberries.", (ASSISTANT, "thats great."), "especially on pancakes.")
    assert (found.statement, found.completes) == ("Likes raspberries, especially on pancakes", "raspberries")


@pytest.mark.parametrize(
    ("said", "attribute", "value", "sentence"),
    [
        ("I prefer thai food.", "favourite/cuisine", "thai", "Prefers thai food"),
        ("Find me a halal restaurant nearby, please.", "favourite/diet", "halal", "Asks for halal restaurants"),
        (
            "Set the temperature to 19 degrees.",
            "favourite/temperature",
            "19 degrees",
            "Wants the temperature set to 19 degrees",
        ),
        ("I always park underground.", "favourite/parking", "underground", "Prefers to park underground"),
        ("Can you play some reggae music?", "favourite/music", "reggae", "Asks for reggae music"),
        ("I need a hotel with a pool.", "favourite/hotel", "pool", "Asks for hotels with pool"),
    ],
)
def test_preferences_have_subjects(said: str, attribute: str, value: str, sentence: str) -> None:
    found = only(said)
    assert (found.attribute, found.value, found.statement) == (attribute, value, sentence)


@pytest.mark.parametrize(
    ("said", "attribute", "value", "sentence"),
    [
        ("Olives are my go-to snack.", "favourite/snack", "Olives", "Favourite snack is Olives"),
        ("A window seat works best for me.", "like", "window seat", "Likes a window seat"),
        ("No peppers for me.", "constraint", "peppers", "Avoids peppers"),
        ("Not a fan of karaoke.", "like", "karaoke", "Does not like karaoke"),
        ("Is there something for my walnut allergy?", "allergy", "walnut", "Is allergic to walnut"),
        ("My company is Nordwind.", "employer", "Nordwind", "Works at Nordwind"),
        ("I started at Nordwind.", "employer", "Nordwind", "Works at Nordwind"),
        ("My native language is Polish.", "language", "Polish", "Speaks Polish"),
        ("My allergies are walnuts.", "allergy", "walnuts", "Is allergic to walnuts"),
        ("My hobby is sailing.", "like", "sailing", "Likes sailing"),
        ("My age is 41.", "age", "41", "Is 41 years old"),
        ("We're expecting a baby.", "family", "baby", "Is expecting a baby"),
        ("I studied at Leeds.", "education", "Leeds", "Studied at Leeds"),
        ("I prefer to avoid motorways.", "favourite/route", "motorways", "Avoids motorways"),
        ("I need a cafe, cash only.", "favourite/payment", "cash", "Wants to pay with cash"),
    ],
)
def test_what_is_said_without_saying_i(said: str, attribute: str, value: str, sentence: str) -> None:
    found = next(each for each in read_window(window(said)) if each.attribute == attribute)
    assert (found.value, found.statement) == (value, sentence)


@pytest.mark.parametrize(
    ("said", "attribute", "value"),
    [
        ("Play Nightfall by Ana Lund, that's my favourite.", "favourite/music", "Nightfall by Ana Lund"),
        ("Can you put on Ana Lund? She's my all-time favourite singer.", "like", "Ana Lund"),
        ("Can we listen to my favourite podcast Old Harbours?", "favourite/podcast", "Old Harbours"),
        ("I've been following a podcast called Old Harbours.", "favourite/podcast", "Old Harbours"),
        ("Set Nordwind as my new favourite radio station.", "favourite/radio station", "Nordwind"),
    ],
)
def test_what_is_liked_by_name(said: str, attribute: str, value: str) -> None:
    assert (attribute, value) in [(each.attribute, each.value) for each in read_window(window(said))]


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        # What restricts a thing is part of it: without it all of them would be meant.
        ("I dislike shoes that are made of plastic.", "Does not like shoes that are made of plastic"),
        ("I avoid soaps which contain alcohol.", "Avoids soaps which contain alcohol"),
        ("I love stories that make me laugh, by the way.", "Likes stories that make them laugh"),
        (
            "I prefer not to watch shows that are over an hour long.",
            "Avoids watching shows that are over an hour long",
        ),
        ("I prefer to avoid eating seafood.", "Avoids eating seafood"),
        ("I prefer not to play loud games.", "Avoids playing loud games"),
        ("I prefer to use beauty products without perfume.", "Prefers beauty products without perfume"),
        ("I do breathing exercises every day.", "Does breathing exercises every day"),
        (
            "I prefer not to see films that are longer than two hours.",
            "Avoids films that are longer than two hours",
        ),
        ("I only read books by sailors.", "Only reads books by sailors"),
        ("My favourite character is Gandalf.", "Favourite character is Gandalf"),
        ("Find SmithCo fast food restaurants.", "Asks for SmithCo fast food restaurants"),
        ("Ensure that restaurant payments are not with cash.", "Avoids paying with cash"),
        ("Turn off the seat heating permanently.", "No longer wants seat heating"),
        ("Skip folk, especially songs like Winter Road by Lena Volk.", "Avoids Winter Road by Lena Volk"),
    ],
)
def test_a_clause_is_not_cut_where_it_would_say_something_else(said: str, sentence: str) -> None:
    assert sentence in sentences(said)


@pytest.mark.parametrize(
    "said",
    [
        "I dislike films that, as I told you on the day we met, have more than one end.",
        "I'm over the moon about the news.",
        "I'll always remember our day at the lake last year.",
        "These cups I bought yesterday remind me of home.",
        "I had a blast last month.",
        "Turn left at the second stop light.",
        "I solved it for a triangle with sides 9, 11 and 13 yesterday.",
        "Is there an open lot? I'd prefer that over covered parking.",
        "I love that we met.",
    ],
)
def test_what_is_torn_or_says_nothing_is_not_stated(said: str) -> None:
    assert sentences(said) == []


@pytest.mark.parametrize(
    ("said", "nothing"),
    [
        ("Find me a restaurant that doesn't mind if we bring the dog.", "mind"),
        ("Please suggest a bank that does not charge students.", "charge"),
        ("Look for shops that don't close before ten.", "close"),
    ],
)
def test_what_a_place_does_not_do_is_nothing_that_somebody_does_without(said: str, nothing: str) -> None:
    assert nothing not in " ".join(sentences(said))


def test_what_a_place_must_not_have_is_turned_down() -> None:
    assert sentences("Can you play music that isn't rock?") == ["Avoids rock"]
    assert sentences("Find me a restaurant that doesn't serve meat.") == ["Avoids meat"]
    assert sentences("Find me a gas station that isn't a car wash.") == ["Avoids car wash"]
    assert sentences("Find me a route that doesn't need motorways.") == ["Does without motorways"]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("I plan to finish the draft by July 6.", "Plans to finish the draft by 6 July 2024"),
        ("I'm planning to finish the deck before July 6.", "Plans to finish the deck before 6 July 2024"),
        ("I'm going to submit the form by July.", "Plans to submit the form by July 2024"),
        ("I'll visit Oslo around 3 June.", "Will visit Oslo around 3 June 2024"),
        (
            "I enrolled in a course on pottery starting 3 June.",
            "Enrolled in a course on pottery starting 3 June 2024",
        ),
        ("I've booked a room in Oslo since May 2023.", "Booked a room in Oslo since May 2023"),
        ("I've planned three dinners with Ada for June 2024.", "Planned three dinners with Ada for June 2024"),
        ("I've scheduled a check-up for 3 June.", "Scheduled a check-up for 3 June 2024"),
        ("I'll visit Oslo on 3 June.", "Will visit Oslo on 3 June 2024"),
    ],
)
def test_a_deadline_is_no_appointment(said: str, told: str) -> None:
    assert sentences(said) == [told]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("I've been dating Tanya for 2 years.", "Is dating Tanya"),
        ("I've been dating Tanya for almost two years now.", "Is dating Tanya"),
        ("I've been living in Rome for six years.", "Lives in Rome"),
        ("I've been learning Spanish for 3 months and it's fun.", "Is learning Spanish"),
        ("I've been learning Spanish for my work.", "Is learning Spanish for their work"),
    ],
)
def test_for_how_long_it_has_been_so_is_no_part_of_it(said: str, told: str) -> None:
    assert sentences(said) == [told]


def test_a_name_that_is_turned_down_is_not_liked() -> None:
    found = only("I don't want to shop at Greenfield anymore.")
    assert (found.value, found.assertion) == ("Greenfield", Assertion.ENDED)
    assert "Nightfall" not in " ".join(sentences("Nobody likes Turn up the volume, it's my favourite song."))


def test_an_end_by_name_is_told_once() -> None:
    found = only("I'm not into Nordwind anymore, skip that radio station.")
    assert (found.value, found.assertion) == ("Nordwind", Assertion.ENDED)


@pytest.mark.parametrize(
    ("said", "attribute", "value"),
    [
        (
            "Play some jazz on Harbour Radio, that's my go-to station.",
            "favourite/radio station",
            "Harbour Radio",
        ),
        ("Tune in to Harbour FM for me.", "favourite/radio station", "Harbour FM"),
        ("Find a charging station on the Greenvolt network.", "favourite/charging", "Greenvolt"),
        ("Play the news from Lanternpost on the radio.", "favourite/news", "Lanternpost"),
        ("My favourite song is 'Nightfall' by Ana Lund.", "favourite/music", "Nightfall by Ana Lund"),
        ("Set the climate control to a low fan speed.", "favourite/fan", "low"),
        (
            "Set the climate control to maintain a steady temperature of 19 degrees Celsius.",
            "favourite/temperature",
            "19 degrees",
        ),
        ("Find a parking spot with wheelchair access.", "favourite/parking", "handicapped"),
        ("Find the route with the shortest time.", "favourite/route", "fastest"),
        ("I have a severe walnut allergy.", "allergy", "walnut"),
    ],
)
def test_a_name_or_a_setting_has_one_subject_however_it_is_put(said: str, attribute: str, value: str) -> None:
    assert (attribute, value) in [(each.attribute, each.value) for each in read_window(window(said))]


def test_a_name_that_is_preferred_is_of_what_was_asked() -> None:
    found = only((ASSISTANT, "Which podcast would you like to hear?"), "I prefer Nordwind.")
    assert (found.attribute, found.value) == ("favourite/podcast", "Nordwind")
    assert only("I prefer Nordwind.").attribute == "like"
    asked = (ASSISTANT, "Which restaurant would you like, and on which day?")
    assert only(asked, "I prefer Friday.").attribute == "like", "no restaurant"


def test_a_station_is_of_what_was_spoken_of() -> None:
    found = read_window(window("My battery is low, I need charging.", "Find a Greenvolt station."))
    assert "favourite/charging" in {each.attribute for each in found}


@pytest.mark.parametrize(
    ("said", "answer", "attribute"),
    [
        ("Find Greenvolt stations.", "The nearest Greenvolt charging station is a mile away.", "charging"),
        ("Tune in to Lanternpost.", "Tuning in to Lanternpost for the latest news.", "news"),
        ("Put on Harbour News.", "Playing the Harbour News podcast.", "podcast"),
        ("Tune in to Lanternpost.", "Starting Lanternpost. Shall I look for the news, too?", "music"),
        ("Tune in to Lanternpost.", "Tuning in to Lanternpost, the fastest route to a good mood.", "music"),
        ("Play Nightfall by Ana Lund.", "Playing Nightfall by Ana Lund.", "music"),
    ],
)
def test_a_name_is_of_what_the_answer_takes_it_for(said: str, answer: str, attribute: str) -> None:
    assert only(said, (ASSISTANT, answer)).attribute == f"favourite/{attribute}"


def test_tuning_in_is_no_tune() -> None:
    found = only("I'd like the news.", "Can you tune in to Lanternpost?")
    assert (found.attribute, found.value) == ("favourite/news", "Lanternpost")


def test_kinds_of_shops_are_of_shops_whatever_was_spoken_of() -> None:
    found = only("Set a route, please.", "Always prefer bakeries.")
    assert (found.attribute, found.value) == ("favourite/shop", "bakeries")


def test_a_place_that_one_is_taken_to_is_no_favourite_route() -> None:
    assert "favourite/route" not in {
        each.attribute for each in read_window(window("Always take me to Leeds by road."))
    }
    assert only("Always take me to Greenfield for groceries.").attribute == "favourite/shop"


def test_what_is_preferred_to_be_supported_is_named_whole() -> None:
    assert only("I'd prefer to support local markets.").statement == "Prefers local markets"


@pytest.mark.parametrize(
    ("said", "value", "polarity", "assertion"),
    [
        ("Don't play Lanternpost podcasts anymore.", "Lanternpost", Polarity.AFFIRMED, Assertion.ENDED),
        (
            "Never play the song Nightfall by Ana Lund again.",
            "Nightfall by Ana Lund",
            Polarity.NEGATED,
            Assertion.HOLDS,
        ),
        ("Can you start avoiding toll roads?", "toll", Polarity.NEGATED, Assertion.HOLDS),
        ("I don't require covered parking.", "covered", Polarity.NEGATED, Assertion.HOLDS),
        ("From now on, avoid suggesting loud hotels.", "loud", Polarity.NEGATED, Assertion.HOLDS),
    ],
)
def test_what_is_turned_down(said: str, value: str, polarity: Polarity, assertion: Assertion) -> None:
    found = only(said)
    assert (found.value, found.polarity, found.assertion) == (value, polarity, assertion)


@pytest.mark.parametrize(
    ("said", "sure"),
    [
        ("Find me a jazz podcast.", 0.45),
        ("Set the lights to amber.", 0.6),
        ("Avoid toll roads.", 0.6),
        ("Always find me a parking spot with security.", 0.8),
        ("Find covered parking for my trips.", 0.8),
        ("Can you start taking the fastest route?", 0.8),
        ("Find a charging station with DC charging at my regular places.", 0.8),
        ("Can you start playing a jazz podcast?", 0.45),
        ("Find covered parking for my trip.", 0.45),
    ],
)
def test_what_is_set_or_excluded_is_surer_than_what_is_looked_for(said: str, sure: float) -> None:
    assert only(said).confidence == sure


def test_what_is_asked_for_once_weighs_less_than_what_is_told() -> None:
    assert only("Find me a thai restaurant.").confidence < 0.5 < only("I prefer thai restaurants.").confidence


def test_same_thing_in_other_words_fills_the_same_slot() -> None:
    told, asked, denied, other = (
        only(said)
        for said in (
            "I prefer thai food.",
            "Can you look up some Thai restaurants nearby?",
            "Please avoid Thai restaurants.",
            "From now on, let's go for Greek restaurants.",
        )
    )
    assert told.attribute == asked.attribute == denied.attribute == other.attribute == "favourite/cuisine"
    assert told.value == asked.value == denied.value == "thai" != other.value
    assert denied.polarity is Polarity.NEGATED


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ("From now on, answer in bullet points.", "Wants the assistant to answer in bullet points from now on"),
        (
            "Always include the source when I ask about history.",
            "Wants the assistant to always include the source when they ask about history",
        ),
        ("Please don't apologize so much.", "Wants the assistant not to apologize so much"),
        ("Be more concise, please.", "Wants the assistant to be more concise"),
    ],
)
def test_instruction(said: str, sentence: str) -> None:
    found = only(said)
    assert (found.kind, found.attribute, found.statement) == (Kind.INSTRUCTION, "instruction", sentence)


def test_feedback_is_about_an_answer() -> None:
    found = only((ASSISTANT, "A long answer."), "That was too long.")
    assert (found.attribute, found.statement) == ("feedback", "Found the assistant's answer too long")
    assert sentences("That was too long.") == []


def test_same_thing_twice_is_said_once_by_each_message() -> None:
    found = read_window(window("I love tea. Yes, I love tea.", (ASSISTANT, "Ok."), "As I said, I love tea!"))
    assert [each.source_message_ids for each in found] == [("m0",), ("m2",)]
    once = only("I live in Rome. I have lived in Rome since 2019.")
    assert once.since is not None and once.quote == "I have lived in Rome since 2019."


def test_quote_is_as_written() -> None:
    found = only("Hello!  I’m  allergic to walnuts, you know. Bye")
    assert found.quote in "Hello!  I’m  allergic to walnuts, you know. Bye"
    assert found.value == "walnuts"


def test_lines_of_others_are_passed_over_behind_empty_ones() -> None:
    assert sentences("I love tea.\n\n\n > I love coffee.\n>I love cocoa.\n\nI love soup.") == [
        "Likes tea",
        "Likes soup",
    ]


def test_many_empty_lines_are_read_in_linear_time() -> None:
    """A pattern that begins anew at each of them takes minutes."""
    assert sentences("I love tea." + "\n" * 400_000 + "I love soup.") == ["Likes tea", "Likes soup"]


@pytest.mark.parametrize(
    "said", ["Always include them in our routes.", "From now on, show those first.", "Always explain that one."]
)
def test_an_instruction_that_nobody_can_read_later_is_none(said: str) -> None:
    assert sentences(said) == []


def test_an_instruction_may_say_it() -> None:
    assert only("Always explain it in simple words.").attribute == "instruction"


@pytest.mark.parametrize(
    "so", ["make that my go-to station", "make it our new favourite station", "it's my favourite station"]
)
def test_what_is_made_the_favourite_was_named_before(so: str) -> None:
    found = read_window(window(f"I've been really into Nordwind FM lately, {so}."))
    assert ("favourite/radio station", "Nordwind FM") in [(each.attribute, each.value) for each in found]


def test_what_need_not_be_considered_is_not_avoided() -> None:
    assert sentences("Find a parking spot without considering whether it's covered.") == []


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("My cousins and I went to a fair together last week.", ["Went to a fair in the week of 6 May 2024"]),
        (
            "I started reading about sleep and understanding myself.",
            ["Started reading about sleep and understanding themselves"],
        ),
        ("I visited a baker who said something that upset me.", []),
        ("My favourite one to hum is a march from the parade.", []),
        ("Staying warm is important to me.", ["Likes staying warm"]),
        (
            "I visited the fair “Old Boats” on 3 May.",
            ["Visited the fair Old Boats on 3 May 2024"],
        ),
        ('I finished the song "Night Boat" on 3 May.', ["Finished the song Night Boat on 3 May 2024"]),
        ("I've begun sorting the photos on 3 May.", ["Has begun sorting the photos on 3 May 2024"]),
        ("I've painted the sign asked for by the May 9 workshop.", []),
        ("I've enrolled in the May 9 pottery course.", ["Enrolled in the May 9 pottery course"]),
        ("I hosted the May 9 workshop.", []),
        ("I went camping last weekend.", ["Went camping on the weekend of 11 May 2024"]),
        ("I went sailing last summer.", ["Went sailing in the summer of 2023"]),
        ("I lost my job at Initech.", ["No longer works at Initech"]),
        ("I haven't left my job at Initech.", []),
        ("I never lost my job as a nurse.", ["Has never lost their job as a nurse"]),
        ("I haven't quit my job.", []),
        ("I haven't stopped smoking.", []),
        ("I'm not done with tea.", []),
        ("I always only drink water.", ["Only drinks water"]),
        ("I usually mostly cook fish on Fridays.", ["Usually cooks fish on Fridays"]),
        ("I left my job as a nurse.", ["No longer works as a nurse"]),
        ("I love the sea.", ["Likes the sea"]),
        (
            "I prefer the calm Harbour Library's upper floor.",
            ["Prefers the calm Harbour Library's upper floor"],
        ),
        ("I love gangster and heist films.", ["Likes gangster and heist films"]),
        ("I love chess and sailing.", ["Likes chess", "Likes sailing"]),
        ("I usually play Tri:Ton, but not today.", ["Usually plays Tri:Ton"]),
        ("I bought a lamp to see the stairs- which has helped us.", ["Bought a lamp to see the stairs"]),
        ("I avoid using soaps that need to be rinsed off.", ["Avoids using soaps that need to be rinsed off"]),
        ("I'm a total superhero fan.", ["Is a superhero fan"]),
        ("I'm a huge opera fan.", ["Is an opera fan"]),
        ("I'm a quiet person.", ["Is a quiet person"]),
        ("I prefer a usual table.", ["Prefers a usual table"]),
        ("I love a European city in winter.", ["Likes a European city in winter"]),
        ("I prefer an honest answer.", ["Prefers an honest answer"]),
        ("I like an hour of reading.", ["Likes an hour of reading"]),
        ("I like a good evening of chess.", ["Likes an evening of chess"]),
        ("I like option a or option b.", ["Likes option a or option b"]),
        ("My sister Timea lives in Porto.", ["Sister lives in Porto"]),
        ("I'm not going to buy a boat before June.", []),
        ("I practise and train every day.", []),
        ("Always avoid covered parking.", ["Avoids covered parking"]),
        ("Could we not limit the parking that we look for?", []),
        ("I much prefer to learn using traditional, hand-made maps.", []),
        ("I prefer learning by rowing and dislike dry, dusty books.", ["Prefers learning by rowing"]),
        (
            "I dislike night-time (NT) and early-morning trains.",
            ["Does not like night-time and early-morning trains"],
        ),
        ("The regatta is on Friday... only two days away!", []),
        ("Your job is fun and always in windy places.", []),
        ("Read a novel or the timetable.", []),
        ("I had no luck last Sunday.", []),
        ("I lost the chance.", []),
        ("We started chatting.", []),
        ("I only listen to stories in a voice that I know.", []),
        ("I like to just sit by the sea.", ["Likes sitting by the sea"]),
        ("I often go to the quay when I am tired.", ["Often goes to the quay"]),
        ("I'm preparing for the May 25 workshop.", ["Is preparing for the May 25 workshop"]),
        ("I started rowing five years ago.", ["Started rowing in 2019"]),
        ("I prefer black bread and strongly dislike toast.", ["Prefers black bread"]),
        ("He never tires and always speaks up for the crew.", []),
        ("I work at a small shoe shop.", ["Works at a small shoe shop"]),
        ("My favorite breakfast is a bowl of porridge.", ["Favourite breakfast is a bowl of porridge"]),
        ("My favorite music to row to is country.", ["Favourite music is country"]),
        ("I like my dog. no spanish.", ["Likes their dog"]),
        ("Reggae music is good also.", []),
        ("Well, my kid years are over completely.", []),
        ("I love em.", []),
        ("I'm a little old for a pilot.", []),
        ("I completed more than 9 weeks.", []),
        (
            "I joined a rowing club that closed two years ago.",
            ["Joined a rowing club that closed two years ago"],
        ),
        (
            "Always answer in French if you have no date.",
            ["Wants the assistant to always answer in French if it has no date"],
        ),
        ("I lost 6 hours.", []),
        ("I spent about two days last week.", []),
        ("We don't sail often, usually only once a month.", []),
        ("I love tea and food. I met someone named David.", ["Likes tea", "Likes food"]),
        ("Keep the sails dry, and make sure they have enough air.", []),
    ],
)
def test_what_is_told_is_whole(said: str, told: list[str]) -> None:
    assert sentences(said) == told


@pytest.mark.parametrize(
    "said",
    [
        "Actually, skip to the latest Nordwind episode of the podcast.",
        "I never get tired of the album Night Boat by Ada Lund.",
    ],
)
def test_what_is_skipped_to_or_never_tired_of_is_not_turned_down(said: str) -> None:
    assert [each.polarity for each in read_window(window(said))] == [Polarity.AFFIRMED]
