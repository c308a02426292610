"""How many tokens a text is, in the vocabulary of ``SWITCHBOARD_TOKENIZER``.

The usual ones come with the package ``quicktok``: exact, fast, offline.  Any other of ``tiktoken``'s is read
from ``TIKTOKEN_CACHE_DIR``, or downloaded into it when the worker starts.
"""

from __future__ import annotations

import os
import threading
from functools import partial
from typing import Any, cast

import quicktok

from models.errors import ConfigurationError
from processors.text.tokens import TokenCounter

#: The vocabularies that need nothing from outside.
BUILT_IN = ("cl100k_base", "o200k_base", "o200k_harmony")

_DOWNLOAD_SECONDS = 60.0


def open_counter(name: str) -> TokenCounter:
    """Return a counter of the tokens of a vocabulary.

    It agrees with ``tiktoken`` (``disallowed_special=()``) to the token, and never raises for a ``str``.

    Raises:
        ConfigurationError: there is no such vocabulary, or it is neither here nor to be had.
    """
    return _built_in(name) if name in BUILT_IN else _of_tiktoken(name)


def cl100k_counter() -> TokenCounter:
    """Return a counter of cl100k tokens."""
    return _built_in("cl100k_base")


def _built_in(name: str) -> TokenCounter:
    count = cast(TokenCounter, quicktok.get_encoding(name).count)

    def count_tokens(text: str) -> int:
        try:
            return count(text)
        except TypeError:
            # The binding's answer to a str that UTF-8 cannot hold: JSON may escape half of a surrogate pair
            # ("\\ud83d"), and such halves are replaced as tiktoken replaces them.
            return count(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))

    return count_tokens


def _of_tiktoken(name: str) -> TokenCounter:
    # Imported here, since it is only needed for what is not built in.
    import tiktoken

    known = tiktoken.list_encoding_names()
    if name not in known:
        raise ConfigurationError(
            f"SWITCHBOARD_TOKENIZER={name} is no vocabulary of tiktoken's: choose among "
            f"{', '.join(sorted(known))}"
        )
    found: list[Any] = []
    # In a thread that may be left behind: the library downloads without a timeout.
    loading = threading.Thread(target=partial(_load, name, found), name="vocabulary", daemon=True)
    loading.start()
    loading.join(_DOWNLOAD_SECONDS)
    encoding = found[0] if found else TimeoutError(f"no answer within {_DOWNLOAD_SECONDS:g} s")
    if isinstance(encoding, Exception):
        where = os.environ.get("TIKTOKEN_CACHE_DIR") or "(TIKTOKEN_CACHE_DIR is not set)"
        raise ConfigurationError(
            f"the vocabulary {name} is not in {where} and cannot be had ({type(encoding).__name__}): put "
            f"it there, or leave SWITCHBOARD_TOKENIZER to one that is built in ({', '.join(BUILT_IN)})"
        ) from encoding
    encode = cast(tiktoken.Encoding, encoding).encode

    def count_tokens(text: str) -> int:
        return len(encode(text, disallowed_special=()))

    return count_tokens


def _load(name: str, found: list[Any]) -> None:
    import tiktoken

    try:
        found.append(tiktoken.get_encoding(name))
    except Exception as error:  # noqa: BLE001 - whatever it is, it is said when the worker refuses to start
        found.append(error)
