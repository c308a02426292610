"""Opening a Qdrant Edge shard: its files, what it is sealed to hold, and whether it still holds it all."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import msgspec
import qdrant_edge as edge
import structlog

from models.errors import ConfigurationError
from models.index import VectorSpace
from streams.stores import qdrant_payload as stored
from streams.stores.kept_items import KeptItems
from streams.stores.qdrant_edge_shard import Shard
from streams.stores.qdrant_kinds import Kind
from streams.stores.read_ahead import read_ahead

Item = TypeVar("Item", bound=msgspec.Struct)

log = structlog.get_logger("streams.stores.qdrant_edge")

#: Vectors lie beside the exact ones in 4 bits a number (TurboQuant, Zandieh et al. 2025): halves the time of a
#: search among one person's 50,000.
_QUANTIZED = edge.TurboQuantQuantizationConfig(memory=edge.Memory.Cached)

#: So much of an index is read when it is opened.  The engine maps its files and lets go of their pages when it
#: loads them: each person's first search would wait for some hundred of them, at 20 to 30 µs each.
_READ_AHEAD_BYTES = 512 * 1024 * 1024


def rebuild(folder: Path) -> str:
    """Say what a person does about a folder that cannot be used."""
    return (
        f"It is only a view, and the topics fill it again: delete it (rm -r '{folder}') and start the worker."
    )


def open_shard(folder: Path, kind: Kind[Item], space: VectorSpace) -> Shard[Item]:
    """Open or create the shard, replay its log, and make whichever payload indexes are missing.

    Raises :class:`ConfigurationError` when its files cannot be read, or it is of another kind, format or model.
    """
    vector = edge.EdgeVectorParams(
        size=space.dimensions, distance=edge.Distance.Cosine, quantization_config=_QUANTIZED
    )
    # There is one segment, so a pool would only hand each search to another thread and wait for it.
    config = edge.EdgeConfig(vectors={stored.VECTOR: vector}, max_search_threads=1)
    try:
        shard = edge.EdgeShard.load(str(folder), config)
        _check_seal(shard, stored.seal(kind.name, space), folder)
        present = shard.info().payload_schema
        for field, schema in _payload_indexes(kind).items():
            if field not in present:
                shard.update(edge.UpdateOperation.create_field_index(field, schema))
        _check_tally(shard, folder)
        shard.flush()
        parts = [*folder.glob("segments/*/payload_storage"), *folder.glob("segments/*/vector_storage-*")]
        read_ahead(parts, _READ_AHEAD_BYTES)
    except ConfigurationError:
        shard.close()
        raise
    except BaseException as error:
        # The engine's errors are plain exceptions and, when it panics on a broken file, no Exception at all.
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        if "incompatible with existing segments" in str(error):
            raise ConfigurationError(
                f"the index in {folder} is not for vectors of {space.dimensions} dimensions, which the model "
                f"{space.model} makes: the embedding model was changed. {rebuild(folder)}"
            ) from error
        raise ConfigurationError(f"cannot open the index in {folder}: {error}. {rebuild(folder)}") from error
    return Shard(shard, kind, KeptItems(kind.type))


def _check_seal(shard: edge.EdgeShard, expected: dict[str, Any], folder: Path) -> None:
    """Seal an empty shard; compare the seal of any other."""
    if not shard.count(edge.CountRequest(exact=True)):
        point = edge.Point(stored.SEAL_ID, {}, expected)
        shard.update(edge.UpdateOperation.upsert_points([point]))
        return
    payloads = [record.payload for record in shard.retrieve([stored.SEAL_ID], True, False)]
    found = payloads[0] if payloads else None
    stored.check_seal(found, expected, f"the index in {folder}", rebuild(folder))


def _check_tally(shard: edge.EdgeShard, folder: Path) -> None:
    """Forget how far an index was filled that has fewer points than it had: it is filled again from the topics.

    Points that expire are counted out.  The engine opens some damaged files without a word, and leaves out
    what they held.
    """
    [found, *_] = [record.payload for record in shard.retrieve([stored.TALLY_ID], True, False)] or [None]
    present, before = shard.info().points_count, stored.tallied(found)
    if present >= before:
        return
    log.warning(
        "the index has lost points; it is filled again", folder=str(folder), found=present, expected=before
    )
    marks = edge.Filter(must_not=[edge.IsEmptyCondition(stored.MARK_FIELD)])
    shard.update(edge.UpdateOperation.delete_points_by_filter(marks))
    # The deleted marks are no loss of the next time.
    point = edge.Point(stored.TALLY_ID, {}, stored.tally(shard.info().points_count))
    shard.update(edge.UpdateOperation.upsert_points([point]))


def _payload_indexes(kind: Kind[Item]) -> dict[str, edge.PayloadSchemaParams]:
    text = edge.TextIndexParams(
        tokenizer=edge.TokenizerType.Multilingual,
        lowercase=True,
        ascii_folding=True,
        stopwords=edge.Language.English,
        stemmer=edge.SnowballParams(edge.SnowballLanguage.English),
        scoring=True,
    )
    indexes: dict[str, edge.PayloadSchemaParams] = {
        stored.OWNER_FIELD: edge.KeywordIndexParams(is_tenant=True),
        stored.VERSION_FIELD: edge.IntegerIndexParams(),
        stored.ERASED_FIELD: edge.DatetimeIndexParams(),
        kind.text_field: text,
    }
    indexes |= {field: edge.FloatIndexParams() for field in kind.numbers}
    indexes |= {field: edge.DatetimeIndexParams() for field in kind.times}
    return indexes | {field: edge.KeywordIndexParams() for field in kind.keyword_fields}
