"""Addresses that users let the hub call.

Requests by the hub could reach its own ports, its network and the cloud's metadata service (SSRF).
Addresses of such hosts are rejected, both as written and, when they are called, as resolved.
"""

import ipaddress
from urllib.parse import urlsplit

from registry.errors import Invalid

MAX_URL = 2000
# RFC 6052: a gateway translates these to the IPv4 address in the last 32 bits.
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
# Special purposes (IANA's registries) that some versions of Python take for public: protocol
# assignments, relays of 6to4, documentation, segment routing, site-local addresses.
_SPECIAL = tuple(
    map(
        ipaddress.ip_network,
        ("192.0.0.0/24", "192.88.99.0/24", "3fff::/20", "5f00::/16", "fec0::/10"),
    )
)


def check_url(url: str, *, private: bool) -> str:
    """``url`` if it is an HTTP or HTTPS address with a host and without credentials.

    ``private`` allows addresses of this machine and its network. Raises ``Invalid``:
    ``invalid_url``.
    """
    fault = _fault_of(url, private=private)
    if fault:
        raise Invalid("invalid_url", f"The address {fault}.", fields={"url": fault})
    return url


def is_public(address: str) -> bool:
    """Whether an IP address, as written by the system's resolver, is publicly routable."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped is not None or ip in _NAT64:
            return is_public(str(ipaddress.IPv4Address(int(ip) & 0xFFFF_FFFF)))
        tunnelled = [ip.sixtofour, *(ip.teredo or ())]
        if any(end is not None and not is_public(str(end)) for end in tunnelled):
            return False
    if any(ip in network for network in _SPECIAL):
        return False
    return ip.is_global and not ip.is_multicast and not ip.is_reserved


def _fault_of(url: str, *, private: bool) -> str:
    if len(url) > MAX_URL:
        return f"is longer than {MAX_URL} characters"
    if not (url.isascii() and url.isprintable() and " " not in url):
        return "contains a character that must be escaped"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return "is malformed"
    fault = ""
    if parts.scheme not in {"http", "https"}:
        fault = "does not begin with http:// or https://"
    elif not host or port == 0:
        fault = "has no host"
    elif parts.username is not None or parts.password is not None:
        fault = "contains credentials"
    return fault or ("" if private else _fault_of_host(host))


def _fault_of_host(host: str) -> str:
    name = host.rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return "belongs to the hub's own machine"
    try:
        public = is_public(host)
    except ValueError:
        # A host name is checked when it is resolved for a call.
        return ""
    return "" if public else "belongs to a private network"
