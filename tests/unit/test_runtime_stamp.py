"""What made a record: the headers, the commit that they name, and the settings that they stand for."""

from __future__ import annotations

from streams.runtime.stamp import CODE, CONFIG, config_hash, stamp
from streams.telemetry import version


def test_the_headers_name_version_commit_and_configuration() -> None:
    headers = dict(stamp({"extractor": "builtin-1"}))
    assert [*headers] == [CODE, CONFIG]
    assert headers[CODE].decode() == version.code_version()
    assert headers[CONFIG].decode() == config_hash({"extractor": "builtin-1"})
    number, _, commit = version.code_version().partition("+")
    assert number[0].isdigit()
    assert commit
