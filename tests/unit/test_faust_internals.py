"""One test per assumption about Faust's and aiokafka's insides: an upgrade that breaks one says which."""

import pytest

from streams.clients import aiokafka_internals
from streams.clients.aiokafka_internals import Assumption
from streams.runtime import faust_internals

ALL = [*faust_internals.ASSUMPTIONS, *aiokafka_internals.ASSUMPTIONS]


@pytest.mark.parametrize("assumption", ALL, ids=lambda assumption: assumption.says[:60])
def test_still_holds(assumption: Assumption) -> None:
    assert assumption.holds(), f"no longer true: {assumption.says}"
