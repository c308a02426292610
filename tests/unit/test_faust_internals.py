"""One test per assumption about Faust's and aiokafka's insides: an upgrade that breaks one says which."""

import pytest

from streams.runtime.faust_internals import ASSUMPTIONS, Assumption


@pytest.mark.parametrize("assumption", ASSUMPTIONS, ids=lambda assumption: assumption.says[:60])
def test_still_holds(assumption: Assumption) -> None:
    assert assumption.holds(), f"no longer true: {assumption.says}"
