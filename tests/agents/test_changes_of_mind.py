"""Somebody says the opposite of what they said before: only what was said last stands.

The built-in extractor, the embedder and the stages of a deployment, without a broker.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import samples

from benchmarks.notebook.stepped import SteppedMemory
from models.understanding import QueryUnderstanding
from processors.prompts.answering.material import Asked, material
from streams.chat.answering.recollection import Recollection
from streams.llm.builtin_extractor import BuiltinExtractor
from streams.llm.onnx_embedder import OnnxEmbedder
from streams.llm.onnx_reader import OnnxReader
from streams.llm.tokenizer import cl100k_counter

CHANGES = {
    "car": ("I have a car.", "I sold my car."),
    "car bought": ("I don't have a car.", "I bought a car."),
    "children": ("I have two children.", "I have three children now."),
    "coffee": ("I don't drink coffee.", "I drink coffee every morning now."),
    "no coffee": ("I drink coffee every morning.", "I don't drink coffee any more."),
    "allergy": ("I'm allergic to nuts.", "I'm not allergic to nuts, the test was wrong."),
    "food": ("I love Chinese food.", "I hate Chinese food now."),
    "dog": ("I have a dog called Rex.", "Rex died last week."),
    "trip": ("I'm going to Japan in May.", "We cancelled the Japan trip."),
    "girlfriend": ("My girlfriend is called Mia.", "Mia and I broke up."),
    "partner": ("My girlfriend is called Mia.", "My girlfriend is called Anna now."),
    "married": ("I'm single.", "I got married to Eve."),
    "job": ("I work at Nokia.", "I quit my job at Nokia."),
    "language": ("Always answer in French.", "From now on answer in English."),
    "length": ("Please keep your answers short.", "Please give long, detailed answers from now on."),
    "units": ("Use metric units.", "Use imperial units from now on."),
    "called": ("Call me Sam.", "Call me Samantha from now on."),
    "emojis": ("Always use emojis.", "Stop using emojis."),
    "emojis again": ("Never use emojis.", "You can use emojis again."),
    "ex": ("Never mention my ex.", "It's ok to mention my ex now."),
}


def session(person: str, day: str, text: str) -> dict[str, Any]:
    message = {"id": f"{person}-{day}", "role": "user", "at": f"{day}T09:00:00Z", "text": text}
    return {"conversation_id": f"{person}-{day}", "messages": [message]}


async def test_only_what_was_said_last_stands(tmp_path: Path) -> None:
    embedder = OnnxEmbedder()
    stands = {}
    async with SteppedMemory(tmp_path, embedder) as memory:
        memory.read_by(BuiltinExtractor(OnnxReader()))
        for name, (before, after) in CHANGES.items():
            sessions = [session(name, "2026-02-01", before), session(name, "2026-06-01", after)]
            await memory.feed({"person": name, "sessions": sessions})
            stands[name] = [each["statement"] for each in await memory.facts(name, "active")]
    await embedder.close()
    assert stands == {name: [after] for name, (_, after) in CHANGES.items()}


async def test_the_name_of_a_partner_does_not_end_the_marriage(tmp_path: Path) -> None:
    embedder = OnnxEmbedder()
    said = ("I'm married.", "My wife is called Mia.")
    async with SteppedMemory(tmp_path, embedder) as memory:
        memory.read_by(BuiltinExtractor(OnnxReader()))
        sessions = [session("ada", "2026-02-01", said[0]), session("ada", "2026-06-01", said[1])]
        await memory.feed({"person": "ada", "sessions": sessions})
        stands = {each["statement"] for each in await memory.facts("ada", "active")}
    await embedder.close()
    assert stands == {*said}


@pytest.mark.parametrize(
    "name", ["language", "length", "units", "called", "emojis", "emojis again", "ex", "allergy"]
)
async def test_an_answer_s_prompt_holds_only_the_last_saying(tmp_path: Path, name: str) -> None:
    before, after = CHANGES[name]
    embedder = OnnxEmbedder()
    question = "Tell me about owls."
    now = datetime(2026, 7, 1, 9, tzinfo=UTC)
    async with SteppedMemory(tmp_path, embedder) as memory:
        memory.read_by(BuiltinExtractor(OnnxReader()))
        sessions = [session("ada", "2026-02-01", before), session("ada", "2026-06-01", after)]
        await memory.feed({"person": "ada", "sessions": sessions})
        turn = samples.turn(0, question, user_id="ada")
        # Standing notes need the index alone.
        known = Recollection(None, None, None, None, memory.index, clock=lambda: now)  # type: ignore[arg-type]
        standing = await known.standing(turn)
    await embedder.close()
    understood = QueryUnderstanding(query=question, is_ambiguous=False, score=0.0)
    asked = Asked(turn=turn, understanding=understood, standing=standing)
    packed = material(asked, [], 1500, now, cl100k_counter(), {})
    assert [each.text for each in packed.inside() if each.text != question] == [after]
