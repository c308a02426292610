"""Memory for a bot: the HTTP API of Switchboard.

:class:`Switchboard` blocks, :class:`AsyncSwitchboard` is awaited; both have the same methods, which send what
:mod:`.calls` declares, and raise the same errors (:mod:`.errors`).  :mod:`.core` decides about retries, without
any I/O.  Each is loaded when it is first used: who blocks pays for no event loop.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from switchboard_client.asynchronous import AsyncSwitchboard
    from switchboard_client.errors import SwitchboardError
    from switchboard_client.synchronous import Switchboard
    from switchboard_client.types import Message

__all__ = ["AsyncSwitchboard", "Message", "Switchboard", "SwitchboardError"]

_HOMES = {
    "AsyncSwitchboard": "asynchronous",
    "Message": "types",
    "Switchboard": "synchronous",
    "SwitchboardError": "errors",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
