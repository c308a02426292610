"""``make vendor``: fetches the console's one foreign file again, as ``streams/server/console/vendor.json``
says.

It comes from npm's registry through npm's own client and is taken only if the package is, byte for byte, the
one that was looked at (``integrity``).  What lies in the repository has its sums beside it, which a test
compares, so that nobody needs npm to install or to run the console.
"""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

CONSOLE = Path(__file__).parents[1] / "streams" / "server" / "console"
FOLDER = CONSOLE / "static" / "vendor"
SUMS = "SHA256SUMS"

_NPM_SECONDS = 120.0


def main() -> None:
    """Fetch, check and write.  Ends with a sentence and status 1 when something is not as it should be."""
    packages = json.loads((CONSOLE / "vendor.json").read_text())
    with tempfile.TemporaryDirectory() as folder:
        for name, wanted in packages.items():
            archive = fetch(f"{name}@{wanted['version']}", Path(folder))
            found = integrity(archive.read_bytes())
            if found != wanted["integrity"]:
                sys.exit(f"make vendor: {name} {wanted['version']} is not what was looked at ({found})")
            with tarfile.open(archive) as tar:
                for member, target in wanted["files"].items():
                    content = tar.extractfile(member)
                    if content is None:
                        sys.exit(f"make vendor: {name} {wanted['version']} has no file {member}")
                    (FOLDER / target).write_bytes(content.read())
    (FOLDER / SUMS).write_text(sums(FOLDER))
    print(f"{FOLDER} is as vendor.json says")


def fetch(package: str, folder: Path) -> Path:
    """Return the archive of ``package`` (``name@version``), packed into ``folder`` by npm."""
    command = ["npm", "pack", package, "--silent", "--pack-destination", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_NPM_SECONDS, check=True)
    except FileNotFoundError:
        sys.exit("make vendor: needs npm on PATH")
    except subprocess.CalledProcessError as error:
        sys.exit(f"make vendor: npm could not fetch {package}: {error.stderr.strip()}")
    return folder / done.stdout.split()[-1]


def integrity(content: bytes) -> str:
    """Return the hash of ``content`` as npm writes it."""
    return "sha512-" + base64.b64encode(hashlib.sha512(content).digest()).decode()


def sums(folder: Path) -> str:
    """Return a line for each file of ``folder`` but the sums themselves, as ``sha256sum`` writes it."""
    files = sorted(path for path in folder.iterdir() if path.name != SUMS)
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files)


if __name__ == "__main__":
    main()
