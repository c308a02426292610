"""Every setting, with its default, its limits, its unit and what it does.

A setting is an environment variable ``SWITCHBOARD_<NAME>`` (and ``GEMINI_API_KEY``).  The defaults work on
one machine.  :func:`load_settings` reads and checks them once, at start; ``switchboard settings`` prints
what :func:`describe` returns.

Each group of settings is a class in a file of its own (access, places, stages, models, flow), one extending the
other, so that they are listed in this order; here is what several groups must agree on.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pydantic import ValidationError, field_validator, model_validator
from pydantic_settings import SettingsConfigDict

from models.errors import ConfigurationError
from streams.config.namespace import Namespace
from streams.config.settings.flow import FlowSettings
from streams.config.settings.text import (
    PREFIX,
    SettingRow,
    describe,
    env_name,
    explain,
    keep_secrets,
    unknown_variables,
)

__all__ = ["SettingRow", "Settings", "describe", "load_settings"]

#: Bytes of content that one window may hold.  JSON at most doubles text without control characters, and
#: ``memory.windows.v1`` takes records of 2 MiB.
WINDOW_CONTENT_BYTES = 1_000_000


class Settings(FlowSettings):
    """All settings.  Durations are seconds unless the name says otherwise; sizes are bytes."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        frozen=True,
        extra="forbid",
        env_ignore_empty=True,
        populate_by_name=True,
        allow_inf_nan=False,
        defer_build=False,
    )

    @field_validator(
        "api_auth",
        "mask",
        "log_level",
        "log_format",
        "auto_offset_reset",
        "episodes",
        "response_memory",
        "response_fuzzy",
        "compression",
        mode="before",
    )
    @classmethod
    def _fold_case(cls, value: object) -> object:
        return value.lower() if isinstance(value, str) else value

    @model_validator(mode="after")
    def _check_together(self) -> Settings:
        for small, large, relation in (
            ("window_overlap", "window_size", "below"),
            ("episode_overlap", "episode_size", "below"),
            ("heartbeat_seconds", "session_timeout_seconds", "below"),
            ("commit_interval_seconds", "shutdown_timeout_seconds", "below"),
            ("step_timeout_seconds", "hang_timeout_seconds", "below"),
            ("retry_min_seconds", "retry_max_seconds", "at most"),
        ):
            low, high = getattr(self, small), getattr(self, large)
            if low > high or (relation == "below" and low == high):
                wrong = f"{env_name(small)}={low:g} must be {relation} {env_name(large)}={high:g}"
                raise ValueError(f"{wrong}: change one of them")
        for name, scheme in (("qdrant", "https://"), ("redis", "rediss://")):
            if getattr(self, f"{name}_ssl_ca_file") and not getattr(self, f"{name}_url").startswith(scheme):
                raise ValueError(
                    f"{env_name(f'{name}_ssl_ca_file')} is set, but {env_name(f'{name}_url')} does not begin "
                    f"with {scheme}, so no TLS is used"
                )
        if self.idle_seconds > self.conversation_forget_days * 86_400:
            raise ValueError(
                f"{env_name('idle_seconds')}={self.idle_seconds:g} (seconds) must be at most "
                f"{env_name('conversation_forget_days')}={self.conversation_forget_days:g} (days): "
                "change one of them"
            )
        if 0 < self.turn_log_days < self.conversation_forget_days:
            raise ValueError(
                f"{env_name('turn_log_days')}={self.turn_log_days:g} (days) must be 0 or at least "
                f"{env_name('conversation_forget_days')}={self.conversation_forget_days:g}: in between, "
                "somebody else could go on with a conversation that is no longer known to be another's"
            )
        if self.window_size * self.max_content_bytes > WINDOW_CONTENT_BYTES:
            raise ValueError(
                f"{env_name('window_size')}={self.window_size} messages of "
                f"{env_name('max_content_bytes')}={self.max_content_bytes} may exceed the "
                f"{WINDOW_CONTENT_BYTES:,} bytes of content that fit into one window record: lower one of them"
            )
        return self

    def chosen(self, *names: str) -> dict[str, object]:
        """Return the values of these settings by name."""
        return {name: getattr(self, name) for name in names}

    @property
    def namespace(self) -> Namespace:
        """The names of what is this deployment's and this generation's own."""
        return Namespace(self.topic_prefix, self.generation)

    @property
    def folder(self) -> Path:
        """Folder of this generation's local files, inside ``data_dir``, which deployments may share."""
        return self.namespace.folder(self.data_dir)

    def group(self, service: str) -> str:
        """Return the consumer group (and Faust app id) of ``service``; see :class:`Namespace`."""
        return self.namespace.group(service)

    def static_member(self, service: str) -> str:
        """Return the prefix of the static membership id (``group.instance.id``) of ``service`` here."""
        return f"{service}-{self.instance_id}"


def load_settings(**overrides: Any) -> Settings:
    """Read the environment, check it, and return the settings (``overrides`` win over it).

    Raises :class:`ConfigurationError`, whose text names every variable that is wrong, its value and what
    is allowed, and every ``SWITCHBOARD_`` variable that no setting has (a typo would go unnoticed).
    """
    problems = unknown_variables(os.environ, Settings.model_fields)
    settings = None
    try:
        settings = Settings(**overrides)
    except ValidationError as error:
        problems += [explain(detail, Settings.model_fields) for detail in error.errors()]
    if settings is None or problems:
        # Not chained: the library's error repeats the values, secrets among them.
        raise ConfigurationError("\n".join(["the settings are wrong:", *(f"  {line}" for line in problems)]))
    keep_secrets(getattr(settings, name) for name in Settings.model_fields)
    return settings
