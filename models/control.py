"""``memory.control.v1``: which generation serves."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from models.messages import Timestamp


class Generation(msgspec.Struct, frozen=True, kw_only=True):
    """A generation and the settings that it was started with.  ``name`` ``""``: the live one.

    ``settings``: values by the name of the setting.  A reader of its views takes them over, or it
    would look for vectors of another model.
    """

    name: Annotated[str, msgspec.Meta(pattern="^([a-z0-9][a-z0-9-]{0,19})?$")] = ""
    settings: dict[str, str] = {}


class Control(msgspec.Struct, frozen=True, kw_only=True):
    """The generation whose views answer readers.  Key: ``control_id``, compacted; without a value: live.

    ``before``: the one that served until then, to which ``switchboard replay back`` returns.
    """

    control_id: Literal["serving"]
    serves: Generation
    before: Generation
    switched_at: Timestamp
