"""Version of a Qdrant server: what it can do, and which ones are refused."""

from __future__ import annotations

from typing import NamedTuple

from pydantic import ValidationError
from qdrant_client import AsyncQdrantClient
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse
from qdrant_client.models import VersionInfo

from models.errors import ConfigurationError
from streams.config.redaction import without_credentials
from streams.config.settings import Settings
from streams.stores.qdrant_connection import ask, connect

#: The first release that keeps what is there when an upsert says so (``update_filter``).  Older ones ignore it
#: in silence, and would let an old version replace a new one.
MINIMUM = (1, 16)

#: The first release that ranks a text field by BM25.
_RANKS_WORDS = (1, 20)

_INSTEAD = "set SWITCHBOARD_QDRANT_URL to another server, or leave it empty for the embedded engine"


class Version(NamedTuple):
    """Version of the server at ``shown``, as it says (``""``: it says none); ``number`` is ``None`` if that
    cannot be read.
    """

    shown: str
    text: str
    number: tuple[int, int] | None

    @property
    def ranks_words(self) -> bool:
        """True if the server is known to have a text query."""
        return self.number is not None and self.number >= _RANKS_WORDS

    @property
    def reservation(self) -> str:
        """Reservation about the server, and what to do; ``""``: none."""
        if self.number is None:
            said = f"is {self.text!r}, which cannot be read" if self.text else "is not told"
            wanted = ".".join(map(str, MINIMUM))
            return (
                f"unchecked: the version of the Qdrant server at {self.shown} {said}. See that it is "
                f"{wanted} or newer, else an older write may replace a newer one. Words are ranked here, and "
                "searches say `degraded`"
            )
        if not self.ranks_words:
            return (
                f"the Qdrant server at {self.shown} is version {self.text}, which has no text query: words are "
                "ranked here, and searches say `degraded`; 1.20 or newer has one"
            )
        return ""


async def read_version(client: AsyncQdrantClient, shown: str, timeout: float) -> Version:
    """Return the version of a server that can be used, or whose version cannot be read.

    Raises:
        ConfigurationError: it is too old, no Qdrant, or refuses access.  DependencyUnavailable: it is down.
    """
    info = await ask(_info(client, shown), shown, timeout)
    text = "" if info is None else info.version
    try:
        major, minor = map(int, text.split(".")[:2])
    except ValueError:
        return Version(shown, text, None)
    if (major, minor) < MINIMUM:
        wanted = ".".join(map(str, MINIMUM))
        raise ConfigurationError(
            f"the Qdrant server at {shown} is version {text}, in which an older write may replace a newer one: "
            f"upgrade it to {wanted} or newer, one minor version after the other; or {_INSTEAD}"
        )
    return Version(shown, text, (major, minor))


async def server_version(settings: Settings, timeout: float) -> Version:
    """Return the version of the server that the settings name; raises as :func:`read_version` does."""
    key = settings.qdrant_api_key.get_secret_value()
    client = connect(settings.qdrant_url, timeout, key, settings.qdrant_ssl_ca_file)
    try:
        return await read_version(client, without_credentials(settings.qdrant_url), timeout)
    finally:
        await client.close()


async def _info(client: AsyncQdrantClient, shown: str) -> VersionInfo | None:
    """Return the server's name and version; ``None`` behind a gateway that answers 404 there."""
    try:
        info = await client.info()
    except UnexpectedResponse as error:
        if error.status_code == 404:
            return None
        raise
    except ResponseHandlingException as error:
        if not isinstance(error.source, ValidationError):
            raise
        raise _foreign(shown) from error
    except ValueError as error:  # no JSON
        raise _foreign(shown) from error
    if "qdrant" not in info.title.lower():
        raise _foreign(shown)
    return info


def _foreign(shown: str) -> ConfigurationError:
    return ConfigurationError(f"what answers at {shown} is no Qdrant server: {_INSTEAD}")
