"""What is installed from a wheel (as in the Docker image) is whole: data files too."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ["models", "processors", "streams", "schemas", "deploy"]


def test_the_wheel_holds_every_file_of_the_packages(tmp_path):
    source = tmp_path / "source"  # building writes beside the sources
    for package in PACKAGES:
        shutil.copytree(ROOT / package, source / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", source)
    (source / "streams" / "COMMIT").write_text("7008eb1d5007")  # as the image's build does
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet", "--no-deps"]
    subprocess.run([*command, "--no-build-isolation", "--wheel-dir", tmp_path, source], check=True, timeout=100)
    [wheel] = tmp_path.glob("*.whl")
    packed = set(zipfile.ZipFile(wheel).namelist())
    expected = {
        path.relative_to(source).as_posix()
        for package in PACKAGES
        for path in (source / package).rglob("*")
        if path.is_file()
    }
    assert expected - packed == set()
