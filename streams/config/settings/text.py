"""Settings in words: their environment variables, what they accept, and what is wrong with a value."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple, get_args, get_origin

import annotated_types
from pydantic import AliasChoices, Field, SecretStr
from pydantic.config import JsonDict
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings

from streams.config.redaction import MASK, credentials_of, keep_secret, redacted, without_credentials

PREFIX = "SWITCHBOARD_"

#: What the test suite is told; workers that it starts inherit it.
_TESTS = f"{PREFIX}TEST_"


def setting(
    default: Any,
    description: str,
    unit: str = "",
    *,
    allowed: str = "",
    names: tuple[str, ...] = (),
    **limits: Any,
) -> Any:
    """Declare a setting; a callable ``default`` is called at load time.

    ``allowed`` says what is accepted where the type and the limits do not say it for themselves.  ``names`` are
    environment variables that it is read from, the first of them its own; without, it is named after the field.
    """
    if names:
        limits["validation_alias"] = AliasChoices(*names)
    where = {"default_factory": default} if callable(default) else {"default": default}
    extra: JsonDict = {"unit": unit, "allowed": allowed}
    return Field(**where, description=description, json_schema_extra=extra, **limits)


class SettingRow(NamedTuple):
    """One line of ``switchboard settings``.  Secrets are masked in ``value`` and ``default``."""

    env: str
    value: str
    default: str
    unit: str
    allowed: str
    description: str
    changed: bool


def describe(settings: BaseSettings) -> list[SettingRow]:
    """Return one row per setting, in the order of declaration."""
    rows = []
    for name, field in type(settings).model_fields.items():
        value, default = getattr(settings, name), field.get_default(call_default_factory=True)
        rows.append(
            SettingRow(
                env=env_name(name, field),
                value=_show(value),
                default=_show(default),
                unit=_extra(field, "unit"),
                allowed=allowed(field),
                description=field.description or "",
                changed=value != default,
            )
        )
    return rows


def env_name(name: str, field: FieldInfo | None = None) -> str:
    """Return the environment variable of the setting ``name``."""
    return env_names(name, field)[0]


def env_names(name: str, field: FieldInfo | None = None) -> list[str]:
    """Return all environment variables that the setting ``name`` is read from, its own first."""
    alias = field.validation_alias if field is not None else None
    if isinstance(alias, AliasChoices):
        return [str(each) for each in alias.choices]
    return [alias if isinstance(alias, str) else f"{PREFIX}{name.upper()}"]


def allowed(field: FieldInfo) -> str:
    """Say in words what a setting accepts, from its type and limits."""
    if stated := _extra(field, "allowed"):
        return stated
    kind = field.annotation
    if get_origin(kind) is Literal:
        return " or ".join(get_args(kind))
    if kind not in (int, float):
        return "text"
    words = ["whole number" if kind is int else "number"]
    for limit in field.metadata:
        if isinstance(limit, annotated_types.Ge):
            words.append(f"from {_number(limit.ge)}")
        elif isinstance(limit, annotated_types.Gt):
            words.append(f"above {_number(limit.gt)}")
        elif isinstance(limit, annotated_types.Le):
            words.append(f"to {_number(limit.le)}")
    return " ".join(words)


def _number(limit: object) -> str:
    return f"{limit:g}" if isinstance(limit, float) else str(limit)


def explain(detail: ErrorDetails, fields: Mapping[str, FieldInfo]) -> str:
    """Turn one validation error into a line that names the variable, its value and what is allowed."""
    location = str(detail["loc"][0]) if detail["loc"] else ""
    message = detail["msg"].removeprefix("Value error, ")
    by_env = {env: name for name, field in fields.items() for env in env_names(name, field)}
    name = by_env.get(location, location)
    if name not in fields:
        return f"{location}: {message}" if location else message
    field, given = fields[name], str(detail["input"])
    keep_secret([given] if field.annotation is SecretStr else credentials_of(given))
    shown = MASK if field.annotation is SecretStr else repr(without_credentials(given))
    reason = "" if detail["type"] in ("string_pattern_mismatch", "literal_error") else f"{message}; "
    text = f"{env_name(name, field)}={shown}: {reason}allowed: {allowed(field)} ({field.description})"
    if _is_service_link(env_name(name, field), given):
        text += "; Kubernetes sets this for a Service of that name: set enableServiceLinks: false on the pod"
    return redacted(text)


def unknown_variables(environ: Mapping[str, str], fields: Mapping[str, FieldInfo]) -> list[str]:
    """Return a line for each variable with our prefix that no setting has."""
    named = (each for name, field in fields.items() for each in env_names(name, field))
    known = {name for name in named if name.startswith(PREFIX)}
    problems = []
    for variable in sorted(environ):
        name = variable.upper()
        ours = name.startswith(PREFIX) and not name.startswith(_TESTS)
        if not ours or name in known or _is_service_link(name, environ[variable]):
            continue
        # Without the prefix, which is alike in all of them.
        close = difflib.get_close_matches(
            name.removeprefix(PREFIX), [k.removeprefix(PREFIX) for k in known], n=1
        )
        hint = f"did you mean {PREFIX}{close[0]}?" if close else "`switchboard settings` lists them"
        problems.append(f"{variable}: no such setting; {hint}")
    return problems


def _extra(field: FieldInfo, key: str) -> str:
    extra = field.json_schema_extra
    return str(extra.get(key, "")) if isinstance(extra, dict) else ""


def _show(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, SecretStr):
        return MASK if value.get_secret_value() else ""
    if isinstance(value, str) and "://" in value:
        return without_credentials(value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def keep_secrets(values: Iterable[object]) -> None:
    """Keep what is secret in the values of settings out of everything that is printed, logged or answered."""
    for value in values:
        if isinstance(value, SecretStr):
            keep_secret([value.get_secret_value()])
        elif isinstance(value, str) and "://" in value:
            keep_secret(credentials_of(value))


def _is_service_link(name: str, value: str) -> bool:
    """Kubernetes describes a Service called ``switchboard-x`` in variables ``SWITCHBOARD_X_...``."""
    link = re.search(r"_SERVICE_(HOST|PORT(_\w+)?)$|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$", name)
    return link is not None or (name.endswith("_PORT") and "://" in value)
