"""Code of ``docs/how-to/frameworks.md``, run against the deployment and the person of a test.

These scripts run in an environment of their own, with the frameworks and the client: ``make test-frameworks``.
"""

from __future__ import annotations

import io
import os
import re
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

URL, PERSON = os.environ["URL"], os.environ["PERSON"]
CONVERSATION = f"c-{PERSON}"
_PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "frameworks.md"


def run(framework: str) -> str:
    """Run the code that imports ``switchboard_client.<framework>``; return what it printed."""
    blocks = re.findall(r"```python\n(.*?)```", _PAGE.read_text(encoding="utf-8"), re.DOTALL)
    [code] = [each for each in blocks if f"switchboard_client.{framework} " in each]
    for documented, own in (
        ("http://127.0.0.1:8371", URL),
        ('"ada"', f'"{PERSON}"'),
        ('"c-1"', f'"{CONVERSATION}"'),
    ):
        assert documented in code or documented == '"c-1"'
        code = code.replace(documented, own)
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(code, f"{_PAGE} ({framework})", "exec"), {"__name__": "documented"})
    return printed.getvalue()


def eventually(ask: Callable[[], Any], what: str) -> Any:
    """Poll ``ask`` until it returns something true; return that."""
    deadline = time.monotonic() + 60
    while not (found := ask()):
        assert time.monotonic() < deadline, what
        time.sleep(0.1)
    return found
