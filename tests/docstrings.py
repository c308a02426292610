"""Check of docstrings: none begins with a relative clause where a noun belongs (part of ``make check``).

``python -m tests.docstrings`` prints each that does, with its place, and exits 1 if there is one.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("models", "processors", "streams", "client", "deploy", "benchmarks")

_PRONOUN = r"what|who|whom|whose|which|whoever|whatever|whichever"
_HEAD = re.compile(
    rf"(?:{_PRONOUN}|whether|that which|(?:of|in|by|for|to|from|at|on|with|under) (?:which|whom|what)"
    rf"|return (?:{_PRONOUN}))\b",
    re.IGNORECASE,
)


def refused(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line number and the first line of each refused docstring in Python code."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        docstring = ast.get_docstring(node)
        if docstring and _HEAD.match(docstring):
            yield node.body[0].lineno, docstring.splitlines()[0]


def main() -> int:
    """Print the refused docstrings; return the exit status."""
    found = 0
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            for line, text in refused(path.read_text(encoding="utf-8")):
                print(f"{path.relative_to(ROOT)}:{line}: {text}")
                found += 1
    if found:
        print(
            f"{found} docstrings begin with a relative clause. Begin a module's or class's with a noun, "
            "a function's with an imperative, a property's with a noun or 'True if'."
        )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
