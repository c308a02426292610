"""Token counts agree with tiktoken, to the token (requirement 5.1)."""

from __future__ import annotations

import inspect
import json
import re

import pytest
import quicktok
import tiktoken
from hypothesis import given
from hypothesis import strategies as st
from tiktoken_ext import openai_public

from models.errors import ConfigurationError
from models.messages import Role
from processors.text.tokens import message_tokens
from streams.llm import tokenizer
from streams.llm.tokenizer import BUILT_IN, cl100k_counter, open_counter

VOCABULARY_SIZE = 100_256

TEXTS = [
    "",
    "Hello",
    "東京は夜の七時。我喜欢蓝莓!한국어도 됩니다",
    "👩‍👩‍👧‍👦 🇩🇪 👍🏽 ☕️ e\u0301",
    "def f(x):\n\treturn {k: v for k, v in x.items() if v != '\\n'}\r\n\r\n    # done\n",
    "<|endoftext|><|fim_prefix|><|im_start|>user<|endofprompt|>",
    "\x00\x07\x1f\x7f\x85\u2028\ufeff\U0010ffff",
    " " * 3000 + "a" * 3000 + "\n" * 3000 + "1" * 3000 + "é" * 3000 + "ab " * 3000,
]


@pytest.fixture(scope="module")
def reference() -> tiktoken.Encoding:
    """tiktoken's own code over the vocabulary that quicktok carries: no download."""
    pattern = re.search(r'"pat_str": r"""(.+?)""",', inspect.getsource(openai_public.cl100k_base))
    assert pattern is not None
    vocabulary = quicktok.get_encoding("cl100k_base")
    ranks = {vocabulary.decode_single_token_bytes(rank): rank for rank in range(VOCABULARY_SIZE)}
    assert len(ranks) == VOCABULARY_SIZE
    special = {name: rank for rank, name in enumerate(vocabulary.special_tokens_set, start=VOCABULARY_SIZE + 1)}
    return tiktoken.Encoding(
        "cl100k_base", pat_str=pattern.group(1), mergeable_ranks=ranks, special_tokens=special
    )


count = cl100k_counter()


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_agrees_with_tiktoken(reference: tiktoken.Encoding, text: str) -> None:
    assert count(text) == len(reference.encode(text, disallowed_special=()))


@given(st.text(st.characters(), max_size=50))
def test_counts_whatever_json_can_carry(text: str) -> None:
    assert count(json.loads(json.dumps(text))) >= 0


def test_a_message_is_content_and_role_and_four() -> None:
    assert message_tokens("user", "Hello", count) == 1 + 1 + 4
    assert message_tokens("assistant", "", count) == 0 + 1 + 4
    assert message_tokens(Role.USER, "Hello", count) == 6


@pytest.mark.parametrize("name", BUILT_IN)
def test_what_is_built_in_needs_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "/nowhere")
    count = open_counter(name)
    assert count("Hello") == 1 and count("") == 0
    assert count("\ud83d and <|endoftext|>") > 3


def test_one_that_does_not_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenizer, "_DOWNLOAD_SECONDS", 0.0)
    monkeypatch.setattr(tokenizer, "_load", lambda name, found: None)
    with pytest.raises(ConfigurationError, match="TimeoutError"):
        open_counter("p50k_base")
