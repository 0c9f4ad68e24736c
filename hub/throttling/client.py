"""Who sends a request, for limits: an account, or else a network address.

All tokens and browsers of an account count together, so that another token is not another quota.
An IPv6 client chooses its address freely within a /64, which therefore counts as one address.
"""

import ipaddress
from dataclasses import dataclass

from django.conf import settings
from django.http import HttpRequest

from hub.credentials import actor_of
from registry.errors import Unauthenticated
from registry.tables import User

#: Bits of an IPv6 address that identify a network (RFC 6177).
IPV6_PREFIX = 64


@dataclass(frozen=True, slots=True)
class Sender:
    """The key that requests are counted under.

    ``key`` is "" if the address is unknown, as behind a proxy on a unix socket that passes none:
    such requests are not limited, because one sender would use up the quota of all.
    """

    key: str
    has_account: bool


def sender_of(request: HttpRequest, *, by_address: bool = False) -> Sender:
    """The sender of ``request``; of an unknown or expired token, the address.

    ``by_address``: ignore the credentials, where an account is no proof of good faith.
    """
    user = None if by_address else _account(request)
    if user is not None:
        return Sender(f"user-{user.pk}", has_account=True)
    network = network_of(request)
    return Sender(f"net-{network}" if network else "", has_account=False)


def network_of(request: HttpRequest, prefix: int = IPV6_PREFIX) -> str:
    """The IPv4 address, or the IPv6 network of ``prefix`` bits; "" if unknown."""
    try:
        address = ipaddress.ip_address(_address(request).partition("%")[0])
    except ValueError:
        return ""
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((int(address), prefix), strict=False))


def _address(request: HttpRequest) -> str:
    """The address of the client; of the hub's own proxy, ``hub.wsgi`` has put it in place."""
    if settings.BEHIND_PROXY:
        # The proxy appends the address that it was called from; what is further left is the
        # client's own text.
        last = request.headers.get("X-Forwarded-For", "").rpartition(",")[2].strip()
        if last:
            return last
    return str(request.META.get("REMOTE_ADDR", ""))


def _account(request: HttpRequest) -> User | None:
    scheme = request.headers.get("Authorization", "").partition(" ")[0].lower()
    try:
        if scheme in {"bearer", "basic"}:
            actor = actor_of(request)
        elif settings.SESSION_COOKIE_NAME in request.COOKIES:
            actor = request.user
        else:
            return None
    except Unauthenticated:
        # The view refuses it.
        return None
    return actor if isinstance(actor, User) else None
