"""Apache Kafka's jars: named and checksummed in ``jars.lock``, downloaded once into the user's cache folder.

``jars.lock`` has one line per jar: its sha256 and its Maven coordinate.  It is the whole truth about what runs;
nothing is resolved at install time.  ``python -m deploy.local.kafka_jars --lock`` writes it anew.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import os
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from models.errors import ConfigurationError, DependencyUnavailable

KAFKA_VERSION = "4.1.1"
LOCK_FILE = Path(__file__).with_name("jars.lock")

_ENDPOINT = f"org.apache.kafka:kafka_2.13:{KAFKA_VERSION}+org.apache.kafka:kafka-tools:{KAFKA_VERSION}"
# Kafka logs through slf4j 1.7; its metadata names no binding to log4j2, and without one nothing is logged.
_LOGGING_BINDING = "org.apache.logging.log4j:log4j-slf4j-impl:2.24.3"
_DOWNLOADS_AT_ONCE = 12
_DOWNLOAD_TIMEOUT = 30  # seconds without an answer, per jar


@dataclass(frozen=True)
class Jar:
    """One line of the lock file."""

    coordinate: str  # group:artifact:version
    sha256: str

    @property
    def file_name(self) -> str:
        _, artifact, version = self.coordinate.split(":")
        return f"{artifact}-{version}.jar"


def locked_jars(lock_file: Path = LOCK_FILE) -> list[Jar]:
    """Return the jars of the lock file, in its order."""
    jars = []
    for number, line in enumerate(lock_file.read_text().splitlines(), start=1):
        if line and not line.startswith("#"):
            sha256, _, coordinate = line.partition("  ")
            if len(sha256) != 64 or coordinate.count(":") != 2:
                raise ConfigurationError(
                    f"{lock_file.name}, line {number}: not '<sha256>  <group:artifact:version>'"
                )
            jars.append(Jar(coordinate, sha256))
    return jars


def cache_folder() -> Path:
    """``$XDG_CACHE_HOME/switchboard`` (``~/.cache/switchboard``)."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification: a relative path there is invalid and ignored.
    return (Path(base) if Path(base).is_absolute() else Path.home() / ".cache") / "switchboard"


def ensure_jars(
    cache: Path | None = None, lock_file: Path = LOCK_FILE, name: str = f"kafka-{KAFKA_VERSION}"
) -> Path:
    """The folder that holds exactly the locked jars of ``name``, downloaded first if need be.

    Safe to call from several processes at once: one downloads, the others wait for it.  What is there is
    checked against the lock file every time (60 MB, under 0.1 s): a damaged cache mends itself.
    Raises DependencyUnavailable when the download fails, ConfigurationError when jgo is not installed.
    """
    cache = cache or cache_folder()
    jars = locked_jars(lock_file)
    digest = hashlib.sha256(repr(jars).encode()).hexdigest()[:12]
    folder = cache / f"{name}-{digest}"
    if not _damaged(folder, jars):
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    with _exclusive(cache / "kafka.lock"):
        damaged = _damaged(folder, jars)  # another process may have been first
        if damaged:
            print(f"downloading {name} ({len(damaged)} jars, once) ...", file=sys.stderr)
            folder.mkdir(exist_ok=True)
            _download(damaged, folder, cache)
    return folder


def _damaged(folder: Path, jars: list[Jar]) -> list[Jar]:
    """The jars that are missing from ``folder`` or are not what the lock file says."""
    return [jar for jar in jars if _sha256(folder / jar.file_name) != jar.sha256]


def _sha256(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return None


@contextlib.contextmanager
def _exclusive(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # let go when the file is closed, also by a crash
        yield


def _download(jars: list[Jar], folder: Path, cache: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="download-", dir=cache) as scratch:

        def fetch(jar: Jar) -> None:
            downloaded = _fetch_from_maven(jar.coordinate, Path(scratch))
            if (found := _sha256(downloaded)) != jar.sha256:
                raise DependencyUnavailable(
                    "maven",
                    f"{jar.coordinate} has sha256 {found} and not {jar.sha256}: changed on its way here. "
                    "It is not kept; try again, perhaps from another network.",
                )
            downloaded.replace(folder / jar.file_name)  # atomic: a jar in the folder is a whole jar

        with ThreadPoolExecutor(_DOWNLOADS_AT_ONCE) as pool:
            for waiting in [pool.submit(fetch, jar) for jar in jars]:
                try:
                    waiting.result()
                except Exception:  # whatever failed is raised: only do not download the rest first
                    pool.shutdown(cancel_futures=True)
                    raise


def _fetch_from_maven(coordinate: str, repository: Path) -> Path:
    try:
        import requests  # what jgo speaks HTTP with
        from jgo.maven import MavenContext
    except ImportError:
        raise ConfigurationError(
            "Kafka is downloaded with the jgo package, which is missing: run `make install` (extra 'local')."
        ) from None
    group, artifact, version = coordinate.split(":")
    context = MavenContext(repo_cache=repository, timeout=_DOWNLOAD_TIMEOUT)
    try:
        path = Path(context.project(group, artifact).at_version(version).artifact().resolve())
    except (requests.RequestException, RuntimeError) as error:  # jgo: RuntimeError for "not found" and bad sha1
        raise DependencyUnavailable(
            "maven",
            f"Apache Kafka could not be downloaded ({coordinate}: {error}). Check the network and the proxy "
            "settings (HTTPS_PROXY) and try again; jars that have arrived are kept.",
        ) from error
    return path


def write_lock(lock_file: Path = LOCK_FILE) -> int:
    """Resolve Kafka's dependencies and write the lock file.  Returns the number of jars."""
    from jgo.env import EnvironmentBuilder, LinkStrategy
    from jgo.maven import MavenContext

    with tempfile.TemporaryDirectory(prefix="switchboard-lock-") as scratch:
        repository = Path(scratch, "repository")
        builder = EnvironmentBuilder(
            context=MavenContext(repo_cache=repository, timeout=_DOWNLOAD_TIMEOUT),
            cache_dir=Path(scratch, "environment"),
            link_strategy=LinkStrategy.HARD,
        )
        names = {Path(jar).name for jar in builder.from_endpoint(_ENDPOINT).all_jars}  # class path and modules
        coordinates = {_LOGGING_BINDING} | {
            _coordinate(jar.relative_to(repository)) for jar in repository.rglob("*.jar") if jar.name in names
        }
        lines = sorted(f"{c}\t{_sha256(_fetch_from_maven(c, repository))}" for c in coordinates)
    header = f"# Apache Kafka {KAFKA_VERSION} and all it needs. Written by deploy.local.kafka_jars --lock\n"
    entries = (line.split("\t") for line in lines)
    lock_file.write_text(header + "".join(f"{sha256}  {coordinate}\n" for coordinate, sha256 in entries))
    return len(lines)


def _coordinate(path: Path) -> str:
    """``org/apache/kafka/kafka-raft/4.1.1/kafka-raft-4.1.1.jar`` -> ``org.apache.kafka:kafka-raft:4.1.1``."""
    *group, artifact, version, _ = path.parts
    return f"{'.'.join(group)}:{artifact}:{version}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m deploy.local.kafka_jars", description=__doc__)
    parser.add_argument(
        "--lock", action="store_true", help="resolve the dependencies again and write jars.lock"
    )
    if parser.parse_args().lock:
        print(f"{LOCK_FILE}: {write_lock()} jars")
    print(ensure_jars())


if __name__ == "__main__":
    main()
