"""Memory behind LangChain's ``ChatOpenAI``, which is made as ``docs/how-to/drop-in.md`` says."""

from __future__ import annotations

import re
from pathlib import Path

from documented import PERSON, URL, eventually
from langchain_openai import ChatOpenAI

_PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "drop-in.md"

[documented] = re.findall(r"`(ChatOpenAI\(.*\))`", _PAGE.read_text(encoding="utf-8"))
assert '"http://127.0.0.1:8371/v1"' in documented and '"ada"' in documented
chat = eval(documented.replace("http://127.0.0.1:8371", URL).replace('"ada"', f'"{PERSON}"'))
assert isinstance(chat, ChatOpenAI)

chat.invoke("I have a dog called Bello, and we moved to Munich in January.")
number = 0


def answer() -> bool:
    """Ask in a new conversation, whose history has a system message, and read the answer as it streams."""
    global number
    number += 1
    question = [("system", f"You are assistant {number}."), ("user", f"{number}: What is my dog called?")]
    pieces = [piece.content for piece in chat.stream(question)]
    return len(pieces) > 1 and "Bello" in "".join(map(str, pieces))


eventually(answer, "the answer quotes what was said")
