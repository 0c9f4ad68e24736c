"""Addresses that the hub itself is asked to call.

Whoever may make the hub send requests could have it speak to what only it can reach: its own
ports, its neighbours, the cloud's metadata service. So an address of such a host is refused, both
as it is written and, when it is called, as it resolves.
"""

import ipaddress
from urllib.parse import urlsplit

from registry.errors import Invalid

MAX_URL = 2000
# RFC 6052 and 8215: an IPv4 address in the last 32 bits, which a gateway on the way unpacks.
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


def check_url(url: str, *, private: bool) -> str:
    """``url`` if it is one of http or https that names a host and no credentials.

    Args:
        private: Whether addresses of this machine and its network are fine.

    Raises:
        Invalid: ``invalid_url``.
    """
    fault = _fault_of(url, private=private)
    if fault:
        raise Invalid("invalid_url", f"The address {fault}.", fields={"url": fault})
    return url


def is_public(address: str) -> bool:
    """Whether an IP address, as the system's resolver writes it, is reachable by everybody."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped is not None or ip in _NAT64:
            return is_public(str(ipaddress.IPv4Address(int(ip) & 0xFFFF_FFFF)))
        tunnelled = [ip.sixtofour, *(ip.teredo or ())]
        if any(end is not None and not is_public(str(end)) for end in tunnelled):
            return False
    return ip.is_global and not ip.is_multicast and not ip.is_reserved


def _fault_of(url: str, *, private: bool) -> str:
    if len(url) > MAX_URL:
        return f"is longer than {MAX_URL} characters"
    if not (url.isascii() and url.isprintable() and " " not in url):
        return "holds a character that is to be escaped"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return "is malformed"
    fault = ""
    if parts.scheme not in {"http", "https"}:
        fault = "does not begin with http:// or https://"
    elif not host or port == 0:
        fault = "names no host"
    elif parts.username is not None or parts.password is not None:
        fault = "holds credentials"
    return fault or ("" if private else _fault_of_host(host))


def _fault_of_host(host: str) -> str:
    name = host.rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return "is one of the hub's own machine"
    try:
        public = is_public(host)
    except ValueError:
        # A name: where it leads is seen when it is called.
        return ""
    return "" if public else "is one of a private network"
