"""Ranking what may answer a question, and reading the question."""

from __future__ import annotations

import math
from itertools import pairwise
from unicodedata import normalize

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.messages import Role
from processors.recall import question
from processors.recall.answering import Trees
from processors.recall.features import FEATURES, SESSION_GAP, Candidate, features
from processors.recall.question import InvalidQuestion, cleaned, read, words_of
from processors.recall.ranking import STEEPNESS, rank
from processors.recall.signs import NAMES, signs
from processors.text.stemming import stem_of, without_particle

#: 1 June 2024.
JUNE = 1_717_200_000.0


def turn(text: str, index: int = 0, cosine: float | None = 0.5, **more: object) -> Candidate:
    fields = {"role": Role.USER, "conversation_id": "c-1"} | more
    return Candidate(text=text, index=index, cosine=cosine, **fields)  # type: ignore[arg-type]


def values(query: str, *candidates: Candidate, name: str) -> list[float]:
    speakers = {each.speaker for each in candidates} - {""}
    return features(read(query, speakers), candidates).of(name)


@pytest.mark.parametrize(
    ("query", "text", "asked", "role"),
    [
        ("What does Mara like?", "What does like?", "Mara Voss", None),
        ("what does mara's boat cost", "what does boat cost", "Mara Voss", None),
        ("Where did Mara Voss go?", "Where did go?", "Mara Voss", None),
        ("What did I order?", "What did I order?", "", Role.USER),
        ("Which soup was it?", "Which soup was it?", "", Role.USER),
        ("Do Mara and Will swim?", "Do and swim?", "", None),
        ("Will it rain?", "Will it rain?", "", Role.USER),
        ("what will it cost?", "what will it cost?", "", Role.USER),
        ("Where is Will going?", "Where is going?", "Will", None),
        ("Mara", "Mara", "Mara Voss", None),
        ("Marathon training", "Marathon training", "", Role.USER),
    ],
)
def test_a_question_is_read(query: str, text: str, asked: str, role: Role | None) -> None:
    found = read(query, ["Mara Voss", "Will"])
    assert (found.query, found.text, found.asked, found.role) == (query, text, asked, role)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("Hey, can you please recommend a quiet hotel near the lake?", "a quiet hotel near the lake?"),
        (
            "Can you list the order in which I brought up different aspects of the herb garden throughout our "
            "conversations, in order? Mention ONLY and ONLY five items.",
            "the herb garden?",
        ),
        ("What price did I mention for the oak table?", "What price for the oak table?"),
        ("Give me a short summary of how my pottery classes went so far.", "my pottery classes went."),
        ("Do you have any tips for sharp knives?", "sharp knives?"),
        ("What did you recommend?", "What did you recommend?"),
        ("Can you summarize our conversations?", "Can you summarize our conversations?"),
        ("Can you find the nearest bakery that opens early?", "find bakery that opens early?"),
        ("Is there a quiet beach around here?", "Is there a quiet beach?"),
        ("What grows in the area of the old harbour?", "What grows in the area of the old harbour?"),
        ("Can you swim?", "Can you swim?"),
        ("Who covered the herb garden?", "Who covered the herb garden?"),
    ],
)
def test_a_question_is_compared_without_the_words_that_only_ask(query: str, text: str) -> None:
    assert read(query).text == text


def test_a_name_that_two_share_prefers_neither() -> None:
    assert read("Where does Kim work?", ["Kim Ode", "Kim Lund"]).asked == ""


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("Ali", "ALİ ne dedi?"),
        ("Ali", "alı ne dedi?"),
        ("İlker", "Ilker ne dedi?"),
        ("İlker", "İlker ne dedi?"),
        ("Strauß", "Was trinkt Strauß gern?"),
        ("Strauß", "WAS TRINKT STRAUSS GERN?"),
        ("Γιώργος", "ΓΙΏΡΓΟΣ?"),
    ],
)
def test_a_name_is_known_however_its_letters_are_written(name: str, query: str) -> None:
    assert read(query, [name]).asked == name


def test_a_question_for_a_time() -> None:
    assert read("When did I move?").when
    assert read("How many weeks was I away?").when
    assert not read("Whenever I move, who helps?").when


@pytest.mark.parametrize("query", ["", " \n", "\x00\x1b\x7f", "\ud800", "é" * 4001])
def test_what_is_no_question(query: str) -> None:
    with pytest.raises(InvalidQuestion, match="the query"):
        cleaned(query)


def test_control_characters_part_words() -> None:
    assert cleaned(" green\x00tea\n\t?") == "green tea ?"
    assert cleaned("緑茶は好き？") == "緑茶は好き？"


def test_full_width_letters_are_folded() -> None:
    assert cleaned("ｍｙ ﾈｺ, ½") == "my ネコ, 1⁄2"
    assert words_of("Ｔａｎｇｏ ﾀﾞﾝｽ ５") == words_of("tango ダンス 5")


@pytest.mark.parametrize(
    ("text", "instruction", "question"),
    [
        ("Always answer in Dutch when I ask about bikes.", 1.0, 0.0),
        ("I always walk. When I run, it rains.", 0.0, 0.0),
        ("Mention the price when I ask about bikes.", 1.0, 0.0),
        ("Never mind. From now on use metres if I ask.", 1.0, 0.0),
        ("I walk.\n\nDo you?", 0.0, 0.5),
        ("Do you walk?\n\n", 0.0, 1.0),
    ],
)
def test_what_a_turn_says_is_told_apart(text: str, instruction: float, question: float) -> None:
    found = features(read("bikes"), [turn(text)])
    assert (found.of("instruction"), found.of("question")) == ([instruction], [question])


def test_a_turn_of_the_longest_length_is_read_in_linear_time() -> None:
    """A pattern that begins anew at each place takes minutes, and nothing else runs in the meantime."""
    for text in ("why?" + "\n" * 400_000, "always " * 70_000):
        assert features(read("bikes"), [turn(text)])


@pytest.mark.parametrize(
    ("name", "query", "better", "worse"),
    [
        ("meaning", "tea", turn("one", cosine=0.6), turn("two", cosine=0.5)),
        ("words", "green tea", turn("green teas"), turn("black coffee")),
        ("around", "green tea", turn("yes", before="green tea?"), turn("yes", before="coffee?")),
        ("around", "green tea", turn("yes", after="green tea?"), turn("yes", after="coffee?")),
        (
            "answers",
            "green tea",
            turn("yes", before="is it green tea?"),
            turn("yes", before="it is green tea."),
        ),
        ("speaker", "What does Mara drink", turn("tea", speaker="Mara"), turn("tea", speaker="Ben")),
        ("speaker", "what do I drink", turn("tea"), turn("tea", role=Role.ASSISTANT)),
        ("question", "tea", turn("I drink tea."), turn("Do you drink tea?")),
        ("length", "cocoa", turn("the tea grows near high hills"), turn("tea")),
        ("longer", "cocoa", turn("hills " * 20), turn("hills " * 60)),
        (
            "dated",
            "who rang in May 2024",
            turn("she rang", said_at=JUNE - 86_400),
            turn("she rang", said_at=JUNE + 30 * 86_400),
        ),
        ("graph", "and my sister", turn("she drinks tea", tied=True), turn("he drinks tea")),
        ("time", "when was it", turn("it was last May"), turn("it was fine")),
        ("time", "when was it", turn("it was in MAY"), turn("it was fine")),
    ],
)
def test_each_feature_is_worth_what_it_says(name: str, query: str, better: Candidate, worse: Candidate) -> None:
    """The other features are alike, so this one alone decides, whatever the order of the candidates."""
    one, other = values(query, better, worse, name=name)
    assert (one - other) * FEATURES[name].weight > 0
    for candidates, first in (((better, worse), 0), ((worse, better), 1)):
        speakers = {each.speaker for each in candidates} - {""}
        found = rank(read(query, speakers), candidates)
        assert found[0].position == first
        assert found[0].parts[name] > found[1].parts[name]


def test_near_is_the_best_other_within_twelve_turns_of_the_conversation() -> None:
    candidates = [
        turn("a", 10, 0.3),
        turn("b", 22, 0.5),
        turn("c", 35, 0.9),
        turn("d", 23, 0.7, conversation_id="c-2"),
        Candidate(text="e", role=Role.USER, cosine=0.8),
    ]
    near = values("tea", *candidates, name="near")
    assert near[:3] == [0.5, 0.3, 0.0]
    assert all(map(math.isnan, near[3:])), "of the only turn of a conversation nothing is known"
    beside = turn("d", 23, 0.7, conversation_id="c-2", before="said before")
    assert values("tea", *candidates[:2], beside, name="near") == [0.5, 0.3, 0.0]


def test_a_session_is_as_near_as_its_best_turn_and_ends_with_a_long_silence() -> None:
    candidates = [
        turn("a", 1, 0.3, said_at=0.0),
        turn("b", 2, 0.6, said_at=SESSION_GAP),
        turn("c", 3, 0.2, said_at=2 * SESSION_GAP + 1),
        turn("d", 3, 0.5, said_at=1.0, conversation_id="c-2"),
        Candidate(text="e", role=Role.USER, cosine=0.8),
    ]
    assert values("tea", *candidates, name="session") == [0.6, 0.6, 0.2, 0.5, 0.8]
    means = [0.45, 0.45, 0.2, 0.5]
    assert values("tea", *candidates, name="session_meaning") == pytest.approx([*means, sum(means) / 4])


def test_a_session_has_the_words_of_all_its_turns() -> None:
    candidates = [
        turn("green hills", 1),
        turn("a cup of tea", 2),
        turn("tea again", 3, said_at=SESSION_GAP + 1),
        Candidate(text="green tea", role=Role.USER, cosine=0.8),
    ]
    shares = values("green tea", *candidates, name="session_words")
    assert shares[:2] == [1.0, 1.0]
    assert 0 < shares[2] < 1
    assert shares[3] == pytest.approx(sum(shares[:3]) / 3), "a fact stands in no session: it is like the turns"
    assert math.isnan(values("green tea", candidates[3], name="session_words")[0])


def test_what_every_answer_shall_be_like_bears_on_what_it_is_about() -> None:
    texts = [
        "Always give prices in euros when I ask about trips.",
        "When I ask about trips, prices in euros please.",
        "I always travel by train.",
        "Never again!",
    ]
    assert values("trips", *map(turn, texts), name="instruction") == [1.0, 1.0, 0.0, 0.0]
    assert values("trips", turn(texts[0], role=Role.ASSISTANT), name="instruction") == [0.0]


@pytest.mark.parametrize(
    ("query", "recounts"),
    [
        ("Which trips did I plan?", True),
        ("List what came up in our conversations about trips.", True),
        ("How many different trips are there?", True),
        ("How do I plan trips?", False),
        ("Which trips are cheap?", False),
    ],
)
def test_an_instruction_does_not_answer_what_was_said(query: str, recounts: bool) -> None:
    standing = turn("Always give prices in euros when I ask about trips.")
    other = turn("The trips go to the lake and to the hills.", 1)
    assert read(query).recounts is recounts
    assert values(query, standing, other, name="recounted_instruction") == [float(recounts), 0.0]
    assert FEATURES["recounted_instruction"].weight < 0 < FEATURES["instruction"].weight


def test_what_was_asked_before_a_turn_says_what_it_answers() -> None:
    candidates = [
        turn("Three crowns.", 1, before="Green hills here. What did the kettle cost?"),
        turn("The kettle was cheap.", 3, before="What did the kettle cost?"),
        turn("Three crowns.", 5, before="The kettle. Cost what it may. Really?"),
        turn("Three crowns.", 7, before="The kettle did cost a lot."),
        turn("Three crowns.", 9, before="What did the kettle cost? " + "Never mind. " * 60),
        turn("kettle kettle", 11),
    ]
    query = "What did the green kettle cost?"
    whole, rest, *nothing = values(query, *candidates, name="answers")
    rarity = features(read(query), candidates).rarity
    kettle, cost = (rarity[stem_of(word)] / sum(rarity.values()) for word in ("kettle", "cost"))
    assert whole == pytest.approx(kettle + cost)
    assert rest == pytest.approx(cost)
    assert nothing == [0.0] * 4
    assert values("Find a green kettle at a low cost.", *candidates, name="answers") == [0.0] * 6


@pytest.mark.parametrize(
    ("query", "broad"),
    [("Sum up in which order I built the boat", True), ("Which boat did I build?", False)],
)
def test_what_is_asked_as_a_whole_is_told_at_the_beginning_of_sessions(query: str, broad: bool) -> None:
    candidates = [
        turn("a", 4, said_at=0.0),
        turn("b", 9, said_at=60.0),
        turn("c", 12, said_at=SESSION_GAP * 2),
        turn("Always say it in knots when I ask about the boat.", 13, said_at=SESSION_GAP * 2),
    ]
    assert read(query).broad is broad
    later = [0.0, math.log1p(5), 0.0, math.log1p(1)] if broad else [0.0] * 4
    assert values(query, *candidates, name="broad_later") == pytest.approx(later)
    assert values(query, *candidates, name="broad_instruction") == [0.0, 0.0, 0.0, float(broad)]
    fact = Candidate(text="e", role=Role.USER, cosine=0.8)
    assert math.isnan(values(query, *candidates, fact, name="broad_later")[4]) is broad
    assert FEATURES["broad_later"].weight < 0 and FEATURES["broad_instruction"].weight < 0


@pytest.mark.parametrize(
    ("query", "speakers", "together"),
    [
        ("Summarize what came of the boat", ("", ""), True),
        # the person's own words are asked for
        ("In which order did I build the boat", ("", ""), False),
        # somebody's, who is named, though what is replied is nearly as good
        ("Summarize what Mara did to the boat", ("Mara", "Ben"), False),
    ],
)
def test_a_summary_rests_on_replies_beside_what_they_reply_to(
    query: str, speakers: tuple[str, str], together: bool
) -> None:
    person, other = speakers
    candidates = [
        turn(f"the boat {at}", 2 * at, 0.6 - 0.01 * at, speaker=person, said_at=at, before="so", after="well")
        for at in range(6)
    ]
    candidates += [
        turn(
            f"that boat {at}",
            2 * at + 1,
            (0.98 if other else 0.58) - 0.01 * at,
            role=Role.ASSISTANT,
            speaker=other,
            said_at=at,
            before="so",
            after="well",
        )
        for at in range(6)
    ]
    names = {*speakers} - {""}
    first, second = (candidates[each.position].index for each in rank(read(query, names), candidates)[:2])
    assert ({first, second} in [{2 * at, 2 * at + 1} for at in range(6)]) is together


@pytest.mark.parametrize(
    ("query", "requests"),
    [
        ("Can you find me a quiet hotel?", True),
        ("Play something calm.", True),
        ("Which wine would you recommend for fish?", True),
        ("Can you tell me which hotel I mentioned?", False),
        ("What did you recommend for fish?", False),
        ("Where do I work?", False),
    ],
)
def test_a_request_is_told_from_a_question_about_the_past(query: str, requests: bool) -> None:
    assert read(query).request is requests


@pytest.mark.parametrize(
    ("query", "role"),
    [
        ("How did you suggest sorting my photos?", None),
        ("Summarize my plans for the garden.", None),
        ("What was your advice on the fence?", None),
        ("What did I say about the fence?", Role.USER),
    ],
)
def test_what_the_assistant_said_is_not_asked_of_the_person(query: str, role: Role | None) -> None:
    assert read(query).role is role


def test_broad_questions_go_through_the_sessions() -> None:
    day = 86_400.0
    candidates = [
        turn(f"the boat {at}", at, 0.6 - 0.01 * at, said_at=day * (at // 4), before="so", after="yes")
        for at in range(12)
    ]
    broad, narrow = (
        [each.position // 4 for each in rank(read(query), candidates)[:5]]
        for query in ("Sum up in which order I built the boat", "Which boat do I like?")
    )
    assert {*broad} == {0, 1, 2}
    assert {*narrow} != {0, 1, 2}


def first_of(query: str, *texts: str, cosines: tuple[float, ...]) -> str:
    """The first of turns that were said a day after each other, among many others."""
    candidates = [
        turn(text, 2 * at, cosine, said_at=86_400.0 * at)
        for at, (text, cosine) in enumerate(zip(texts, cosines, strict=True))
    ]
    others = [turn(f"the weather on day {at}", 1_000 + at, 0.2, said_at=at) for at in range(20)]
    return candidates[rank(read(query), [*candidates, *others], floor=0.0)[0].position].text


@pytest.mark.parametrize(
    ("query", "texts", "cosines", "first"),
    [
        # of two values the later one
        ("How many hens do I keep?", ("I keep 4 hens.", "I keep 6 hens."), (0.8, 0.75), 1),
        # what says that the value has changed names it in fewer words, and is farther away
        (
            "What is the deadline for painting the old boat shed?",
            (
                "The deadline for painting the old boat shed is May 1.",
                "The new deadline is May 9 for the boat.",
            ),
            (0.9, 0.4),
            1,
        ),
        # nothing says so: it is about another deadline
        (
            "What is the deadline for painting the old boat shed?",
            ("The deadline for painting the old boat shed is May 1.", "The deadline of Tom is May 9."),
            (0.9, 0.4),
            0,
        ),
        # a change of something else
        (
            "How many hens do I keep?",
            ("I keep 4 hens.", "I recently moved to house number 6."),
            (0.9, 0.4),
            0,
        ),
        # who asks for what was wants no latest one
        ("How many hens did I keep originally?", ("I keep 4 hens.", "I keep 6 hens now."), (0.9, 0.5), 0),
    ],
)
def test_who_asks_for_a_value_wants_the_latest(
    query: str, texts: tuple[str, ...], cosines: tuple[float, ...], first: int
) -> None:
    assert first_of(query, *texts, cosines=cosines) == texts[first]


def test_what_is_left_of_a_broad_question_keeps_its_order() -> None:
    candidates = [turn(f"the boat {at}", at, 0.9 - 0.01 * at, said_at=at) for at in range(30)]
    found = [each.position for each in rank(read("Sum up in which order I built the boat"), candidates)]
    assert found[12:] == sorted(found[12:])


@given(st.text(max_size=60) | st.text(alphabet="aAzZ09_-'. \t\nß", max_size=60))
def test_words_are_those_between_signs_whatever_the_letters(text: str) -> None:
    text = question._UNSPACED.sub("", normalize("NFKC", text))
    words = question._WORD.findall(normalize("NFKC", text).casefold())
    said = [word for word in words if word not in question._STOP_WORDS]
    assert words_of(text) == tuple(stem_of(word) if word.isascii() else without_particle(word) for word in said)
    assert words_of(text) == words_of(text), "as they were read before"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("緑茶", ("緑", "茶", "緑茶")),
        ("猫が好き", ("猫", "が", "好", "き", "猫が", "が好", "好き")),
        ("我养了2只cats。", ("我", "养", "了", "我养", "养了", "2", "只", "cat")),
        ("зелёный чай", ("зелёный", "чай")),
    ],
)
def test_where_words_are_not_told_apart_letters_and_pairs_of_them_are(
    text: str, words: tuple[str, ...]
) -> None:
    assert words_of(text) == words


def test_who_only_asks_about_something_is_told_from_who_states_it() -> None:
    candidates = [
        turn("I was out. How lovely your kettle looks! Did I hear the kettle whistle?", 1, speaker="Mara"),
        turn("Thanks, my kettle whistles. It is old.", 2, speaker="Ben", before="Did the kettle whistle?"),
    ]

    def found(query: str) -> dict[str, float]:
        question = read(query, {"Mara", "Ben"})
        seen = features(question, candidates)
        return signs(question, candidates, seen, seen.parts())

    of_mara, of_ben = found("Does Mara's kettle whistle?"), found("Does Ben's kettle whistle?")
    assert (of_mara["their_statement"], of_mara["their_self"], of_mara["best_self"]) == (0.0, 0.0, 0.0)
    assert of_mara["their_address"] == pytest.approx(1.0)
    assert of_mara["other_self"] == of_mara["other_statement"] == pytest.approx(1.0)
    assert of_mara["rival_self"] == of_mara["stated"] == of_mara["stated_of_self"] == pytest.approx(-1.0)
    assert of_ben["best_self"] == of_ben["stated"] == of_ben["rival_statement"] == pytest.approx(1.0)


def test_what_somebody_answers_counts_as_stated() -> None:
    asked, answer = "Did the kettle whistle?", turn("It did, I heard it.", 2, speaker="Ben")
    question = read("Does Ben's kettle whistle?", {"Mara", "Ben"})
    for before, stated in ((asked, 1.0), ("The kettle did whistle.", 0.0)):
        candidates = [msgspec.structs.replace(answer, before=before)]
        seen = features(question, candidates)
        found = signs(question, candidates, seen, seen.parts())
        assert found["their_self"] == found["their_statement"] == pytest.approx(stated)


def test_a_tree_asks_its_signs_from_the_root() -> None:
    lead, named = NAMES.index("lead"), NAMES.index("named")
    trees = Trees(
        sign=np.array([[lead, named, named]]),
        split=np.array([[1.0, 0.5, 0.5]]),
        leaf=np.array([[-1.0, -2.0, 3.0, 4.0]]),
        start=0.25,
    )
    found = dict.fromkeys(NAMES, 0.0)
    odds = [trees.odds(found | {"lead": lead, "named": named}) for lead in (1.0, 1.5) for named in (0.0, 1.0)]
    assert odds == [-0.75, -1.75, 3.25, 4.25]


def test_what_another_did_is_not_told_of_whom_the_question_names() -> None:
    """Of two questions that differ in the name alone, the one about who did it is surer to be answered."""
    said = [
        turn(f"I had a long day at the office {at}", 2 * at, 0.15, speaker="Mara", after="Oh no", said_at=at)
        for at in range(15)
    ]
    said += [
        turn(f"The weather is fine here {at}", 2 * at + 1, 0.12, speaker="Ben", said_at=at) for at in range(15)
    ]
    said += [turn("I broke my violin on the ferry to Oslo", 40, 0.75, speaker="Ben", said_at=50.0)]
    questions = [read(f"Where did {name} break the violin?", ["Mara", "Ben"]) for name in ("Ben", "Mara")]
    right, wrong = (rank(question, said, floor=0.0)[0].score for question in questions)
    assert right > wrong


def test_a_fact_is_not_taken_for_a_short_turn() -> None:
    short, long = (
        Candidate(text=text, role=Role.USER, cosine=0.3) for text in ("cello", "plays it well daily")
    )
    assert all(map(math.isnan, values("tea", short, long, name="length")))
    assert [each.parts["length"] for each in rank(read("tea"), [short, long])] == [0.0, 0.0]


def test_a_cosine_that_is_not_known_is_the_lowest_known_one() -> None:
    assert values("tea", turn("a", cosine=0.4), turn("b", cosine=None), name="meaning") == [0.4, 0.4]


def test_nothing_answers() -> None:
    far = [turn(f"black coffee {index}", index, 0.15) for index in range(24)]
    assert rank(read("violin repairs"), far) == []
    assert rank(read("violin repairs"), []) == []
    assert rank(read("violin repairs"), [turn("coffee", cosine=0.09)]) == []
    assert len(rank(read("violin repairs"), far[:3])) == 3, "of so few the nearest may well be it"
    assert rank(read("violin repairs"), [*far, turn("violin repair", 60, None)])
    assert rank(read("violin repairs"), [*far, turn("instruments", 60, 0.45)])


def test_without_any_cosine_words_decide() -> None:
    found = rank(read("green tea"), [turn("coffee", cosine=None), turn("green tea", cosine=None)])
    assert found[0].position == 1
    assert rank(read("green tea"), [turn("coffee", cosine=None)]) == []


TEXTS = st.text(alphabet="tea green?\n.X緑", max_size=30)
CANDIDATES = st.builds(
    Candidate,
    text=TEXTS,
    role=st.sampled_from(Role),
    speaker=st.sampled_from(["", "Mara", "Ben (x)"]),
    conversation_id=st.sampled_from(["a", "b"]),
    index=st.none() | st.integers(0, 30),
    cosine=st.none() | st.floats(-1, 1),
    before=TEXTS,
    after=TEXTS,
)


@given(query=TEXTS.filter(str.strip), candidates=st.lists(CANDIDATES, max_size=12))
def test_scores_are_the_parts_in_order(query: str, candidates: list[Candidate]) -> None:
    found = rank(read(query, ["Mara", "Ben (x)"]), candidates)
    assert len(found) in (0, len(candidates))
    assert len({each.position for each in found}) == len(found)
    scores = [each.score for each in found]
    assert scores == sorted(scores, reverse=True)
    for one, other in pairwise(found):
        assert 0.0 < one.score <= 1.0
        assert all(map(math.isfinite, one.parts.values()))
        odds = [math.log(each.score) for each in (one, other)]
        sums = [sum(each.parts.values()) for each in (one, other)]
        assert (odds[0] - odds[1]) == pytest.approx(STEEPNESS * (sums[0] - sums[1]), abs=1e-6)
