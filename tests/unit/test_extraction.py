"""The rules, from whole windows to statements (seed 000)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.facts import Category, Fact, FactStatus
from models.ids import normalize_statement
from models.messages import Role
from models.ports import ExtractedStatement
from models.windows import Window, WindowMessage, WindowReason, WindowSource
from processors.extraction.statements import drafts, extract
from processors.facts.consolidation import consolidate, fresh, to_candidate

NOON = datetime(2025, 3, 1, 12, tzinfo=UTC)
ASSISTANT = "assistant"

PREFERENCE, FEEDBACK = Category.PREFERENCE, Category.FEEDBACK
PROFILE, EVENT = Category.PROFILE, Category.EVENT


def window(*turns: tuple[str, str], first: int = 1, overlap: int = 0) -> Window:
    """A window of (who, what): the assistant, or the user id of whoever speaks."""
    messages = tuple(
        WindowMessage(
            message_id=f"m{n}",
            user_id="ann" if who == ASSISTANT else who,
            role=Role.ASSISTANT if who == ASSISTANT else Role.USER,
            content=content,
            sent_at=NOON + timedelta(minutes=n),
            arrived_at=NOON + timedelta(minutes=n),
            index=n,
            offset=n,
        )
        for n, (who, content) in enumerate(turns, start=first)
    )
    return Window(
        window_id=f"w{first}",
        conversation_id="c1",
        user_id="ann",
        reason=WindowReason.FULL,
        message_ids=tuple(message.message_id for message in messages),
        messages=messages,
        from_index=first,
        to_index=first + len(messages) - 1,
        overlap=overlap,
        source=WindowSource(topic="t", partition=0, first_offset=first, last_offset=first + len(messages) - 1),
    )


def said(text: str) -> list[str]:
    return [found.statement for found in extract(window((ASSISTANT, "Hello!"), ("ann", text)))]


def only(turns: Window) -> ExtractedStatement:
    (found,) = extract(turns)
    return found


class TestSeed000:
    """ "you know what i like?" - "what?" - "blueberries." - "thats great." - "especially in smoothies." """

    TURNS = (
        ("ann", "you know what i like?"),
        (ASSISTANT, "what?"),
        ("ann", "blueberries."),
        (ASSISTANT, "thats great."),
        ("ann", "especially in smoothies."),
    )

    def test_all_in_one_window_is_one_statement_over_all_messages(self) -> None:
        found = only(window(*self.TURNS))
        assert found.statement == "User likes blueberries, especially in smoothies"
        assert found.category is PREFERENCE
        assert found.source_message_ids == ("m1", "m2", "m3", "m4", "m5")
        assert found.quote.splitlines() == [
            "you know what i like?",
            "what?",
            "blueberries.",
            "especially in smoothies.",
        ]

    @pytest.mark.parametrize("seen", [3, 4])
    def test_a_window_that_ends_early_has_the_partial_statement(self, seen: int) -> None:
        found = only(window(*self.TURNS[:seen]))
        assert found.statement == "User likes blueberries"
        assert found.completes == ""

    @pytest.mark.parametrize("missing", [0, 1, 2])
    def test_the_next_window_completes_it(self, missing: int) -> None:
        overlap = min(3, 4 - missing)
        found = only(window(*self.TURNS[missing:], first=missing + 1, overlap=overlap))
        assert found.statement == "User likes blueberries, especially in smoothies"
        assert found.completes == "User likes blueberries"
        assert found.source_message_ids[-1] == "m5"

    def test_what_the_question_was_is_guessed_with_less_confidence(self) -> None:
        seen, guessed = only(window(*self.TURNS)), only(window(*self.TURNS[2:], first=3))
        assert guessed.confidence < seen.confidence

    def test_nothing_is_guessed_from_a_reaction_that_is_no_praise(self) -> None:
        assert extract(window(self.TURNS[2], (ASSISTANT, "Oh no, sorry to hear that."), self.TURNS[4])) == []

    @pytest.mark.parametrize("before", range(14))
    def test_wherever_the_windows_are_cut_one_complete_fact_remains(self, before: int) -> None:
        """Windows of ten, three of them overlap, through extraction and consolidation."""
        small_talk = [("ann", "ok"), (ASSISTANT, "Sure.")] * 7
        turns = [*small_talk[:before], *self.TURNS, *small_talk]
        facts: dict[str, Fact] = {}
        extracted: set[str] = set()
        for start in range(0, len(turns) - 9, 7):
            read = window(*turns[start : start + 10], first=start, overlap=3 if start else 0)
            for found in fresh(extract(read), extracted):
                changes = consolidate(to_candidate(found, read, "rules"), facts.get)
                facts |= {fact.fact_id: fact for fact in changes}
                extracted.update(found.source_message_ids)
        live = [fact for fact in facts.values() if fact.status is not FactStatus.MERGED_INTO]
        assert [fact.statement for fact in live] == ["User likes blueberries, especially in smoothies"]

    def test_a_dislike_stays_a_dislike(self) -> None:
        turns = (("ann", "guess what i hate"), *self.TURNS[1:])
        assert only(window(*turns)).statement == "User hates blueberries, especially in smoothies"


@pytest.mark.parametrize(
    ("text", "statement", "category"),
    [
        ("I love hiking with my dog.", "User loves hiking with their dog", PREFERENCE),
        ("i really dont like mushrooms", "User doesn't like mushrooms", PREFERENCE),
        ("I prefer tea to coffee", "User prefers tea to coffee", PREFERENCE),
        ("I’m allergic to nuts 😀", "User is allergic to nuts", PREFERENCE),
        ("I am not a big fan of crowds", "User is not a big fan of crowds", PREFERENCE),
        ("I can't stand cilantro!", "User can't stand cilantro", PREFERENCE),
        ("I'd rather walk than drive", "User would rather walk than drive", PREFERENCE),
        ("I never eat meat.", "User never eats meat", PREFERENCE),
        ("My favourite colour is blue", "User's favourite colour is blue", PREFERENCE),
        ("Matilda is my favorite book.", "User's favorite book is Matilda", PREFERENCE),
        ("Love hiking!", "User loves hiking", PREFERENCE),
        ("I find crowded places exhausting.", "User finds crowded places exhausting", PREFERENCE),
        ("I'm a backend developer", "User is a backend developer", PROFILE),
        ("I live in Berlin and work at SAP.", "User lives in Berlin and works at SAP", PROFILE),
        ("My name is Bob.", "User's name is Bob", PROFILE),
        ("my wife's a nurse", "User's wife is a nurse", PROFILE),
        ("I have two kids and a dog", "User has two kids and a dog", PROFILE),
        ("I was born in Lima", "User was born in Lima", PROFILE),
        ("I used to play tennis", "User used to play tennis", PROFILE),
        ("As a nurse, I work nights", "User works nights as a nurse", PROFILE),
        ("Last week I went to Rome - so exciting!", "User went to Rome last week", EVENT),
        ("I'm going to Japan next month", "User is going to Japan next month", EVENT),
        ("I just started a new job", "User just started a new job", EVENT),
        ("I recently read a book about bees", "User recently read a book about bees", EVENT),
        ("My wife and I adopted a cat", "User and their wife adopted a cat", EVENT),
        ("We went camping last weekend", "User and others went camping last weekend", EVENT),
    ],
)
def test_statements(text: str, statement: str, category: Category) -> None:
    (found,) = extract(window((ASSISTANT, "Hello!"), ("ann", text)))
    assert (found.statement, found.category) == (statement, category)


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("I love Thai food, can you find a place?", ["User loves Thai food"]),
        ("[10:02] Ann: I love tea. I hate milk.\nI live in Berlin.", ["User lives in Berlin"]),
        ("From Monday on I live in Rome.", ["User lives in Rome from Monday on"]),
        ("Can you find a place? I'm vegan.", ["User is vegan"]),
        ("Can you find a place because I'm vegan?", ["User is vegan"]),
        ("I hate mornings but I love coffee", ["User hates mornings", "User loves coffee"]),
        ("I moved because I love the sea", ["User moved because they love the sea"]),
        ("Well, honestly, I work nights, you know?", ["User works nights"]),
        ("I love tea. Especially green tea.", ["User loves tea, especially green tea"]),
        ("When I travel, I always take the train.", ["User always takes the train when they travel"]),
        ('I love "My Way"', ['User loves "My Way"']),
    ],
)
def test_a_statement_among_other_words(text: str, statements: list[str]) -> None:
    assert said(text) == statements


@pytest.mark.parametrize(
    "text",
    [
        "Do I like tea?",
        "I love sushi?",
        "Should I tell them that I hate it?",
        "If I were rich I would buy a boat",
        "Imagine I live on Mars.",
        "I wish I had a dog",
        "I would like a table for two",
        "I want a pizza",
        'She said "I love tea. I hate milk." and left.',
        "> I live in Berlin",
        "[10:02] Bob: I live in Rome. I have two dogs.",
        "[12/03/2025, 10:02:11] Ann Lee: I love tea. I hate milk.",
        "10:02 am - Bob: I live in Rome. I have two dogs.",
        "From: bob@example.org\nSubject: moving\n\nI live in Rome and I love it.",
        "---------- Forwarded message ---------\nI live in Rome. I have a cat.",
        "Translate this: I am a doctor and I live in Rome.",
        "```\nI love tea\n```",
        "I'm fine, thanks!",
        "I'm so happy for you!",
        "I love it!",
        "I love your painting",
        "I agree.",
        "I think so",
        "I have a question",
        "I can't wait!",
        "He likes tea.",
        "ok",
        "",
        "😀",
    ],
)
def test_no_statement(text: str) -> None:
    assert said(text) == []


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("please be more concise", "User asks the assistant to be more concise"),
        ("Don't use emoji", "User asks the assistant not to use emoji"),
        ("stop apologizing all the time", "User asks the assistant not to apologize all the time"),
        ("no emojis please", "User asks the assistant to give no emojis"),
        ("From now on, answer in German.", "User asks the assistant to answer in German"),
        ("Call me Bob", "User asks the assistant to call them Bob"),
        ("Could you keep your answers short?", "User asks the assistant to keep its answers short"),
        ("that was very helpful, thanks!", "User found the assistant's answer very helpful"),
        ("Too long.", "User found the assistant's answer too long"),
        ("That's wrong.", "User found the assistant's answer wrong"),
        ("I like how you explain things", "User likes how the assistant explains things"),
        ("You keep repeating yourself", "User says that the assistant keeps repeating itself"),
    ],
)
def test_feedback(text: str, statement: str) -> None:
    (found,) = extract(window((ASSISTANT, "Here is my answer."), ("ann", text)))
    assert (found.statement, found.category) == (statement, FEEDBACK)


class TestFeedbackNeedsAnAssistant:
    def test_a_verdict_needs_an_answer_before_it(self) -> None:
        assert extract(window(("ann", "That's wrong."))) == []

    def test_between_people_nothing_is_meant_for_an_assistant(self) -> None:
        assert extract(window(("bob", "You are late again."), ("ann", "stop saying that"))) == []


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("Always avoid toll roads", "User asks to always avoid toll roads"),
        ("Make sure it's quiet, I hate noise", "User asks to make sure it's quiet"),
        ("It has to be kosher", "User wants only kosher"),
        ("Jazz only please", "User wants only Jazz"),
    ],
)
def test_a_request_with_a_lasting_condition_is_a_weak_preference(text: str, statement: str) -> None:
    found = {each.statement: each for each in extract(window((ASSISTANT, "Where to?"), ("ann", text)))}
    assert found[statement].category is PREFERENCE
    assert found[statement].confidence < 0.7


@pytest.mark.parametrize(
    "text", ["Set a timer", "Find a restaurant nearby", "Navigate home", "no need, thanks"]
)
def test_any_other_request_is_nothing(text: str) -> None:
    assert said(text) == []


class TestAnswers:
    @pytest.mark.parametrize(
        ("question", "reply", "statement"),
        [
            ("What's your favorite food?", "Sushi!", "User's favorite food is Sushi"),
            ("Nice! And where do you live?", "Berlin", "User lives in Berlin"),
            ("Where are you from?", "Peru", "User is from Peru"),
            ("What do you do for a living?", "a nurse", "User is a nurse"),
            ("What kind of music do you like?", "mostly jazz", "User likes jazz"),
            ("Do you like jazz?", "no, not really", "User doesn't like jazz"),
            ("Do you like jazz?", "Yes!", "User likes jazz"),
            ("Are you vegetarian?", "yes", "User is vegetarian"),
            ("Do you have any pets?", "two dogs", "User has two dogs"),
            ("Do you prefer tea or coffee?", "coffee", "User prefers coffee"),
            ("Do you have any food allergies?", "peanuts", "User is allergic to peanuts"),
        ],
    )
    def test_question_and_answer_make_a_statement(self, question: str, reply: str, statement: str) -> None:
        found = only(window((ASSISTANT, question), ("ann", reply)))
        assert found.statement == statement
        assert found.source_message_ids == ("m1", "m2")

    @pytest.mark.parametrize(
        ("question", "reply"),
        [
            ("What's your favorite food?", "what?"),
            ("What's your favorite food?", "no idea"),
            ("Where do you live?", "thanks"),
            ("Do you like tea or coffee?", "yes"),
            ("What would you like to order?", "a pizza"),
            ("Anything else?", "Berlin"),
            ("I like tea.", "coffee"),
        ],
    )
    def test_what_is_no_answer(self, question: str, reply: str) -> None:
        assert extract(window((ASSISTANT, question), ("ann", reply))) == []

    def test_an_answer_in_a_whole_sentence_speaks_for_itself(self) -> None:
        found = only(window((ASSISTANT, "Are you studying?"), ("ann", "Yes, I'm studying law in Rome.")))
        assert found.statement == "User is studying law in Rome"
        assert found.source_message_ids == ("m2",)

    def test_one_does_not_answer_oneself(self) -> None:
        assert extract(window(("ann", "Where do you live?"), ("ann", "Berlin"))) == []


class TestPeople:
    def test_statements_belong_to_who_speaks(self) -> None:
        found = extract(
            window(("bob", "What do you do?"), ("mel", "I'm a potter."), ("bob", "I work at a bank."))
        )
        assert [(each.user_id, each.statement) for each in found] == [
            ("mel", "User is a potter"),
            ("bob", "User works at a bank"),
        ]

    def test_another_persons_words_complete_nothing(self) -> None:
        found = extract(window(("ann", "I love tea."), ("bob", "especially green tea")))
        assert [(each.user_id, each.statement) for each in found] == [("ann", "User loves tea")]

    def test_two_people_may_say_the_same(self) -> None:
        found = extract(window(("ann", "I love tea."), ("bob", "I love tea.")))
        assert [each.user_id for each in found] == ["ann", "bob"]

    def test_what_the_assistant_says_is_no_statement(self) -> None:
        assert extract(window((ASSISTANT, "I love tea. I live in Rome."))) == []


class TestRepetition:
    def test_said_twice_is_one_statement_that_rests_on_both(self) -> None:
        found = only(window(("ann", "I love tea."), (ASSISTANT, "Noted."), ("ann", "i love TEA!")))
        assert found.statement == "User loves tea"
        assert found.source_message_ids == ("m1", "m3")
        assert found.quote == "I love tea.\ni love TEA!"

    def test_the_surer_wording_counts(self) -> None:
        sure = only(window(("ann", "I love tea.")))
        both = only(window(("ann", "I think I love tea."), ("ann", "I love tea.")))
        assert both.confidence == sure.confidence

    def test_a_hedge_makes_less_sure(self) -> None:
        assert (
            only(window(("ann", "I think I love tea."))).confidence
            < only(window(("ann", "I love tea."))).confidence
        )

    def test_completed_in_the_next_message(self) -> None:
        found = only(window(("ann", "I love tea"), ("ann", "especially green tea")))
        assert (found.statement, found.completes) == ("User loves tea, especially green tea", "User loves tea")

    def test_completed_in_the_same_message_completes_nothing_older(self) -> None:
        assert only(window(("ann", "I love tea. Especially green tea."))).completes == ""


VOCABULARY = (
    "I my we love like hate never always am work live in Berlin tea dog the a favorite is what? you know "
    "blueberries especially smoothies . , ! ? \n and but because so please stop be short yes no that's wrong "
    "\" 😀 if went last week I'm don't have two only 。"
)
WORDS = VOCABULARY.split(" ")
TURNS = st.lists(
    st.tuples(
        st.sampled_from([ASSISTANT, "ann", "bob"]),
        st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join) | st.text(max_size=40),
    ),
    min_size=1,
    max_size=10,
)


@given(TURNS)
def test_nothing_is_invented(turns: list[tuple[str, str]]) -> None:
    """Quotes are exact, sources are the speaker's and those around; the same window, the same statements."""
    read = window(*turns)
    found = extract(read)
    contents = {message.message_id: message for message in read.messages}
    for each in found:
        sources = [contents[message_id] for message_id in each.source_message_ids]
        assert sources == sorted(sources, key=lambda message: message.index)
        assert any(source.role is Role.USER and source.user_id == each.user_id for source in sources)
        assert each.quote
        for line in each.quote.splitlines():
            assert any(line in source.content for source in sources)
        assert 0.0 < each.confidence <= 1.0
        assert each.statement.startswith("User")
    keys = [(each.user_id, normalize_statement(each.statement)) for each in found]
    assert len(set(keys)) == len(keys)
    assert extract(read) == found


def test_a_sentence_that_no_rule_knows_is_left_as_a_draft() -> None:
    (draft,) = drafts(window(("ann", "I dream about sailing around the world.")))
    assert draft.ruling.category is None
    assert draft.ruling.statement == "User dreams about sailing around the world"
    assert draft.spoken == "I dream about sailing around the world."


@pytest.mark.parametrize(
    "unit", ["I ", "so, ", '"', "«", ". ", "... - must be very ", "I'm a a-", "very ", "x"]
)
def test_the_largest_message_is_read(unit: str) -> None:
    """Patterns must not take exponential time; the test run's timeout is the bound."""
    assert isinstance(extract(window(("ann", (unit * 65536)[:65536]))), list)
    assert isinstance(extract(window(("ann", (unit * 400)[:397]))), list)


@pytest.mark.parametrize(
    ("sentence", "statement"),
    [
        ("I like it when you don't guess.", "User likes it when the assistant doesn't guess"),
        ("I like it when you aren't sure.", "User likes it when the assistant isn't sure"),
        ("I like it when you can't lie.", "User likes it when the assistant can't lie"),
        ("I like it when you won't stop.", "User likes it when the assistant won't stop"),
    ],
)
def test_a_negated_verb_agrees_with_the_assistant(sentence: str, statement: str) -> None:
    assert said(sentence) == [statement]


class TestNothingIsMadeUp:
    """What was said in jest, in a part, by others or on a condition is no fact about the person."""

    @pytest.mark.parametrize(
        "text",
        [
            "I love sushi... not!",
            "I love sushi NOT",
            "I'm a pilot - in my dreams.",
            "I am a doctor, just kidding.",
            "I have a tiger (jk)",
            "I love Mondays, said nobody ever.",
            "I live in Berlin. Just kidding!",
            "I live in Berlin. Not!",
            "Let's play a game. I am a dragon and I love gold.",
            "Imagine this. I'm a knight and I live in a castle.",
            "You are a wizard and I am an elf.",
            "Translate this for me. I am allergic to nuts.",
            "According to my ex, I'm a bad cook.",
            "To quote my dad, I hate Mondays.",
            "As my dad used to say, I eat to live.",
            "Mom thinks pizza is my favorite food.",
            "Once I have a dog, I run every day.",
            "Should I buy a dog, I walk every day.",
            "Hypothetically, I live in Rome.",
            "Hopefully, I live in Rome soon.",
            "I feel like I'm a robot.",
        ],
    )
    def test_what_is_not_meant_is_no_statement(self, text: str) -> None:
        assert said(text) == []

    @pytest.mark.parametrize(
        ("text", "statement"),
        [
            ("I love sushi. No kidding!", "User loves sushi"),
            ("I love tea but not coffee.", "User loves tea but not coffee"),
            ("I love sushi. I own a tiger. Just kidding!", "User loves sushi"),
            ("Once I had a dog.", "User had a dog once"),
            ("Bob, I live in Rome.", "User lives in Rome"),
            ("My wife's favorite food is sushi.", "User's wife's favorite food is sushi"),
        ],
    )
    def test_what_is_meant_stays(self, text: str, statement: str) -> None:
        assert said(text) == [statement]

    def test_a_joke_is_taken_back_in_the_next_message(self) -> None:
        assert extract(window(("ann", "I live on the moon."), (ASSISTANT, "Nice!"), ("ann", "lol jk"))) == []

    def test_a_hedge_before_a_comma_is_no_name(self) -> None:
        found = only(window(("ann", "Apparently, I'm allergic to nuts.")))
        assert found.confidence < 0.75

    @pytest.mark.parametrize(
        ("question", "reply", "statement"),
        [
            ("Do you like sushi?", "I do not.", "User doesn't like sushi"),
            ("Are you vegetarian?", "I am not", "User is not vegetarian"),
            ("Are you vegetarian?", "Definitely not!", "User is not vegetarian"),
            ("Are you vegetarian?", "Of course not", "User is not vegetarian"),
            ("Do you usually take the bus?", "No", "User doesn't usually take the bus"),
            ("Do you ever eat meat?", "Yes", "User eats meat"),
            ("Do you like jazz?", "Yes, it's my favorite", "User likes jazz"),
        ],
    )
    def test_yes_and_no_keep_their_meaning(self, question: str, reply: str, statement: str) -> None:
        assert only(window((ASSISTANT, question), ("ann", reply))).statement == statement

    @pytest.mark.parametrize(
        ("question", "reply"),
        [
            ("Do you like sushi?", "I don't know."),
            ("Do you like sushi?", "I do not know"),
            ("Do you like sushi?", "Yes, my wife does."),
            ("Do you like sushi?", "Sure, if it's cheap"),
            ("Do you like my voice?", "yes"),
            ("Are you vegetarian?", "I'm not sure"),
            ("Are you vegetarian?", "I am unsure"),
            ("Are you vegetarian?", "Yes, I was once"),
            ("Are you not vegetarian?", "Yes"),
            ("Does your wife have any allergies?", "peanuts"),
            ("Any allergies?", "None"),
            ("Any allergies?", "For my son, peanuts"),
            ("Any allergies?", "Next question"),
            ("What food do you like?", "Don't know"),
            ("What do you do?", "Depends"),
            ("Do you prefer tea or coffee?", "Neither"),
            ("Do you prefer to avoid tolls or highways?", "tolls"),
            ("Do you have any pets?", "Two years ago"),
            ("Where do you live?", "Guess!"),
            ("Do you eat meat?", "Never mind"),
        ],
    )
    def test_what_leaves_a_question_open_answers_nothing(self, question: str, reply: str) -> None:
        assert extract(window((ASSISTANT, question), ("ann", reply))) == []

    def test_a_question_to_somebody_else_is_not_answered(self) -> None:
        """An assistant's ``user_id`` says whom it spoke with: here, Ann."""
        turns = ("ann", "Hello."), (ASSISTANT, "Do you like sushi?"), ("bob", "yes")
        assert extract(window(*turns)) == []

    @pytest.mark.parametrize(
        ("statement", "question", "reply"),
        [
            ("I'm allergic to nuts", "What's your favourite food?", "mostly pasta"),
            ("I like sushi", "How often do you work out?", "twice a week"),
            ("I have a dog", "Nice! What do you eat?", "mainly pizza"),
        ],
    )
    def test_an_answer_does_not_complete_an_earlier_statement(
        self, statement: str, question: str, reply: str
    ) -> None:
        found = extract(window(("ann", statement), (ASSISTANT, question), ("ann", reply)))
        assert all(reply not in each.statement for each in found)

    @pytest.mark.parametrize("question", ["How often?", "How do you like it?"])
    def test_a_question_about_the_statement_is_answered_with_its_rest(self, question: str) -> None:
        found = only(window(("ann", "I love sushi"), (ASSISTANT, question), ("ann", "at least once a week")))
        assert found.statement == "User loves sushi, at least once a week"

    @pytest.mark.parametrize(
        "text",
        [
            "Never mind.",
            "Never again!",
            "Never heard of it.",
            "Always happy to help.",
            "Only kidding.",
            "No wait, stop.",
            "No hurry, only when you can",
            "Do not have a car, never had",
            "Play is always fun.",
            "In general, yes",
            "As a rule, cats sleep a lot",
            "In the future robots rule",
            "From now on she lives in Rome",
            "In future, who will rule?",
            "More examples would be silly",
            "Call me a cab",
        ],
    )
    def test_a_remark_is_no_instruction(self, text: str) -> None:
        assert said(text) == []
