"""The key of a deployment's erasures: it signs certificates, and other keys are derived from it."""

from __future__ import annotations

import base64
import os
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from models.errors import ConfigurationError
from streams.config.settings import Settings

#: Where the key lies if the settings name none.
_FILE = "erasure-key.pem"


def signing_key(settings: Settings) -> Ed25519PrivateKey:
    """Return the key of this deployment; it is made in the data folder if the settings name none.

    Raises:
        ConfigurationError: the file cannot be read or written, or holds no Ed25519 key.
    """
    path = settings.erasure_key_file or settings.folder / _FILE
    try:
        if settings.erasure_key_file is None and not path.exists():
            _make(path)
        key = load_pem_private_key(path.read_bytes(), None)
    except (OSError, ValueError, TypeError) as error:
        raise ConfigurationError(
            f"the key that signs certificates cannot be read from {path} ({error}): give an Ed25519 key as PEM "
            "in SWITCHBOARD_ERASURE_KEY_FILE"
        ) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise ConfigurationError(f"{path} holds a key that is not Ed25519: openssl genpkey -algorithm ed25519")
    return key


def public_key(key: Ed25519PrivateKey) -> str:
    """Return the public half of a key, in base64."""
    return base64.b64encode(key.public_key().public_bytes_raw()).decode()


def derived(key: Ed25519PrivateKey, purpose: bytes) -> bytes:
    """Return 32 bytes that are another secret for each purpose (HKDF-SHA-256)."""
    return HKDF(SHA256(), 32, None, purpose).derive(key.private_bytes_raw())


def has_key(settings: Settings) -> bool:
    """Say whether there is a key already."""
    return settings.erasure_key_file is not None or (settings.folder / _FILE).exists()


def _make(path: Path) -> None:
    """Write a new key that only its owner may read; of two processes the first one's stays."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pem = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    beside = path.with_suffix(f".{os.getpid()}")
    try:
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(pem)
        os.link(beside, path)
    except FileExistsError:
        pass  # another process was first
    finally:
        beside.unlink(missing_ok=True)
