"""Memory for a bot: the HTTP API of Switchboard.

:class:`Switchboard` blocks, :class:`AsyncSwitchboard` is awaited; both have the same methods, which send what
:mod:`.calls` declares, and raise the same errors (:mod:`.errors`).  :mod:`.core` decides about retries, without
any I/O.
"""

from switchboard_client.asynchronous import AsyncSwitchboard
from switchboard_client.errors import SwitchboardError
from switchboard_client.synchronous import Switchboard
from switchboard_client.types import Message

__all__ = ["AsyncSwitchboard", "Message", "Switchboard", "SwitchboardError"]
