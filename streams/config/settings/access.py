"""How to be let in: by Kafka, by Qdrant, by Redis.

Every secret may stand in a file instead, whose path is given in ``<NAME>_FILE``; it is read at start, without
the line break at its end.  Paths of certificates are PEM files.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from streams.config.settings.text import env_name, setting

#: The secrets; each has a companion, ``<name>_file``.
SECRETS = (
    "kafka_sasl_password",
    "qdrant_api_key",
    "redis_password",
    "api_token",
    "model_api_key",
    "embedding_api_key",
    "gemini_api_key",
    "openai_api_key",
)

#: Those of them that go into an HTTP header of a model's endpoint.
MODEL_KEYS = ("model_api_key", "embedding_api_key", "gemini_api_key", "openai_api_key")

_FILES = tuple(f"{name}_file" for name in SECRETS)
_KAFKA_PATHS = ("kafka_ssl_ca_file", "kafka_ssl_cert_file", "kafka_ssl_key_file")
_PATHS = (*_KAFKA_PATHS, "qdrant_ssl_ca_file", "redis_ssl_ca_file", "erasure_key_file")


#: Neither a URL nor anything else that might hold a password: users are shown.
_USER, _USER_ALLOWED = r"^[^\s/]*$", "name without spaces and slashes, or empty"


def _path(description: str) -> Path | None:
    path: Path | None = setting(None, description, allowed="path of a file, or empty")
    return path


class AccessSettings(BaseSettings):
    """Protocols, users, secrets and certificates.  Read with the other settings, as part of ``Settings``."""

    # The groups are never made alone: what checks them is built once, for all (`Settings`).
    model_config = SettingsConfigDict(defer_build=True)

    # Access: Kafka
    kafka_security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = setting(
        "PLAINTEXT", "how the Kafka brokers are spoken to: with TLS (SSL), with a user (SASL), or both"
    )
    kafka_sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"] = setting(
        "SCRAM-SHA-512", "how the user proves who it is (SASL_PLAINTEXT, SASL_SSL)"
    )
    kafka_sasl_username: str = setting(
        "", "user of the Kafka brokers; not for OAUTHBEARER", allowed=_USER_ALLOWED, pattern=_USER
    )
    kafka_sasl_password: SecretStr = setting(
        SecretStr(""), "its password; for OAUTHBEARER the token, from a file read again for each connection"
    )
    kafka_sasl_password_file: Path | None = _path("holds SWITCHBOARD_KAFKA_SASL_PASSWORD")
    kafka_ssl_ca_file: Path | None = _path("who signs the brokers' certificates; empty: whom the system trusts")
    kafka_ssl_cert_file: Path | None = _path("our own certificate, if the brokers ask for one")
    kafka_ssl_key_file: Path | None = _path("the private key of that certificate, without a password")

    # Access: what is signed
    erasure_key_file: Path | None = _path(
        "private key (Ed25519, PEM) that signs certificates of erasures; empty: one is made in the data folder"
    )

    # Access: Qdrant and Redis
    qdrant_api_key: SecretStr = setting(SecretStr(""), "API key of the Qdrant server")
    qdrant_api_key_file: Path | None = _path("holds SWITCHBOARD_QDRANT_API_KEY")
    qdrant_ssl_ca_file: Path | None = _path(
        "who signs the Qdrant server's certificate; empty: whom the system trusts"
    )
    redis_username: str = setting(
        "",
        "user of Redis; empty: its default user, or the one in the URL",
        allowed=_USER_ALLOWED,
        pattern=_USER,
    )
    redis_password: SecretStr = setting(SecretStr(""), "its password")
    redis_password_file: Path | None = _path("holds SWITCHBOARD_REDIS_PASSWORD")
    redis_ssl_ca_file: Path | None = _path(
        "who signs the certificate of Redis (rediss://); empty: whom the system trusts"
    )
    api_token: SecretStr = setting(
        SecretStr(""), "token that commands ask the HTTP API with, if it wants one (switchboard token create)"
    )
    api_token_file: Path | None = _path("holds SWITCHBOARD_API_TOKEN")
    model_api_key: SecretStr = setting(
        SecretStr(""),
        "key of the endpoint SWITCHBOARD_MODEL_URL; without it GEMINI_API_KEY or OPENAI_API_KEY, by "
        "SWITCHBOARD_MODEL_API",
    )
    model_api_key_file: Path | None = _path("holds SWITCHBOARD_MODEL_API_KEY")
    embedding_api_key: SecretStr = setting(
        SecretStr(""),
        "key of SWITCHBOARD_EMBEDDING_URL, if that is another host than SWITCHBOARD_MODEL_URL, whose key it is "
        "not sent",
    )
    embedding_api_key_file: Path | None = _path("holds SWITCHBOARD_EMBEDDING_API_KEY")
    gemini_api_key: SecretStr = setting(
        SecretStr(""),
        "key of the Gemini API; used only where a setting names a model",
        names=("GEMINI_API_KEY",),
    )
    gemini_api_key_file: Path | None = setting(
        None, "holds GEMINI_API_KEY", allowed="path of a file, or empty", names=("GEMINI_API_KEY_FILE",)
    )
    openai_api_key: SecretStr = setting(
        SecretStr(""),
        "key of SWITCHBOARD_MODEL_URL with SWITCHBOARD_MODEL_API=openai; used only where a setting names a "
        "model",
        names=("OPENAI_API_KEY",),
    )
    openai_api_key_file: Path | None = setting(
        None, "holds OPENAI_API_KEY", allowed="path of a file, or empty", names=("OPENAI_API_KEY_FILE",)
    )

    @field_validator("kafka_security_protocol", "kafka_sasl_mechanism", mode="before")
    @classmethod
    def _upper(cls, value: object) -> object:
        return value.upper() if isinstance(value, str) else value

    @field_validator(*_FILES, *_PATHS)
    @classmethod
    def _absolute(cls, value: Path | None) -> Path | None:
        return None if value is None else value.expanduser().absolute()

    @model_validator(mode="after")
    def _read_secrets(self) -> AccessSettings:
        for name in SECRETS:
            path: Path | None = getattr(self, f"{name}_file")
            if path is None:
                continue
            env, env_file = (self._env(field) for field in (name, f"{name}_file"))
            if getattr(self, name).get_secret_value():
                raise ValueError(f"{env} and {env_file} are both set: leave one of them out")
            # Settings are frozen for everybody else.
            object.__setattr__(self, name, SecretStr(read_secret(path, env_file)))
        for name in MODEL_KEYS:
            key = getattr(self, name).get_secret_value().strip()  # a secret often ends in a line break
            object.__setattr__(self, name, SecretStr(key))
        return self

    @model_validator(mode="after")
    def _check_access(self) -> AccessSettings:
        protocol = self.kafka_security_protocol
        named = {field: self._env(field) for field in type(self).model_fields}
        tls = [named[field] for field in _KAFKA_PATHS if getattr(self, field)]
        if tls and "SSL" not in protocol:
            raise ValueError(
                f"{tls[0]} is set, but {named['kafka_security_protocol']}={protocol} uses no TLS: set that to "
                "SSL or SASL_SSL"
            )
        if (self.kafka_ssl_cert_file is None) != (self.kafka_ssl_key_file is None):
            raise ValueError(
                f"{named['kafka_ssl_cert_file']} and {named['kafka_ssl_key_file']} go together: set both"
            )
        has_password = bool(self.kafka_sasl_password.get_secret_value())
        if "SASL" not in protocol:
            if self.kafka_sasl_username or has_password:
                raise ValueError(
                    f"{named['kafka_sasl_username']} or its password is set, but "
                    f"{named['kafka_security_protocol']}={protocol} knows no user: set that to SASL_SSL"
                )
            return self
        if not has_password or (not self.kafka_sasl_username and self.kafka_sasl_mechanism != "OAUTHBEARER"):
            raise ValueError(
                f"{named['kafka_security_protocol']}={protocol} needs {named['kafka_sasl_username']} and "
                f"{named['kafka_sasl_password']} (or {named['kafka_sasl_password_file']}); OAUTHBEARER "
                "only the token, as password"
            )
        return self

    def _env(self, name: str) -> str:
        return env_name(name, type(self).model_fields[name])


def read_secret(path: Path, variable: str) -> str:
    """Return the secret in a file, without the line break at its end.

    Raises :class:`ValueError`, which names ``variable`` and the path, if it cannot be read or is empty.
    """
    try:
        secret = path.read_text(encoding="utf-8").rstrip("\r\n")
    except OSError as error:
        raise ValueError(f"{variable}={path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError:
        raise ValueError(f"{variable}={path} is no text in UTF-8") from None
    if not secret:
        raise ValueError(f"{variable}={path} is empty")
    return secret
