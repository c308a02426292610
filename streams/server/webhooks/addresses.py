"""Addresses that a webhook may be sent to: public ones, unless the settings allow others.

A name is resolved once for each connection, all its addresses are checked, and one of those is connected to, so
that a name cannot lead elsewhere between the check and the call.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias

import httpcore

_Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

#: Networks of IPv6 whose addresses lead to one of IPv4, and where in it that stands (bits from the right).
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


class AddressRefused(Exception):
    """A name leads to an address of a private network, and those are not allowed."""


def is_public(address: _Address) -> bool:
    """Say whether an address belongs to the internet: not to this machine, its network, or nobody."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo or (None, None))[1]
        if inner is None and address in _NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None and not is_public(inner):
            return False
    return address.is_global and not address.is_multicast


def check(host: str, addresses: Iterable[str]) -> None:
    """Refuse a host if any of its addresses is not public.

    Raises:
        AddressRefused: one is not.
    """
    for each in addresses:
        if not is_public(ipaddress.ip_address(each.partition("%")[0])):
            raise AddressRefused(
                f"{host} leads to {each}, which is no public address: "
                "SWITCHBOARD_WEBHOOK_PRIVATE_ADDRESSES=allow allows those"
            )


class CheckedNetwork(httpcore.AsyncNetworkBackend):
    """Connects to checked addresses only.

    Names are resolved in threads of its own: a resolver that hangs holds up nobody else.
    """

    def __init__(self, *, allow_private: bool) -> None:
        self._allow_private = allow_private
        self._network = httpcore.AnyIOBackend()
        self._resolver = ThreadPoolExecutor(max_workers=2, thread_name_prefix="resolve")

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the first of the host's addresses that answers."""
        failure: Exception = httpcore.ConnectError(f"{host} has no address")
        for address in await self.resolve(host, port):
            try:
                return await self._network.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure

    async def resolve(self, host: str, port: int) -> list[str]:
        """Return the addresses of a host, checked.

        Raises:
            AddressRefused: one of them is not public.
            httpcore.ConnectError: it has none.
        """
        loop = asyncio.get_running_loop()
        try:
            found = await loop.run_in_executor(
                self._resolver, lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            )
        except (OSError, UnicodeError) as error:
            raise httpcore.ConnectError(f"{host} cannot be resolved: {error}") from error
        addresses = [*dict.fromkeys(str(each[4][0]) for each in found)]
        if not self._allow_private:
            check(host, addresses)
        return addresses

    async def connect_unix_socket(self, *_: Any, **__: Any) -> httpcore.AsyncNetworkStream:
        """Refuse: a webhook has a host."""
        raise AddressRefused("a webhook goes to a host")

    async def sleep(self, seconds: float) -> None:
        """Sleep."""
        await asyncio.sleep(seconds)

    def close(self) -> None:
        """Let go of the threads."""
        self._resolver.shutdown(wait=False, cancel_futures=True)
