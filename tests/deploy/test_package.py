"""What is installed from a wheel (as in the Docker image) is whole: data files too."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import packages_distributions
from pathlib import Path

import yaml

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


def test_the_hooks_before_a_commit_run_what_make_check_runs():
    recipe = re.search(r"^check:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert recipe is not None
    commands = [line.strip().replace("$(BIN)", ".venv/bin") for line in recipe[1].splitlines()]
    [local] = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert local["repo"] == "local"
    assert [hook["entry"] for hook in local["hooks"]] == commands
    assert {hook["language"] for hook in local["hooks"]} == {"system"}, "nothing is downloaded"


def imported() -> set[str]:
    """The distributions that the packages import, in lower case and with hyphens."""
    modules = set()
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import):
                    modules |= {each.name for each in node.names}
                elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                    modules.add(node.module)
                elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in (
                    "import_module",
                    "find_spec",
                ):
                    modules |= {str(each.value) for each in node.args if isinstance(each, ast.Constant)}
    names = packages_distributions()
    return {
        each.lower().replace("_", "-") for module in modules for each in names.get(module.partition(".")[0], ())
    }


def test_no_dependency_is_declared_without_a_use():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    wanted = {re.match(r"[A-Za-z0-9_.-]+", each)[0].lower().replace("_", "-") for each in declared}
    assert wanted - imported() == set()
