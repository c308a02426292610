"""``switchboard`` whose respond service holds text for as long as it takes: ``python patient.py worker ...``.

A minute is the longest hold time that may be chosen.  Where much else runs, what is said again may take longer
to come in; it is right to release it then, but it is no more what the filter makes of the whole text.
"""

from __future__ import annotations

import msgspec

from processors.responses.filter_state import FilterPolicy
from streams.agents.respond import responses
from streams.cli.main import main
from streams.config.settings import Settings

LONGEST_HOLD_MS = 60_000
_FOR_EVER = 1e9  # seconds


def be_patient() -> None:
    """In this process, let the longest hold time have no end."""
    policy_of = responses.policy_of

    def patient(settings: Settings) -> FilterPolicy:
        policy = policy_of(settings)
        if settings.max_hold_ms < LONGEST_HOLD_MS:
            return policy
        return msgspec.structs.replace(policy, hold_seconds=_FOR_EVER, repeat_hold_seconds=_FOR_EVER)

    responses.policy_of = patient


if __name__ == "__main__":
    be_patient()
    main()
