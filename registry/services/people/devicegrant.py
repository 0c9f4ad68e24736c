"""Sign-in of a program from a browser elsewhere (RFC 8628, the device authorization grant).

The program receives a secret and a short code. A signed-in person enters the code and approves or
refuses. The program polls every few seconds and receives a token, once. The token is issued when
it is fetched, so that only its digest is ever stored.
"""

import secrets
from datetime import timedelta
from enum import StrEnum

from django.db import IntegrityError, transaction
from django.db.models import Count, Max
from django.utils import timezone

from registry.errors import NotFound, RateLimited
from registry.selectors.people.account import secret_digest
from registry.services.audit import audit
from registry.services.people.token import require_whole_account, token_issue
from registry.states import Scope
from registry.tables import DeviceGrant, User

LIFETIME = timedelta(minutes=15)
INTERVAL = timedelta(seconds=5)
# Letters that are hard to confuse and form no words (RFC 8628, section 6.1). Of 20^8 codes at
# most _MOST are valid at a time, each for LIFETIME, and only signed-in people can try them.
_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
_MOST = 10_000
# Programs of one network that may wait at a time: those of a large cluster.
_MOST_OF_NETWORK = 1000


class GrantState(StrEnum):
    """States of a device authorization request, with the error codes of RFC 8628."""

    PENDING = "authorization_pending"
    HURRIED = "slow_down"
    REFUSED = "access_denied"
    EXPIRED = "expired_token"


def device_grant_begin(*, network: str = "") -> tuple[DeviceGrant, str]:
    """Begin a sign-in: the grant, and the program's secret, which is returned only here.

    ``network`` is the program's IPv4 address or IPv6 /48, "" if unknown. Raises ``RateLimited``
    ``rate_limited`` if too many programs of the network wait at once.
    """
    now = timezone.now()
    DeviceGrant.objects.filter(expires_at__lt=now - LIFETIME).delete()
    if network and DeviceGrant.objects.filter(network=network).count() >= _MOST_OF_NETWORK:
        raise RateLimited(
            "rate_limited",
            f"{_MOST_OF_NETWORK} programs of your network wait to be signed in.",
            "Enter their codes, or sign in with a token from your settings.",
            retry_after_s=int(INTERVAL.total_seconds()) * 12,
        )
    if DeviceGrant.objects.count() >= _MOST:
        _make_room()
    secret = secrets.token_urlsafe(32)
    while True:
        code = "".join(secrets.choice(_LETTERS) for _ in range(8))
        try:
            with transaction.atomic():
                grant = DeviceGrant.objects.create(
                    digest=secret_digest(secret),
                    user_code=f"{code[:4]}-{code[4:]}",
                    expires_at=now + LIFETIME,
                    network=network,
                )
        except IntegrityError:
            continue
        return grant, secret


def _make_room() -> None:
    """Delete the oldest undecided grant of the network with most, so that no network fills all."""
    waiting = DeviceGrant.objects.filter(user=None, is_refused=False)
    counts = waiting.values("network").annotate(count=Count("pk"), newest=Max("pk"))
    # Of equal ones the one that came last: programs that wait already keep their codes.
    heaviest = counts.order_by("-count", "-newest").first()
    if heaviest is not None:
        oldest = waiting.filter(network=heaviest["network"]).order_by("pk").first()
        if oldest is not None:
            oldest.delete()


def device_grant_answer(*, actor: User, grant: DeviceGrant, allow: bool) -> None:
    """Approve or refuse that the program acts for ``actor``.

    Raises ``Unauthenticated`` or ``Forbidden`` as
    :func:`registry.services.people.token.require_whole_account`; ``NotFound`` ``grant_not_found``
    if it was answered or expired meanwhile.
    """
    require_whole_account(actor)
    with transaction.atomic():
        waiting = DeviceGrant.objects.filter(
            pk=grant.pk, user=None, is_refused=False, expires_at__gt=timezone.now()
        )
        changed = waiting.update(user=actor) if allow else waiting.update(is_refused=True)
        if not changed:
            raise NotFound("grant_not_found", "That code was used, or ran out.")
        audit(
            actor,
            "device_grant.allow" if allow else "device_grant.refuse",
            grant.user_code,
            namespace=actor.username,
        )


def device_grant_fetch(secret: str) -> GrantState | str:
    """The secret of a new token of scope ``write`` once the grant is approved; else its state.

    A program that polls faster than :data:`INTERVAL` gets :attr:`GrantState.HURRIED`.
    """
    grant = DeviceGrant.objects.filter(digest=secret_digest(secret)).first()
    now = timezone.now()
    if grant is None or grant.expires_at <= now:
        return GrantState.EXPIRED
    if grant.is_refused:
        return GrantState.REFUSED
    if grant.user is None:
        # A tolerance for clocks and network delays.
        soon = grant.polled_at is not None and grant.polled_at > now - INTERVAL * 0.8
        DeviceGrant.objects.filter(pk=grant.pk).update(polled_at=now)
        return GrantState.HURRIED if soon else GrantState.PENDING
    with transaction.atomic():
        # Of two simultaneous requests, one gets a token.
        if not grant.user.is_active or not DeviceGrant.objects.filter(pk=grant.pk).delete()[0]:
            return GrantState.EXPIRED
        name = f"signed in {now:%Y-%m-%d %H:%M} ({grant.user_code})"
        return token_issue(actor=grant.user, name=name, scope=Scope.WRITE)[1]
