"""What mutmut asks of the tests.  Loaded by ``make mutants`` alone."""

from __future__ import annotations

import hypothesis
import pytest

# mutmut runs pytest several times in one process, so Hypothesis meets the same method on other objects and
# takes that for a flaw of the test.  That an example fails is enough: nobody asks for the smallest.
hypothesis.settings.register_profile(
    "mutation",
    derandomize=True,  # what kills a mutant must kill it the next time, too
    phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
    suppress_health_check=[hypothesis.HealthCheck.differing_executors],
)
hypothesis.settings.load_profile("mutation")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give each test the name under which mutmut remembers what it covers; pytest has no ``_nodeid``."""
    for item in items:
        item._nodeid = item.nodeid
