"""Bearer tokens: issue, revocation and authentication."""

import secrets
import string
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from registry.errors import Forbidden, Invalid, NotFound
from registry.ids import parse_uuid
from registry.selectors.access import require, require_scope
from registry.selectors.people.account import checksum, secret_digest, user_of_token
from registry.services.audit import audit
from registry.states import Role, Scope
from registry.tables import Namespace, Token, User
from registry.validation.texts import check_text

_BASE62 = string.digits + string.ascii_letters
_USED_EVERY = timedelta(minutes=1)


def require_whole_account(actor: User) -> None:
    """Refuse unless ``actor`` has a session, or an admin token that covers all namespaces.

    Raises ``Unauthenticated`` or ``Forbidden`` as :func:`registry.selectors.access.require_scope`;
    ``permission_denied`` for a token that is limited to a namespace.
    """
    require_scope(actor, Scope.ADMIN)
    if actor.token is not None and actor.token.namespace_id is not None:
        raise Forbidden(
            "permission_denied",
            "The token is limited to one namespace.",
            "Use a token without a namespace, or sign in.",
        )


def new_secret(prefix: str) -> str:
    """A new random secret: prefix, 190 random bits, checksum."""
    body = "".join(secrets.choice(_BASE62) for _ in range(32))
    return f"{prefix}{body}{checksum(body)}"


def token_issue(
    *,
    actor: User,
    name: str,
    scope: Scope,
    namespace: Namespace | None = None,
    expires_at: datetime | None = None,
) -> tuple[Token, str]:
    """Issue a token for its owner. The secret is returned only here.

    Raises ``Unauthenticated`` or ``Forbidden`` as :func:`require_whole_account`;
    ``permission_denied`` also if the token would outlive the token that issues it. Raises
    ``Invalid`` ``invalid_request`` for a bad name or an expiry in the past.
    """
    require_whole_account(actor)
    if namespace is not None:
        require(actor, role=Role.READ, namespace=namespace)
    check_text(name, field="name", most=100, least=1)
    _check_end(actor, expires_at)
    secret = new_secret("hpf_")
    with transaction.atomic():
        token = Token.objects.create(
            user=actor,
            name=name,
            prefix=secret[:8],
            digest=secret_digest(secret),
            scope=scope,
            namespace=namespace,
            expires_at=expires_at,
        )
        audit(
            actor,
            "token.issue",
            str(token.uuid),
            namespace=actor.username,
            detail={"name": name, "scope": scope.value},
        )
    return token, secret


def token_revoke(*, actor: User, token_uuid: object) -> None:
    """Revoke one of the actor's own tokens; a token may always revoke itself.

    Raises ``Unauthenticated`` or ``Forbidden`` as :func:`registry.selectors.access.require_scope`;
    ``NotFound`` ``token_not_found``, also for other people's and for revoked ones.
    """
    itself = actor.token is not None and str(actor.token.uuid) == str(token_uuid)
    require_scope(actor, Scope.READ if itself else Scope.ADMIN)
    with transaction.atomic():
        rows = Token.objects.filter(user=actor, uuid=parse_uuid(token_uuid), revoked_at=None)
        revoked = rows.update(revoked_at=timezone.now())
        if not revoked:
            raise NotFound("token_not_found", f"You have no token {str(token_uuid)[:40]!r}.")
        audit(actor, "token.revoke", str(token_uuid), namespace=actor.username)


def authenticate(*, secret: str) -> User:
    """The owner of a bearer secret, with ``token`` set; updates ``last_used_at``.

    The update is not audited and is made at most once a minute: it is a hint for the owner. Raises
    ``Unauthenticated`` ``token_invalid``, ``token_expired`` or ``token_revoked``.
    """
    user = user_of_token(secret)
    if user.token is not None:
        now = timezone.now()
        stale = now - _USED_EVERY
        if user.token.last_used_at is None or user.token.last_used_at < stale:
            Token.objects.filter(
                Q(last_used_at=None) | Q(last_used_at__lt=stale), pk=user.token.pk
            ).update(last_used_at=now)
    return user


def _check_end(issuer: User, expires_at: datetime | None) -> None:
    if expires_at is not None and expires_at <= timezone.now():
        raise Invalid(
            "invalid_request",
            "The token would have expired already.",
            "Give a time to come, or none.",
            fields={"expires_at": "in the past"},
        )
    own_end = issuer.token.expires_at if issuer.token else None
    if own_end is not None and (expires_at is None or expires_at > own_end):
        raise Forbidden(
            "permission_denied",
            f"A token may not issue one that outlives it ({own_end:%Y-%m-%dT%H:%M:%SZ}).",
            "Give an earlier expires_at, or sign in.",
        )
