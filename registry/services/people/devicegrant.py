"""Signing a program in from a browser elsewhere (RFC 8628, the device authorization grant).

The program gets a secret and a short code; a person types the code where they are signed in, and
says yes or no; the program, asking every few seconds, then gets a token, once. The token is made
when it is fetched, so that nothing but its digest is ever kept.
"""

import secrets
from datetime import timedelta

from django.db import IntegrityError, transaction
from django.utils import timezone

from registry.errors import NotFound, Unavailable
from registry.selectors.people.account import secret_digest
from registry.services.audit import audit
from registry.services.people.account import require_whole_account, token_issue
from registry.states import GrantState, Scope
from registry.tables import DeviceGrant, User

LIFETIME = timedelta(minutes=15)
INTERVAL = timedelta(seconds=5)
# Letters that are hard to take for each other and make no words (RFC 8628, section 6.1): of
# 20^8 codes, at most _MOST are good at a time, each for LIFETIME and for somebody signed in.
_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
_MOST = 10_000


def device_grant_begin() -> tuple[DeviceGrant, str]:
    """A program wants to be signed in: its grant, and its secret, which is returned only here.

    Raises:
        Unavailable: ``rate_limited`` where too many programs wait at once.
    """
    now = timezone.now()
    # Nobody is signed in yet who could be held to some number of these.
    DeviceGrant.objects.filter(expires_at__lt=now - LIFETIME).delete()
    if DeviceGrant.objects.count() >= _MOST:
        raise Unavailable("rate_limited", "Too many programs wait to be signed in.", "Try later.")
    secret = secrets.token_urlsafe(32)
    while True:
        code = "".join(secrets.choice(_LETTERS) for _ in range(8))
        try:
            with transaction.atomic():
                grant = DeviceGrant.objects.create(
                    digest=secret_digest(secret),
                    user_code=f"{code[:4]}-{code[4:]}",
                    expires_at=now + LIFETIME,
                )
        except IntegrityError:
            continue
        return grant, secret


def device_grant_answer(*, actor: User, grant: DeviceGrant, allow: bool) -> None:
    """Let the program that shows this code act for ``actor``, or not.

    Raises:
        Unauthenticated, Forbidden: as for a new token of the whole account.
        NotFound: ``grant_not_found`` where it was answered, or ran out, meanwhile.
    """
    require_whole_account(actor)
    with transaction.atomic():
        waiting = DeviceGrant.objects.filter(
            pk=grant.pk, user=None, is_refused=False, expires_at__gt=timezone.now()
        )
        done = waiting.update(user=actor) if allow else waiting.update(is_refused=True)
        if not done:
            raise NotFound("grant_not_found", "That code was used, or ran out.")
        audit(
            actor=actor,
            action="device_grant.allow" if allow else "device_grant.refuse",
            subject=grant.user_code,
            namespace=actor.username,
        )


def device_grant_fetch(secret: str) -> GrantState | str:
    """The secret of a new token of scope ``write`` once a person said yes; else what is the case.

    A program that asks again sooner than :data:`INTERVAL` is told to slow down.
    """
    grant = DeviceGrant.objects.filter(digest=secret_digest(secret)).first()
    now = timezone.now()
    if grant is None or grant.expires_at <= now:
        return GrantState.EXPIRED
    if grant.is_refused:
        return GrantState.REFUSED
    if grant.user is None:
        # A little less: clocks and networks are not exact.
        soon = grant.polled_at is not None and grant.polled_at > now - INTERVAL * 0.8
        DeviceGrant.objects.filter(pk=grant.pk).update(polled_at=now)
        return GrantState.HURRIED if soon else GrantState.PENDING
    with transaction.atomic():
        # Of two that ask at once, one gets a token.
        if not grant.user.is_active or not DeviceGrant.objects.filter(pk=grant.pk).delete()[0]:
            return GrantState.EXPIRED
        name = f"signed in {now:%Y-%m-%d %H:%M} ({grant.user_code})"
        return token_issue(actor=grant.user, name=name, scope=Scope.WRITE)[1]
