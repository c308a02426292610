"""Schemas of the operators' own kinds: KEDA's and the Prometheus operator's, out of their Go modules.

``go mod download`` fetches a module once into Go's cache; its checksum is below, as ``go.sum`` would have it.
A schema is closed here, since an API server drops fields that it does not know and says nothing.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema
import yaml

#: Groups of the kinds that are found here.
GROUPS = frozenset({"keda.sh", "monitoring.coreos.com"})

_DOWNLOAD_SECONDS = 300


class _Module(NamedTuple):
    name: str
    checksum: str
    folder: str
    files: tuple[str, ...]


_MODULES = (
    _Module(
        "github.com/kedacore/keda/v2@v2.17.2",
        "h1:xlrcK5TKABJF9PebK79sgL07s/csGjL3H4m72OkZXxk=",
        "config/crd/bases",
        ("keda.sh_scaledobjects.yaml", "keda.sh_triggerauthentications.yaml"),
    ),
    _Module(
        "github.com/prometheus-operator/prometheus-operator@v0.82.2",
        "h1:qalPLM8wkvCtu9aHcoSKGDpCZR3aWRMKeHev5WomTBQ=",
        "example/prometheus-operator-crd",
        ("monitoring.coreos.com_podmonitors.yaml",),
    ),
)


class CannotLoad(Exception):
    """Go or a module cannot be had here."""


@cache
def schemas() -> dict[tuple[str, str], dict[str, Any]]:
    """Return the schemas by API version and kind.  Raises :class:`CannotLoad`."""
    found = {}
    for module in _MODULES:
        folder = _downloaded(module) / module.folder
        for name in module.files:
            spec = yaml.load((folder / name).read_bytes(), yaml.CSafeLoader)["spec"]
            for version in spec["versions"]:
                kind = f"{spec['group']}/{version['name']}", spec["names"]["kind"]
                found[kind] = _closed(version["schema"]["openAPIV3Schema"])
    return found


def validate(each: dict[str, Any]) -> None:
    """Check an object of one of :data:`GROUPS`.  Raises :class:`jsonschema.ValidationError`."""
    schema = schemas()[each["apiVersion"], each["kind"]]
    open_metadata = {"metadata": {"type": "object"}, "apiVersion": {}, "kind": {}}
    jsonschema.Draft4Validator(schema | {"properties": schema["properties"] | open_metadata}).validate(each)


def _downloaded(module: _Module) -> Path:
    if shutil.which("go") is None:
        raise CannotLoad("go is not installed (Debian and Ubuntu: apt-get install golang-go)")
    done = subprocess.run(
        ["go", "mod", "download", "-json", module.name],
        cwd="/",
        env=os.environ | {"GOTOOLCHAIN": "local", "GOFLAGS": ""},
        capture_output=True,
        text=True,
        timeout=_DOWNLOAD_SECONDS,
        check=False,
    )
    if done.returncode:
        raise CannotLoad(f"{module.name} cannot be downloaded: {done.stderr[-300:]}{done.stdout[-300:]}")
    told = json.loads(done.stdout)
    assert told["Sum"] == module.checksum, f"{module.name} is {told['Sum']}"
    return Path(told["Dir"])


def _closed(schema: Any) -> Any:
    """Return a schema of Kubernetes as JSON Schema, with no field but those that it names."""
    if isinstance(schema, list):
        return [_closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {
        name: {key: _closed(value) for key, value in part.items()}
        if name == "properties"
        else part
        if name in ("default", "enum", "required")
        else _closed(part)
        for name, part in schema.items()
    }
    if closed.get("x-kubernetes-int-or-string"):
        closed.pop("type", None)
        closed.setdefault("anyOf", [{"type": "integer"}, {"type": "string"}])
    is_open = closed.get("x-kubernetes-preserve-unknown-fields") or "additionalProperties" in closed
    if "properties" in closed and "type" in closed and not is_open:
        closed["additionalProperties"] = False
    return closed
