"""What a codec refuses, in the words that a person reads when a worker has stopped."""

from __future__ import annotations

import pytest

from models.errors import ConsistencyError
from streams.runtime.codec import Codec

AFTER = (
    ". Run the release that wrote it, or start over from what the topics hold: stop the service's workers and "
    "run `switchboard state reset SERVICE`"
)


def older(body: bytes) -> str:
    return body.decode()


@pytest.mark.parametrize(
    ("payload", "why"),
    [
        (b"", "it is empty"),
        (b"\x03\xa1a", "it has format 3, and this program reads 1 and 2"),
        (b"\x02\x01", "ValidationError: Expected `str`, got `int`"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_key_and_what_to_do(payload: bytes, why: str) -> None:
    codec = Codec("text", str, version=2, older={1: older})
    with pytest.raises(ConsistencyError) as refused:
        codec.decode(payload, b"ada")
    assert str(refused.value) == f"the stored text of b'ada' cannot be read: {why}{AFTER}"


@pytest.mark.parametrize("version", [1, 63])
def test_each_version_that_fits_into_the_format_byte_is_written_and_read(version: int) -> None:
    codec = Codec("text", str, version=version, older={version - 1: older})
    assert codec.decode(codec.encode("tea")) == "tea"
    assert (codec.name, codec.version, codec.encode("tea")[0]) == ("text", version, version)


@pytest.mark.parametrize("version", [0, 64])
def test_none_that_does_not_fit_is_taken(version: int) -> None:
    with pytest.raises(ValueError, match=rf"^text: versions are 1 to 63, not {version}$"):
        Codec("text", str, version=version, older={version - 1: older})
