"""An extractor of somebody's own, named by where it stands: ``package.module:name`` (docs/how-to/extractor.md).

What was erased while its window waited is not shown to it: a candidate would hold it in its topic once more.
"""

from __future__ import annotations

import asyncio
import pkgutil
from collections.abc import Sequence

from models.errors import ConfigurationError, DependencyUnavailable
from models.ports import Extracted, Extraction, Extractor
from models.windows import Window
from streams.llm.builtin_extractor import Erasures, left_of

#: Longest wait for the answer to one call (seconds).
_ANSWER_SECONDS = 60.0


def load(where: str) -> Extractor:
    """Return the extractor named by ``package.module:name``, called without arguments.

    Raises:
        ConfigurationError: there is nothing of this name, or it is no extractor.
    """
    try:
        made = pkgutil.resolve_name(where)()
        is_one = isinstance(made.name, str) and callable(made.extract)
    except Exception as error:
        raise ConfigurationError(
            f"{_setting(where)} cannot be opened: {type(error).__name__}: {error}. It names a class or a "
            "function without arguments (package.module:name) that this Python can import"
        ) from error
    if not is_one:
        raise ConfigurationError(
            f"{_setting(where)} is no extractor: one has a text `name` and an `async def extract(windows)`"
        )
    own: Extractor = made
    return own


def _setting(where: str) -> str:
    return f"SWITCHBOARD_EXTRACTOR={where}"


class OwnExtractor:
    """Implements :class:`models.ports.Extractor` by asking another.  ``erasures`` says what it may not read."""

    def __init__(self, own: Extractor, erasures: Erasures) -> None:
        self._own = own
        self._erasures = erasures

    @property
    def name(self) -> str:
        """Name and version, as stored in each candidate."""
        return self._own.name

    async def extract(self, windows: Sequence[Window]) -> list[Extraction]:
        """Return the outcome of each window, in the order of ``windows``.

        Raises:
            DependencyUnavailable: nobody can say what was erased, or there is no answer in time.
            ValueError: there are not as many answers as windows.
        """
        erased = await self._erasures([(each.tenant_id, each.conversation_id) for each in windows])
        left = [left_of(each, erased.get((each.tenant_id, each.conversation_id))) for each in windows]
        asked = [each for each in left if each is not None]
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                answers = list(await self._own.extract(asked)) if asked else []
        except TimeoutError as error:
            raise DependencyUnavailable(
                f"the extractor {self.name}", f"it did not answer within {_ANSWER_SECONDS:g} s"
            ) from error
        if len(answers) != len(asked):
            raise ValueError(
                f"the extractor {self.name} was given {len(asked)} windows and told of {len(answers)}"
            )
        following = iter(answers)
        return [
            Extracted() if each is None else self._signed(next(following), each, window)
            for each, window in zip(left, windows, strict=True)
        ]

    def _signed(self, found: Extraction, left: Window, window: Window) -> Extraction:
        if left is window or not isinstance(found, Extracted):
            return found
        return Extracted(found.statements, by=f"{found.by or self.name} (erased)")
