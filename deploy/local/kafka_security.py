"""A local broker with TLS, users and rights: what an operator's own has, to try ours against.

Certificates come from a throw-away authority that ``openssl`` makes in the broker's folder.  Users prove
themselves by SCRAM, PLAIN or an unsigned token (OAUTHBEARER); ``StandardAuthorizer`` denies what no rule
allows.
"""

from __future__ import annotations

import secrets
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from deploy.local.ports import LOOPBACK
from models.errors import ConfigurationError

SCRAM_MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")
MECHANISMS = (*SCRAM_MECHANISMS, "PLAIN", "OAUTHBEARER")

#: The broker's own user: it may do everything.
ADMIN = "admin"

_OPENSSL_SECONDS = 30.0
_SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
_PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
_TOKEN_MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"


class Certificate(NamedTuple):
    """A certificate and its private key, as PEM files."""

    certificate: Path
    key: Path


class Authority:
    """A certificate authority in ``folder``, made at the first use.

    Raises :class:`ConfigurationError` when there is no ``openssl``, or it fails.
    """

    def __init__(self, folder: Path, name: str = "Switchboard throw-away CA") -> None:
        self.folder = folder
        self.certificate = folder / "ca.pem"
        self._key = folder / "ca.key"
        self._name = name

    def make(self) -> None:
        """Make the authority if it is not there yet."""
        if self.certificate.exists():
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        _openssl(
            *("req", "-x509", "-nodes", *_NEW_KEY, "-keyout", self._key, "-out", self.certificate),
            *("-days", "30", "-subj", f"/CN={self._name}"),
        )

    def sign(self, name: str, address: str = LOOPBACK, days: int = 30) -> Certificate:
        """Return a new certificate of ``name`` at ``address``; with negative ``days`` it has expired."""
        self.make()
        made = Certificate(self.folder / f"{name}.pem", self.folder / f"{name}.key")
        request = self.folder / f"{name}.csr"
        _openssl(
            *("req", "-nodes", *_NEW_KEY, "-keyout", made.key, "-out", request, "-subj", f"/CN={name}"),
            *("-addext", f"subjectAltName=IP:{address}"),
        )
        _openssl(
            *("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self._key, "-CAcreateserial"),
            *("-days", str(days), "-copy_extensions", "copy", "-out", made.certificate),
        )
        return made


_NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")


def _openssl(*arguments: str | Path) -> None:
    try:
        done = subprocess.run(
            ["openssl", *arguments], capture_output=True, text=True, timeout=_OPENSSL_SECONDS, check=False
        )
    except FileNotFoundError as error:
        raise ConfigurationError("a broker with TLS needs the program openssl: install it") from error
    if done.returncode != 0:
        raise ConfigurationError(f"openssl {arguments[0]} failed: {done.stderr.strip()}")


class Security:
    """Users of the broker (``users`` with their passwords), next to :data:`ADMIN`.  Nobody else has any right.

    Clients may show a certificate of ``authority``, which signs the broker's; they need none.
    """

    def __init__(self, users: Mapping[str, str]) -> None:
        self.users = {ADMIN: secrets.token_urlsafe(12)} | dict(users)
        self.authority: Authority | None = None

    def prepare(self, folder: Path) -> None:
        """Make what the broker needs in ``folder``."""
        self.authority = Authority(folder)
        broker = self.authority.sign("broker")
        (folder / "keystore.pem").write_text(broker.key.read_text() + broker.certificate.read_text())

    def client(self, user: str = ADMIN, mechanism: str = "SCRAM-SHA-512") -> dict[str, str]:
        """Return the settings with which ``user`` comes in; known once the broker was started."""
        assert self.authority is not None, "the broker makes its authority when it starts"
        return {
            "kafka_security_protocol": "SASL_SSL",
            "kafka_sasl_mechanism": mechanism,
            "kafka_sasl_username": user,
            "kafka_sasl_password": self.users[user],
            "kafka_ssl_ca_file": str(self.authority.certificate),
        }

    def format_arguments(self) -> list[str]:
        """Return the arguments of ``StorageTool format`` that create the users at the first start."""
        return [
            f"--add-scram={mechanism}=[name={user},password={password}]"
            for mechanism in SCRAM_MECHANISMS
            for user, password in self.users.items()
        ]

    def properties(self, folder: Path, broker_port: int, controller_port: int) -> dict[str, str]:
        """Return the broker's settings; the controller's listener asks for the broker's own certificate."""
        assert self.authority is not None, "prepare() comes first"
        scram = f'{_SCRAM_MODULE} required username="{ADMIN}" password="{self.users[ADMIN]}";'
        plain = " ".join(f'user_{user}="{password}"' for user, password in self.users.items())
        listener = "listener.name.sasl_ssl"
        return {
            "listeners": f"SASL_SSL://{LOOPBACK}:{broker_port},CONTROLLER://{LOOPBACK}:{controller_port}",
            "advertised.listeners": f"SASL_SSL://{LOOPBACK}:{broker_port}",
            "listener.security.protocol.map": "SASL_SSL:SASL_SSL,CONTROLLER:SSL",
            "inter.broker.listener.name": "SASL_SSL",
            "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-512",
            "sasl.enabled.mechanisms": ",".join(MECHANISMS),
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(folder / "keystore.pem"),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.authority.certificate),
            "listener.name.controller.ssl.client.auth": "required",
            f"{listener}.ssl.client.auth": "requested",  # a client may have none, but no wrong one
            **{f"{listener}.{name.lower()}.sasl.jaas.config": scram for name in SCRAM_MECHANISMS},
            f"{listener}.plain.sasl.jaas.config": f"{_PLAIN_MODULE} required {plain};",
            f"{listener}.oauthbearer.sasl.jaas.config": (
                f'{_TOKEN_MODULE} required unsecuredLoginStringClaim_sub="{ADMIN}";'
            ),
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": f"User:{ADMIN};User:CN=broker",
            "allow.everyone.if.no.acl.found": "false",
        }
