"""A store of images apart from the machine's, and what ``buildah`` does in it; as root, without any engine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]

#: What the Dockerfile begins with.  No registry of images is asked: it is made of Debian's packages.
BASE = "docker.io/library/python:3.11-slim"
TAG = "localhost/switchboard:test"

#: Whom this machine trusts, where its packages come through a proxy.
_AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")
_PACKAGES = "python3,python3-pip,python3-venv,ca-certificates"
_MIRROR = "http://deb.debian.org/debian"
#: What python:3.11-slim leaves out, too.
_LEFT_OUT = ("var/cache/apt", "var/lib/apt/lists", "usr/share/doc", "usr/share/man", "usr/share/locale")


class Storage:
    """Images and containers in ``folder``, which is kept: the base takes minutes to make."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        configuration = folder / "storage.conf"
        configuration.write_text(
            f'[storage]\ndriver = "overlay"\ngraphroot = "{folder}/images"\nrunroot = "{folder}/run"\n'
        )
        self.environment = os.environ | {"CONTAINERS_STORAGE_CONF": str(configuration)}

    def buildah(self, *arguments: str | Path, seconds: float = 120) -> str:
        """Run ``buildah`` and return what it prints."""
        done = subprocess.run(
            ["buildah", *map(str, arguments)],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        assert done.returncode == 0, f"buildah {' '.join(map(str, arguments))}: {done.stderr[-3000:]}"
        return done.stdout.strip()

    def has(self, image: str) -> bool:
        return bool(self.buildah("images", "--quiet", "--filter", f"reference={image}"))

    def describe(self, image: str) -> dict[str, Any]:
        """Return the image's configuration (Docker's format)."""
        described: dict[str, Any] = json.loads(self.buildah("inspect", "--type", "image", image))["Docker"]
        return described

    def make_base(self) -> None:
        """Make the image that the Dockerfile begins with, unless it is there."""
        if self.has(BASE):
            return
        tree = self.folder / "debian"
        shutil.rmtree(tree, ignore_errors=True)
        command = ["debootstrap", "--variant=minbase", f"--include={_PACKAGES}", "bookworm", str(tree), _MIRROR]
        with (self.folder / "debootstrap.log").open("wb") as output:
            subprocess.run(command, stdout=output, stderr=output, timeout=1800, check=True)
        for folder in _LEFT_OUT:
            for path in (tree / folder).iterdir():
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        (tree / "usr/bin/python").symlink_to("python3")
        container = self.buildah("from", "scratch")
        self.buildah("add", "--quiet", container, tree, "/", seconds=600)
        self.buildah("commit", "--rm", "--quiet", container, BASE, seconds=600)
        shutil.rmtree(tree)

    def build(self) -> None:
        """Build the image as ``make image`` does."""
        options = ["--pull=never", "--isolation=chroot", "--layers"]
        if _AUTHORITIES.exists():
            options.append(f"--volume={_AUTHORITIES}:{_AUTHORITIES}:ro")
        with (self.folder / "build.log").open("wb") as output:
            done = subprocess.run(
                [ROOT / "deploy/docker/build.sh", TAG, *options],
                env=self.environment | {"BUILDER": "buildah"},
                stdout=output,
                stderr=output,
                timeout=1800,
                check=False,
            )
        assert done.returncode == 0, (self.folder / "build.log").read_text()[-5000:]
        self._forget()

    def _forget(self) -> None:
        """Remove what earlier runs have left, but for the newest stage: the next build reads it."""
        self.buildah("rm", "--all")
        for image in self.buildah("images", "--quiet", "--filter", "dangling=true").split()[1:]:
            self.buildah("rmi", image)
