"""What is told at the end of a talk is what came of it, and what says nothing is not told at all."""

import pytest

from models.summaries import SessionSummary
from tests.unit.test_summaries_true import lines, summarize, told

TALK = ("ada", "The ferry to Hydra leaves the old harbour at noon.")


def after(said: str) -> list[str]:
    """The lines of a talk in which somebody says so last."""
    return lines(summarize(TALK, ("ben", said)))


@pytest.mark.parametrize(
    "taken", ["OK, I'll take it.", "In that case I will take this one.", "I'll buy both, please."]
)
def test_who_takes_what_they_look_for_has_decided(taken: str) -> None:
    said = [
        ("ada", "I'm looking for a small copper lamp."),
        ("ben", "The one by the window costs 40 euros."),
        ("ada", taken),
    ]
    assert summarize(*said).decisions == (f"ada: I'm looking for a small copper lamp. {taken}",)


@pytest.mark.parametrize(
    "said",
    [
        # What it is, nobody has said.
        [("ada", "Look over there."), ("ben", "A fine piece of work."), ("ada", "I'll take it.")],
        # It is given up again.
        [
            ("ada", "I'm looking for a small copper lamp."),
            ("ben", "The one by the window costs 40 euros."),
            ("ada", "I'll take it."),
            ("ben", "The box is a bit torn."),
            ("ada", "On second thought, forget it."),
        ],
        # It is another one.
        [
            ("ada", "I'd like two seats for the ferry on Friday."),
            ("ben", "I'm sorry, that one is full."),
            ("ada", "And the one on Sunday?"),
            ("ben", "There are two left."),
            ("ada", "I'll take them."),
        ],
        # What they do not want.
        [
            ("ada", "I don't want a plastic handle."),
            ("ben", "This one is of copper."),
            ("ada", "I'll take it."),
        ],
        [("ada", "I need a strong ladder."), ("ben", "Mine is broken."), ("ada", "I'll take it easy then.")],
    ],
)
def test_what_is_taken_is_known_and_not_given_up(said: list[tuple[str, str]]) -> None:
    assert summarize(*said).decisions == ()


def test_few_words_are_overruled_like_many() -> None:
    said = [
        ("ada", "Shall we eat at the Harbour Inn?"),
        ("ben", "I'd rather go to the Mill."),
        ("ada", "The Mill is closed for repairs, and the music is awful."),
        ("ben", "All right, the Harbour Inn is fine with me."),
    ]
    assert "rather" not in told(*said)


def test_the_same_as_another_did_is_no_to_do() -> None:
    assert after("Since you painted a boat for me, I thought I should certainly do the same!") == [
        f"ada: {TALK[1]}"
    ]


@pytest.mark.parametrize(
    "said",
    [
        "I have another question about renewals of permits.",
        "One more question regarding the permits of the harbour.",
        "Another question about the charges of the harbour office.",
        "I'm afraid so, dear Ada.",
        "Something wonderful happened to me.",
        "A lot has changed since we last talked.",
        "Crazy things have been happening since we last talked.",
        "Losing an old boat is tough.",
        "Working together makes every harbour a better place.",
        "Your hard work and talent show in every oar!",
        "Your support, Ada, means a lot too.",
        "All your hard work bore fruit.",
        "You've come a long way with the oars.",
        "You're really inspiring with your passion for boats.",
        "Nice talking to you, and love to the family.",
        "Keep on being positive and rowing.",
        "I'll definitely keep spreading joy.",
        "Cherish those moments by the sea!",
        "It's super important to teach children how to row.",
        "Losing so many boats must be really frustrating.",
        "Good for you to get the boat!",
        "Can't wait to hear about the boats that you painted.",
        "Excellent that you explain the permits to me.",
        "I'm reading this book and it grabs me.",
        "I had better order one right now.",
        "Congrats on the permit to write about what you love by the sea!",
        "Any time you need help with the boat I am by the pier.",
        "Must feel great to row your own boat.",
        "I'm so stoked for you and your boat.",
        "A normal one has no extra cost for the boats.",
        "Boats of that kind are by the pier.",
        "Something else I want to know of the boats.",
        "You're right, every small boat makes a big wave.",
        "Ada, I'm glad you're finding peace there by the sea.",
        "All we need now is the number of the boat.",
        "Wishing you much joy with your boats.",
        "We haven't talked in ages.",
        "Since we last chatted, some stuff's happened.",
        "I hope you sing by the sea some day.",
        "Good to hear that you sleep well in the boat.",
        "Can't wait to sing at your boat house!",
        "It's also inspiring to use letters to encourage others.",
        "Life's been pretty wild by the sea lately.",
        "Let's dive deeper into the rules of the harbour.",
        "The clerk explained the rules of this process.",
        "You want to ruin my harbour!",
        "You're always painting something new for us.",
        "Ada, that boat is awesome!",
        "Boats and letters can truly make a difference.",
    ],
)
def test_what_only_cheers_or_announces_is_not_told(said: str) -> None:
    assert after(said) == [f"ada: {TALK[1]}"]


@pytest.mark.parametrize(
    "said",
    [
        "Trying to get the old boat going, it's hard.",
        "Sharing my love for boats has been fun.",
        "Your bill includes the fee of the harbour.",
        "Something happened to the mast of my boat.",
        "You've come to the wrong harbour office.",
        "It's important to my sister to row on Sunday.",
        "I have one brother at the harbour.",
    ],
)
def test_what_only_sounds_like_cheers_is_told(said: str) -> None:
    assert len(after(said)) == 2


@pytest.mark.parametrize(
    ("said", "telling"),
    [
        ("Ada, my family's been great with the boat.", "ben's family's been great with the boat."),
        ("Harbour Inn, my name is Ben.", "ben: Harbour Inn, my name is Ben."),
        (
            "It's hard to tell the price of the boat, I'm afraid.",
            "ben: It's hard to tell the price of the boat, ",
        ),
        ("Don't move the boat while I am at the market.", "ben: Don't move the boat while I am at the market."),
        ("Painted my boat last week with a wide brush.", "ben: Painted my boat last week with a wide brush."),
        (
            "Can't wait to share the boat with my customers.",
            "ben: Can't wait to share the boat with my customers.",
        ),
    ],
)
def test_what_lacks_its_subject_stays_as_it_was_said(said: str, telling: str) -> None:
    assert telling in told(TALK, ("ben", said))


@pytest.mark.parametrize(
    "said", ["Are you saying that boats can't fly?", "How was your morning at the harbour?"]
)
def test_what_is_asked_of_the_moment_stays_open_for_nobody(said: str) -> None:
    assert summarize(TALK, ("ben", said)).open_questions == ()


@pytest.mark.parametrize("said", ["Who brings the tent to the harbour?", "Should we book the ferry to Hydra?"])
def test_what_is_to_be_settled_stays_open(said: str) -> None:
    assert len(summarize(TALK, ("ben", said)).open_questions) == 1


def test_a_question_with_a_stop_behind_it_is_no_fact() -> None:
    summary: SessionSummary = summarize(("user", "Now, what if my daughter lived in Norway for years?."))
    assert summary.key_facts == ()


def test_the_rest_of_a_formula_says_nothing() -> None:
    formula = "\\( a + b \\) is derived from the rule of signs and applied to the problems above."
    assert "derived" not in told(("user", "Ok?"), ("assistant", f"The sum of.\n{formula[9:]}"))


def test_a_list_of_numbers_is_not_cut() -> None:
    said = (
        "I'm trying to measure the sail that my teacher drew on the blackboard, with sides of 7, 24, "
        "and 25 but I got the semi-perimeter wrong when I added them up and then I could not go on"
    )
    assert "24…" not in told(("user", said))


def test_whose_we_was_is_not_known_where_the_hearer_is_asked() -> None:
    said = [
        ("ada", "How was your journey?"),
        ("ben", "The pilot was late. So we were stuck in Lhasa for two whole nights."),
        ("ada", "The poor pilot of the plane to Lhasa."),
    ]
    assert "we were" not in told(*said)
    assert "we were" in told(("ada", "The journey began in Oslo."), *said[1:])


def test_half_of_an_answer_to_two_questions_is_not_told() -> None:
    said = [
        ("ada", "How about the mileage and the petrol of the boat?"),
        ("ben", "There is no charge for the mileage. Fill it up when you bring it back."),
    ]
    assert "mileage" not in told(TALK, *said)
    assert "mileage" in told(TALK, ("ada", "How about the mileage of the boat?"), said[1])


def test_how_the_week_was_is_no_question() -> None:
    assert "week" not in told(TALK, ("ada", "How's your week been?"), ("ben", "Ouch, bummer about the boat."))


def test_what_we_are_doing_is_told_by_nobody_who_is_asked() -> None:
    said = [
        ("ada", "What plans do you have for the club?"),
        ("ben", "Rowing, mostly. We're building a new pier in May."),
    ]
    assert "pier" not in told(TALK, *said)
    assert "pier" in told(TALK, ("ada", "The club is closed."), said[1])


def test_a_pair_is_not_cut_in_two() -> None:
    said = (
        "I'm stuck between two topics for the essay that my teacher wants to read in May, \"Boats of the Old "
        'Harbour" and "Lamps of the New Town", but she picks one herself in March if nobody tells her which'
    )
    assert '"Boats of the Old Harbour"…' not in told(("user", said))


def test_what_is_listed_below_is_not_there() -> None:
    said = [("user", "Can I moor the boat here?"), ("assistant", "You may if you meet the rules listed below.")]
    assert "below" not in told(*said)


def test_what_they_want_is_the_answer_and_not_what_they_have() -> None:
    asked = ("ada", "What size of boat were you thinking of?")
    have, want = "I've already got a small boat.", "I need a big boat."
    assert "thinking of" not in told(TALK, asked, ("ben", f"{have} {want}"))
    assert "thinking of" in told(TALK, asked, ("ben", f"{have} The harbour is full."))


def test_a_question_that_was_cut_before_it_asks_is_not_told() -> None:
    said = (
        "I'm kinda curious, in the last days of April, how would one make use of the news that five different "
        "harbours have already asked for one of my painted boats to sell more of them to the other harbours"
    )
    assert "curious" not in told(("user", said))


def test_what_its_speaker_takes_back_at_once_is_not_told() -> None:
    said = "The maps of Hydra are by the window. Well, {} all of the maps."
    assert "window" not in told(TALK, ("ben", said.format("I'm afraid we've sold")))
    assert "window" in told(TALK, ("ben", said.format("people love")))


def test_a_charge_that_is_denied_is_not_told() -> None:
    charge = ("ada", "Rosa told me that you were rowing with another club.")
    assert "rowing" not in told(charge, ("ben", "My dear, I've never touched the oars of any other club!"))
    assert "rowing" in told(charge, ("ben", "My dear, the other club has better oars!"))


def test_what_is_quoted_stays_in_its_own_words() -> None:
    assert "ben wants" not in told(TALK, ("ben", "I said 'I want money' to the baker."))


def test_two_sentences_that_are_told_as_one_are_parted() -> None:
    said = (
        "I'm trying to improve the old boat for better speed, can you look at this and tell me what is wrong? "
        "I want to be sure that it handles the waves of the bay, without any water in the hull."
    )
    assert "for better speed. I want" in told(("user", said), ("assistant", "Certainly!"))


def test_what_has_been_up_is_no_question() -> None:
    assert "talked" not in told(
        TALK, ("ada", "What's been up since the regatta?"), ("ben", "Oops, sorry about the boat!")
    )


def test_a_decision_of_a_story_is_a_fact() -> None:
    summary = summarize(TALK, ("ben", "I decided to paint the boat, so I used a lot of blue."))
    assert (len(summary.decisions), len(summary.key_facts)) == (0, 2)
    assert summarize(TALK, ("ben", "I decided to paint the boat, so I need a lot of blue.")).decisions


def test_what_we_need_is_told_to_who_is_asked() -> None:
    said = [("ada", "We need a new mast for the boat by May."), ("ben", "Have you looked for one in Oslo?")]
    assert "need a new mast" in told(TALK, *said)


def test_what_only_fills_room_is_left_out() -> None:
    said = [
        ("ada", "I've decided to rent the blue boat of the harbour for the regatta in July."),
        ("ben", "The harbour rents its boats by the week."),
        ("ada", "The regatta begins at the pier of the harbour."),
        ("ben", "Gulls sit on wet ropes. Nets dry on poles. Crabs hide under stones. Foam lies on sand."),
        ("ada", "The boat needs a mast for the regatta."),
        ("ben", "The pier of the harbour is new."),
    ]
    assert "rents its boats by the week" in told(*said)
    assert "pier of the harbour is new" not in told(*said)
    assert "pier of the harbour is new" in told(*said[-2:])
