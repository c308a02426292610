"""Version of the code: the installed version and the commit it was built from."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, distribution, version
from importlib.resources import files
from pathlib import Path

import msgspec

_PACKAGE = Path(str(files("streams")))

#: Written into the package when an image is built, where there is no repository to ask (deploy/docker).
COMMIT_FILE = _PACKAGE / "COMMIT"

_REPOSITORY = _PACKAGE.parent
_COMMIT_LENGTH = 12
_GIT_SECONDS = 5.0


def installed_version(lookup: Callable[[str], str] = version) -> str:
    """Return the version of the installed distribution, or ``"unknown"`` when run from loose files."""
    try:
        return lookup("switchboard")
    except PackageNotFoundError:
        return "unknown"


@lru_cache(maxsize=1)
def code_version() -> str:
    """Return ``version+commit``, as in ``0.1.0+7008eb1d5007``; blocks for some ms when it is first called.

    The commit is that of the build, of the checkout that this runs from (with ``-dirty`` if files of it were
    changed), or of the repository that pip installed from.  ``0.1.0+unknown``: none of these says.
    """
    commit = _built_commit(COMMIT_FILE) or _checked_out_commit(_REPOSITORY) or _installed_commit()
    return f"{installed_version()}+{commit or 'unknown'}"


def _built_commit(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii").strip()[:_COMMIT_LENGTH]
    except (OSError, UnicodeDecodeError):
        return ""


def _checked_out_commit(root: Path) -> str:
    """Ask git, only if ``root`` is itself a checkout: an installed package may lie in somebody else's."""
    if not (root / ".git").exists():
        return ""
    describe = ["git", "-C", str(root), "describe", "--always", "--dirty", "--exclude=*"]
    try:
        asked = subprocess.run(
            [*describe, f"--abbrev={_COMMIT_LENGTH}"],
            capture_output=True,
            text=True,
            timeout=_GIT_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""  # no git here, or it does not trust the folder's owner
    return asked.stdout.strip()


def _installed_commit() -> str:
    """Return the commit that ``pip install git+https://...`` noted (PEP 610), or ``""``."""
    try:
        noted = distribution("switchboard").read_text("direct_url.json")
        commit = msgspec.json.decode(noted or "{}").get("vcs_info", {}).get("commit_id", "")
    except (PackageNotFoundError, msgspec.DecodeError):
        return ""
    return str(commit)[:_COMMIT_LENGTH]
