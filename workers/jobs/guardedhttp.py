"""HTTP connections of imports: to the servers that the operator lists, and to where they redirect.

A redirect could lead to the hub's own ports, its network or the cloud's metadata service (SSRF). So
a host name is resolved once, each of its addresses is checked, and the connection goes to a checked
one. Other hosts than those of listed servers must be public, and must have TLS.
"""

from collections.abc import Iterable

import httpx

from workers.device.errors import JobFailure
from workers.jobs.post import NotSent, PrivateAddress, resolve

_PORTS = {"http": 80, "https": 443}
_Endpoint = tuple[str, str, int]


class GuardedTransport(httpx.BaseTransport):
    """Connections that check where they lead. Proxies of the environment are not used.

    Args:
        servers: Addresses that the operator lists: these hosts may be private, and without TLS.

    Requests raise :class:`JobFailure` ``invalid_url`` for an address that is not permitted.
    """

    def __init__(self, servers: Iterable[str]) -> None:
        self._listed = frozenset(_endpoint(httpx.URL(server)) for server in servers)
        # One pool for each host: connections to one address were made for the name of one host.
        self._pools: dict[_Endpoint, httpx.HTTPTransport] = {}

    def close(self) -> None:
        for pool in self._pools.values():
            pool.close()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        endpoint = _endpoint(request.url)
        scheme, host, port = endpoint
        is_listed = endpoint in self._listed
        if not is_listed and scheme != "https":
            raise _refused(host, "without TLS")
        try:
            addresses = resolve(host, port, private=is_listed)
        except PrivateAddress:
            raise _refused(host, "of this hub's own network") from None
        except NotSent as error:
            raise httpx.ConnectError(str(error), request=request) from None
        pool = self._pools.setdefault(endpoint, httpx.HTTPTransport())
        *others, last = [address for address, _ in addresses]
        for address in others:
            try:
                return pool.handle_request(_at(address, request))
            except httpx.ConnectError:
                continue
        return pool.handle_request(_at(last, request))


def _at(address: str, request: httpx.Request) -> httpx.Request:
    """``request`` to an address of its host, with the host's name in ``Host`` and in TLS."""
    literal = f"[{address}]" if ":" in address else address
    return httpx.Request(
        request.method,
        request.url.copy_with(host=literal),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": request.url.host},
    )


def _endpoint(url: httpx.URL) -> _Endpoint:
    return url.scheme, url.host, url.port or _PORTS.get(url.scheme, 0)


def _refused(host: str, kind: str) -> JobFailure:
    return JobFailure(
        "invalid",
        "invalid_url",
        f"The server redirects to {host[:100]}, an address {kind}. The hub does not follow it.",
    )
