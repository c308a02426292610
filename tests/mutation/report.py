"""How many mutants the tests killed, per module, and which lived: ``python -m tests.mutation.report``.

Reads what ``mutmut run`` left in ``mutants/``.  A mutant counts as killed when a test failed or hung on it;
one that no test reaches counts as alive.  What may live is named in ``survivors.txt`` beside this file, one
``<mutant, with wildcards> | <the changed line, with wildcards> | <why it does not matter>`` a line; it is left
out of the share and listed apart, and an entry that matches nothing is an error, so that the list cannot rot.
"""

from __future__ import annotations

import argparse
import difflib
import json
import sys
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

#: What mutmut notes for a mutant: pytest's status, 33 "no tests", 36 and the signals "timeout".
_KILLED = frozenset({1, 3, 24, -24, 36, 152, 255})
_NO_TEST = 33
_UNTOUCHED = frozenset({None, 34})

_SURVIVORS = Path(__file__).with_name("survivors.txt")


class Allowed(NamedTuple):
    """A line of ``survivors.txt``."""

    mutant: str
    line: str
    why: str

    def covers(self, mutant: str, changed: str) -> bool:
        """Say whether this entry allows ``mutant``, whose changed line now reads ``changed``."""
        return fnmatchcase(mutant, self.mutant) and fnmatchcase(changed, self.line)


def read_allowed(text: str) -> list[Allowed]:
    """Return the entries of ``survivors.txt``.

    Raises:
        ValueError: a line has no reason.
    """
    entries = []
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        parts = [part.strip() for part in line.split(" | ")]
        if len(parts) != 3 or not all(parts):
            raise ValueError(f"survivors.txt: wanted `mutant | changed line | why`, got: {line!r}")
        entries.append(Allowed(*parts))
    return entries


def changed_line(mutant: str, source: Path) -> str:
    """Return the first line that ``mutant`` changed, as it reads then (white space folded)."""
    from mutmut.__main__ import read_functions_from_index

    found = read_functions_from_index(mutant, source)
    if found is None:
        return ""
    import libcst

    before, after = (libcst.Module([function]).code.splitlines() for function in found)
    for line in difflib.ndiff(before, after):
        if line.startswith("+ ") and "__mutmut_" not in line:
            return " ".join(line[2:].split())
    return ""


class Module(NamedTuple):
    """What became of the mutants of one module; ``alive``: name and changed line of each that lives."""

    path: Path
    killed: int
    alive: list[tuple[str, str]]
    excused: list[Allowed]
    complete: bool

    @property
    def decided(self) -> int:
        """How many mutants count."""
        return self.killed + len(self.alive)


def judge(meta: Path, root: Path, allowed: list[Allowed], only: list[str]) -> Module:
    """Read what mutmut noted in ``meta``, below ``root``, of mutants whose names match ``only``."""
    source = meta.with_suffix("").relative_to(root)
    noted: dict[str, int | None] = json.loads(meta.read_text())["exit_code_by_key"]
    codes = {name: code for name, code in noted.items() if any(fnmatchcase(name, part) for part in only)}
    module = Module(
        source, sum(code in _KILLED for code in codes.values()), [], [], not _UNTOUCHED & set(codes.values())
    )
    for name, code in codes.items():
        if code in _KILLED or code in _UNTOUCHED:
            continue
        line = changed_line(name, source)
        reason = next((entry for entry in allowed if entry.covers(name, line)), None)
        if reason is None:
            module.alive.append((f"{name} (no test)" if code == _NO_TEST else name, line))
        else:
            module.excused.append(reason)
    return module


def render(modules: list[Module]) -> str:
    """Return the report."""
    alive = [f"{name}\n      {line}" for module in modules for name, line in module.alive]
    rows = [
        f"{100 * module.killed / module.decided:6.1f} %  {module.killed:4} of {module.decided:4}  {module.path}"
        for module in modules
        if module.decided
    ]
    excused = sum(len(module.excused) for module in modules)
    return "\n".join(
        [*alive, "", *rows, "", f"{share(modules):.1f} % killed; {excused} more may live ({_SURVIVORS.name})"]
    )


def share(modules: list[Module]) -> float:
    """Return how many percent of the mutants that count were killed."""
    decided = sum(module.decided for module in modules)
    return 100 * sum(module.killed for module in modules) / decided if decided else 0.0


def main() -> int:
    """Print the report; 1 if fewer than ``--at-least`` percent were killed or the list has rotted."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation.report", description=__doc__)
    parser.add_argument("--at-least", type=float, default=0.0, metavar="PERCENT")
    parser.add_argument("--mutants", type=Path, default=Path("mutants"))
    parser.add_argument(
        "only", nargs="*", default=["*"], help="names of mutants, with wildcards (default: all)"
    )
    arguments = parser.parse_args()
    allowed = read_allowed(_SURVIVORS.read_text())
    metas = sorted(arguments.mutants.rglob("*.py.meta"))
    modules = [judge(meta, arguments.mutants, allowed, arguments.only) for meta in metas]
    print(render(modules))
    used = {entry for module in modules for entry in module.excused}
    # After a part of the run nothing can be said of the others' entries.
    whole = arguments.only == ["*"] and all(module.complete for module in modules)
    stale = [entry for entry in allowed if entry not in used] if whole else []
    for entry in stale:
        print(f"survivors.txt names what does not live: {entry.mutant} | {entry.line}", file=sys.stderr)
    return int(share(modules) < arguments.at_least or bool(stale))


if __name__ == "__main__":
    sys.exit(main())
