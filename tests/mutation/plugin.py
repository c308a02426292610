"""What mutmut asks of pytest, and pytest no longer has: ``item._nodeid``.  Loaded by ``make mutants`` alone."""

from __future__ import annotations

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give each test the name under which mutmut remembers what it covers."""
    for item in items:
        item._nodeid = item.nodeid
