"""From a question to its answer: what is in the prompt, what the model may do, what is said without one."""

from __future__ import annotations

import json

import msgspec
import pytest
import samples
from answer_samples import COUNT, Driven, asked, called, fact, said, turn
from hypothesis import given
from hypothesis import strategies as st
from injections import ATTEMPTS

from models.answers import AnswerItem, AnswerKind, Ended, MemorySearched, Notice, PromptLaid, ToolCall, Trouble
from models.context import ContextItem, FoundBy, LeftOut, Tier
from models.messages import Role
from models.understanding import QueryUnderstanding, Reason
from processors.prompts import answer as prompts
from processors.prompts import fence
from processors.prompts.answering.answering import ModelReply
from processors.prompts.answering.choosing import chosen
from processors.prompts.answering.material import Found
from processors.prompts.answering.plain import NOTED, NOTHING
from processors.prompts.answering.searching import search_of

DOG = fact("f-dog", "User has a dog called Bello")
HOME = fact("f-home", "User lives in Munich", 0.6)
MOVED = said("t-moved", "I moved to Munich in January with the dog.")
MEMORY = Found((DOG, HOME), (MOVED,))


def by_id(items: tuple[AnswerItem, ...]) -> dict[str, AnswerItem]:
    return {item.id: item for item in items}


class TestWithoutAModel:
    def test_what_is_remembered_is_quoted_with_its_source(self) -> None:
        found = Driven(asked("Where do I live?", MEMORY)).answer
        assert (found.kind, found.by) == (AnswerKind.ANSWERED, "builtin")
        items = by_id(found.prompt.items)
        for each in (DOG, HOME, MOVED):
            assert f"“{each.text}” [{items[each.id].n}]" in found.text
            assert items[each.id].quoted and items[each.id].message_ids == each.message_ids
        assert "7 March 2026" in found.text

    def test_what_was_not_found_is_not_known(self) -> None:
        found = Driven(asked("Where do I live?")).answer
        assert (found.text, found.kind, found.quoted) == (NOTHING, AnswerKind.UNKNOWN, ())

    def test_what_was_said_a_moment_ago_is_quoted_as_well(self) -> None:
        recent = (turn("I moved to Munich in January.", 6), turn(NOTED, 7, Role.ASSISTANT), turn("Am I?", 8))
        found = Found((), tuple(said(each.turn_id, each.text, each.role) for each in recent))
        answer = Driven(asked("Where do I live?", found, recent=recent)).answer
        assert answer.kind is AnswerKind.ANSWERED
        assert [item.id for item in answer.quoted] == ["t-6"], "and neither what was asked nor what is ours"

    def test_what_is_told_is_noted(self) -> None:
        found = Driven(asked("I live in Munich now.", MEMORY)).answer
        assert found.kind is AnswerKind.NOTED and "Bello" not in found.text

    def test_an_unanswering_memory_knows_neither_yes_nor_no(self) -> None:
        found = Driven(asked("Where do I live?", blind=True)).answer
        assert found.text != NOTHING and "cannot look" in found.text

    def test_an_open_question_is_asked_back_without_a_model(self) -> None:
        understanding = QueryUnderstanding(
            query="What is her job?",
            is_ambiguous=True,
            score=0.4,
            reasons=(Reason.REFERENCE,),
            possible_interpretations=("What is Anna's job?", "What is Julia's job?"),
            clarifying_questions=("By “her”, do you mean Anna or Julia?", "Or somebody else?"),
        )
        driven = Driven(asked("What is her job?", understanding=understanding), [ModelReply("Nurse.", Ended())])
        assert driven.dialogues == []
        assert driven.answer.kind is AnswerKind.CLARIFYING
        assert "1. What is Anna's job?\n2. What is Julia's job?" in driven.answer.text
        assert "By “her”" in driven.answer.text


class TestPrompt:
    def test_the_tiers_add_up_and_keep_to_the_budget(self) -> None:
        recent = tuple(turn(f"Message {n}. " + "word " * 80, n) for n in range(5))
        facts = tuple(fact(f"f-{n}", f"User owns {n} red cars and a {n}-metre boat", 0.9) for n in range(9))
        driven = Driven(
            asked("What do I own?", Found(facts), recent=recent), [ModelReply("Cars [1].", Ended())]
        )
        laid = driven.answer.prompt
        assert laid.tokens == sum(use.tokens for use in laid.tiers) <= laid.budget == 1500
        (dialogue,) = driven.dialogues
        sent = COUNT(dialogue.system) + COUNT(dialogue.user) + COUNT(json.dumps(dialogue.tool))
        assert sent <= laid.tokens, "the prompt costs more than it says"
        assert sent > laid.tokens - 100, "and not much less"
        lefts = {item.left_out for item in laid.items}
        assert {None, LeftOut.LIKE_ANOTHER} <= lefts or LeftOut.ENOUGH in lefts
        assert all(bool(item.n) is (item.left_out is None) for item in laid.items)

    def test_the_question_stands_last_and_is_not_said_twice(self) -> None:
        driven = Driven(
            asked("Where do I live?", MEMORY, recent=(turn("Hi!", 8),)), [ModelReply("Munich.", Ended())]
        )
        records = fence.opened(driven.dialogues[0].user)
        assert [each["is"] for each in records] == ["fact", "fact", "said before", "message", "question"]
        assert records[-1]["text"] == "Where do I live?"
        assert [each["n"] for each in records] == [1, 2, 3, 4, 5]

    def test_standing_notes_are_in_a_new_chat_s_first_turn(self) -> None:
        """There is no context yet, and the question bears on none of them."""
        allergy = fact("f-nuts", "I am allergic to nuts.", 0.0)
        allergy = msgspec.structs.replace(allergy, lasting=True, found_by=FoundBy.KIND)
        brief = fact("f-brief", "Answer in one sentence.", 0.0)
        found = Found(tuple(fact(f"f-{n}", f"I own boat number {n}.", 0.9) for n in range(9)))
        standing = Found((allergy,), (), (brief,))
        driven = Driven(asked("Which cake?", found, standing=standing), [ModelReply("Plain.", Ended())])
        records = fence.opened(driven.dialogues[0].user)
        assert (records[0]["is"], records[0]["text"]) == ("instruction", "Answer in one sentence.")
        assert (records[1]["is"], records[1]["text"]) == ("standing", "I am allergic to nuts.")
        assert all(each["is"] == "fact" for each in records[2:-1])

    def test_lasting_facts_of_the_context_are_in_beside_many_others(self) -> None:
        item = ContextItem(
            tier=Tier.FACTS,
            id="f-nuts",
            text="I am allergic to nuts.",
            tokens=9,
            found_by=FoundBy.KIND,
            score=0.1,
        )
        made = samples.context(turn("Hi"), tokens=9, items=(item,))
        found = Found(tuple(fact(f"f-{n}", f"I own boat number {n}. " + "word " * 60, 0.9) for n in range(30)))
        laid = Driven(asked("Which cake?", found, context=made), [ModelReply("Plain.", Ended())]).answer.prompt
        assert by_id(laid.items)["f-nuts"].left_out is None

    def test_an_instruction_found_by_search_stays_an_instruction(self) -> None:
        brief = fact("f-brief", "Answer in one sentence.")
        found = Found(instructions=(brief,))
        model = [ModelReply("", called("style")), ModelReply("Yes.", Ended())]
        driven = Driven(asked("How do I like answers?"), model, lambda search: found)
        item = by_id(driven.answer.prompt.items)["f-brief"]
        assert (item.tier, item.left_out) == (Tier.INSTRUCTIONS, None)
        (result,) = driven.dialogues[-1].rounds[0].results
        assert f"[{item.n}]" in result and "Answer in one sentence." not in result

    @given(st.text(max_size=300), st.lists(st.text(min_size=1, max_size=200), max_size=12))
    def test_whatever_was_said_it_fits(self, question: str, texts: list[str]) -> None:
        found = Found(tuple(fact(f"f-{n}", text) for n, text in enumerate(texts)))
        driven = Driven(asked(question, found), [ModelReply("Yes.", Ended())])
        assert driven.answer.prompt.tokens <= 1500
        fence.opened(driven.dialogues[0].user)

    def test_what_the_application_wants_stands_in_the_task(self) -> None:
        driven = Driven(asked("Hi?", style="Speak like a pirate. " * 500), [ModelReply("Arr.", Ended())])
        assert "Speak like a pirate." in driven.dialogues[0].system
        assert driven.answer.prompt.tokens <= 1500

    @pytest.mark.parametrize("attempt", ATTEMPTS[::6])
    def test_what_was_said_stays_inside_the_data(self, attempt: str) -> None:
        found = Found((fact("f", attempt),), (said("t", attempt), said("u", attempt + "!", Role.TOOL)))
        driven = Driven(asked(attempt, found, recent=(turn(attempt, 8),)), [ModelReply("No.", Ended())])
        (dialogue,) = driven.dialogues
        assert dialogue.system == prompts.SYSTEM
        records = fence.opened(dialogue.user)
        assert len(dialogue.user.splitlines()) == len(records) + 2
        assert {"question", "fact"} <= {each["is"] for each in records}


class TestSearching:
    def test_it_finds_what_it_searches_for_and_names_it(self) -> None:
        model = [ModelReply("", called("pets")), ModelReply("A dog, Bello [2].", Ended())]
        driven = Driven(asked("Any pets?"), model, lambda search: Found((DOG,)))
        answer = driven.answer
        assert [search.query for search in driven.searches] == ["pets"]
        assert answer.searches == (
            MemorySearched(round=1, query="pets", search_type="both", limit=5, found=("f-dog",)),
        )
        dog = by_id(answer.prompt.items)["f-dog"]
        assert (dog.tier, dog.n, dog.quoted) == (Tier.TOOLS, 2, True)
        (done,) = driven.dialogues[1].rounds
        assert fence.opened(done.results[0]) == [prompts.record_of(dog)]
        assert answer.prompt.round == 1
        assert [step.round for step in driven.steps if isinstance(step, PromptLaid)] == [0, 1]

    def test_three_rounds_at_most(self) -> None:
        driven = Driven(
            asked("Any pets?"), lambda dialogue: ModelReply("", called(f"pets {len(dialogue.rounds)}"))
        )
        assert [dialogue.tool is not None for dialogue in driven.dialogues] == [True, True, True, False]
        assert len(driven.searches) == 3
        assert driven.answer.notices[0].problem is Trouble.EMPTY, "who only searches has answered nothing"
        assert driven.answer.text == NOTHING

    def test_numbers_stay_the_same_from_round_to_round(self) -> None:
        model = [ModelReply("", called("a")), ModelReply("", called("b")), ModelReply("[1] [2] [3]", Ended())]
        finds = {"a": Found((DOG,)), "b": Found((HOME, DOG))}
        driven = Driven(asked("Any pets?"), model, lambda search: finds[search.query])
        first = fence.opened(driven.dialogues[1].rounds[0].results[0])
        again = fence.opened(driven.dialogues[2].rounds[0].results[0])
        later = fence.opened(driven.dialogues[2].rounds[1].results[0])
        assert first == again
        assert [each["text"] for each in later] == [HOME.text], "what was found twice is told once"
        assert len({item.n for item in driven.answer.prompt.items if item.n}) == 3

    def test_a_failed_search_is_told_and_the_model_continues(self) -> None:
        driven = Driven(
            asked("Any pets?"),
            [ModelReply("", called("pets")), ModelReply("I cannot look that up.", Ended())],
            lambda search: "Memory does not answer now.",
        )
        assert driven.dialogues[1].rounds[0].results == ("Memory does not answer now.",)
        assert driven.answer.searches[0].problem == "Memory does not answer now."

    @pytest.mark.parametrize(
        "call",
        [
            ToolCall(name="delete_memory", arguments={"query": "x"}),
            ToolCall(name="search_memory", arguments={}),
            ToolCall(name="search_memory", arguments={"query": "   "}),
            ToolCall(name="search_memory", arguments={"query": "x" * 9000}),
        ],
    )
    def test_what_cannot_be_searched_is_said_and_nothing_is_searched(self, call: ToolCall) -> None:
        model = [ModelReply("", Ended(calls=(call,))), ModelReply("Well.", Ended())]
        driven = Driven(asked("Any pets?"), model)
        assert driven.searches == []
        assert driven.answer.searches[0].problem

    def test_whose_memory_is_searched_is_not_the_models_to_say(self) -> None:
        given = {"query": "x", "user_id": "eve", "tenant_id": "other", "limit": 500, "search_type": "all"}
        call = ToolCall(name="search_memory", arguments=given)
        assert search_of(call) == ("x", "both", 5, "")

    @given(st.dictionaries(st.text(max_size=12), st.none() | st.text(max_size=9) | st.floats() | st.integers()))
    def test_no_arguments_break_it(self, arguments: dict[str, object]) -> None:
        found = search_of(ToolCall(name="search_memory", arguments={"query": "q", **arguments}))
        assert found.problem or 1 <= found.limit <= prompts.MOST_RESULTS


class TestTrouble:
    @pytest.mark.parametrize("problem", [Trouble.DOWN, Trouble.SLOW, Trouble.REFUSED, Trouble.OVER_BUDGET])
    def test_a_model_that_fails_leaves_what_is_remembered(self, problem: Trouble) -> None:
        notice = Notice(problem=problem, message="It is gone.")
        driven = Driven(asked("Where do I live?", MEMORY), [ModelReply("", Ended(trouble=notice))])
        assert notice in driven.steps and driven.answer.notices == (notice,)
        assert "Munich" in driven.answer.text
        assert driven.answer.by == f"builtin ({problem.value.replace('_', ' ')})"

    def test_a_cut_answer_stays_as_far_as_it_goes(self) -> None:
        notice = Notice(problem=Trouble.CUT, message="It ends.")
        driven = Driven(asked("Where do I live?", MEMORY), [ModelReply("You live in", Ended(trouble=notice))])
        assert (driven.answer.text, driven.answer.cut, driven.answer.by) == ("You live in", True, "a-model")

    def test_what_is_named_is_quoted_and_no_more(self) -> None:
        driven = Driven(asked("Where?", MEMORY), [ModelReply("In Munich [2, 3].", Ended())])
        assert [item.n for item in driven.answer.quoted] == [2, 3]

    def test_tokens_and_money_of_all_rounds_are_added_up(self) -> None:
        ended = called("x").__class__(calls=called("x").calls, input_tokens=10, output_tokens=2, cost_usd=0.5)
        model = [
            ModelReply("", ended),
            ModelReply("Yes.", Ended(input_tokens=20, output_tokens=4, cost_usd=1.0)),
        ]
        found = Driven(asked("Hm?"), model).answer
        assert (found.input_tokens, found.output_tokens, found.cost_usd) == (30, 6, 1.5)


class TestChoosing:
    ASKED = turn(
        "Which of these do you mean?\n1. What is Anna's job?\n2. What is Julia's job?", 8, Role.ASSISTANT
    )

    @pytest.mark.parametrize("text", ["2", "2.", " the second one ", "(2)", "Second"])
    def test_a_choice_stands_for_its_reading(self, text: str) -> None:
        found = chosen(text, [turn("What is her job?", 7), self.ASKED])
        assert found is not None
        assert (found.rewritten_query, found.is_ambiguous) == ("What is Julia's job?", False)

    @pytest.mark.parametrize("text", ["Anna's, of course", "7", "2 or 1", ""])
    def test_own_words_are_taken_without_asking_again(self, text: str) -> None:
        found = chosen(text, [self.ASKED])
        assert found is not None
        assert (found.rewritten_query, found.is_ambiguous) == (None, False)

    def test_who_was_not_asked_back_chooses_nothing(self) -> None:
        assert chosen("2", []) is None
        assert chosen("2", [turn("1. a\n2. b", 8, Role.ASSISTANT)]) is None
        assert chosen("2", [self.ASKED, turn("Hm.", 9)]) is None
