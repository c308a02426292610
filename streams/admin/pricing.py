"""Price of a size: what its cores, memory and disks cost a month, at prices that somebody gives."""

from __future__ import annotations

import math

import msgspec

from models.errors import ConfigurationError
from streams.admin.sizing import BUSY, Size

_GIGA = 1e9


class Prices(msgspec.Struct, frozen=True, kw_only=True):
    """Prices a month, in any currency: of a core, of a GB of memory, of a GB of disk.  0: not reckoned."""

    core: float = 0.0
    memory_gb: float = 0.0
    disk_gb: float = 0.0

    def __bool__(self) -> bool:
        return bool(self.core or self.memory_gb or self.disk_gb)


def monthly(size: Size, prices: Prices) -> dict[str, float]:
    """Return the price a month of the services, Kafka, Redis and Qdrant, and of all (``total``).

    Cores are those of the busiest hour with room to spare, as the number of processes is reckoned.

    Raises:
        ConfigurationError: a price is no price.
    """
    for name in prices.__struct_fields__:
        if not 0 <= getattr(prices, name) < math.inf:
            raise ConfigurationError(f"the price {name} is {getattr(prices, name)}: give a number from 0 on")

    def price(cores: float, memory: float, disk: float) -> float:
        return cores / BUSY * prices.core + (memory * prices.memory_gb + disk * prices.disk_gb) / _GIGA

    found = {
        name: price(cores, count * size.process_bytes[name], count * size.process_disk_bytes[name])
        for name, cores in size.cores.items()
        for count in [size.processes[name]]
    }
    found["kafka"] = price(size.kafka_cores, size.brokers * size.broker_bytes, size.kafka_disk_bytes)
    found["redis"] = price(0.0, size.redis_bytes, 0.0)
    found["qdrant"] = price(0.0, size.qdrant_bytes, size.qdrant_bytes)
    return found | {"total": sum(found.values())}
