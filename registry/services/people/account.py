"""People, organisations, memberships and tokens."""

import secrets
import string
from datetime import datetime, timedelta

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone

from registry.errors import Conflict, Forbidden, Invalid, NotFound
from registry.ids import parse_uuid
from registry.selectors.access import Actor, may, require, require_scope
from registry.selectors.people.account import checksum, secret_digest, user_of_token
from registry.services.audit import audit
from registry.states import NamespaceKind, Role, Scope
from registry.tables import Membership, Namespace, Token, User
from registry.validation.names import check_namespace
from registry.validation.texts import check_text

_BASE62 = string.digits + string.ascii_letters
_USED_EVERY = timedelta(minutes=1)


def user_create(
    *, username: str, password: str, email: str = "", full_name: str = "", is_staff: bool = False
) -> User:
    """Make an account, its personal namespace and its owner's role there.

    Raises:
        Invalid: ``invalid_name``, or ``invalid_request`` for a weak password or a bad address.
        Conflict: ``namespace_taken``.
    """
    check_namespace(username)
    check_text(full_name, field="full_name", most=200)
    user = User(username=username, email=email, full_name=full_name, is_staff=is_staff)
    _check_credentials(user, password)
    user.set_password(password)
    with transaction.atomic():
        namespace = _namespace_create(username, NamespaceKind.USER, full_name)
        user.save()
        Membership.objects.create(namespace=namespace, user=user, role=Role.ADMIN)
        audit(actor=user, action="user.create", subject=username, namespace=username)
    return user


def organisation_create(*, actor: User, name: str, title: str = "") -> Namespace:
    """Make an organisation; whoever makes it is its first admin.

    Raises:
        Unauthenticated, Forbidden: see :func:`registry.selectors.access.require_scope`.
        Invalid: ``invalid_name``.
        Conflict: ``namespace_taken``.
    """
    require_whole_account(actor)
    check_namespace(name)
    check_text(title, field="title", most=200)
    with transaction.atomic():
        namespace = _namespace_create(name, NamespaceKind.ORGANISATION, title)
        Membership.objects.create(namespace=namespace, user=actor, role=Role.ADMIN)
        audit(actor=actor, action="organisation.create", subject=name, namespace=name)
    return namespace


def member_set(*, actor: Actor, namespace: Namespace, user: User, role: Role) -> Membership:
    """Give ``user`` a role in an organisation.

    Raises:
        Unauthenticated, Forbidden: see :func:`registry.selectors.access.require`.
        Conflict: ``last_admin`` if nobody would be left to administer it.
        Invalid: ``invalid_request`` for a personal namespace.
    """
    require(actor, role=Role.ADMIN, namespace=namespace)
    _check_organisation(namespace)
    with transaction.atomic():
        _keep_an_admin(namespace, without=user, unless=role == Role.ADMIN)
        membership, _ = Membership.objects.update_or_create(
            namespace=namespace, user=user, defaults={"role": role}
        )
        _audit_member(actor, namespace, user, "member.set", role.value)
    return membership


def member_remove(*, actor: Actor, namespace: Namespace, user: User) -> None:
    """End ``user``'s membership; everybody may end their own.

    Raises:
        Unauthenticated, Forbidden: see :func:`registry.selectors.access.require`.
        NotFound: ``user_not_found`` if ``user`` is no member.
        Conflict: ``last_admin``.
        Invalid: ``invalid_request`` for a personal namespace.
    """
    own = require_scope(actor, Scope.ADMIN) == user and may(
        actor, role=Role.READ, namespace=namespace
    )
    if not own:
        require(actor, role=Role.ADMIN, namespace=namespace)
    _check_organisation(namespace)
    with transaction.atomic():
        _keep_an_admin(namespace, without=user)
        gone, _ = Membership.objects.filter(namespace=namespace, user=user).delete()
        if not gone:
            raise NotFound("user_not_found", f"{user.username} is no member of {namespace.name}.")
        _audit_member(actor, namespace, user, "member.remove")


def token_issue(
    *,
    actor: User,
    name: str,
    scope: Scope,
    namespace: Namespace | None = None,
    expires_at: datetime | None = None,
) -> tuple[Token, str]:
    """Make a token for its owner. The secret is returned here and never again.

    Raises:
        Unauthenticated, Forbidden: see :func:`registry.selectors.access.require_scope`;
            ``permission_denied`` also where a token would outlive the token that issues it.
        Invalid: ``invalid_request`` for a bad name or an end that has passed.
    """
    require_whole_account(actor)
    if namespace is not None:
        require(actor, role=Role.READ, namespace=namespace)
    check_text(name, field="name", most=100, least=1)
    _check_end(actor, expires_at)
    body = "".join(secrets.choice(_BASE62) for _ in range(32))
    secret = f"hpf_{body}{checksum(body)}"
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
            actor=actor,
            action="token.issue",
            subject=str(token.uuid),
            namespace=actor.username,
            detail={"name": name, "scope": scope.value},
        )
    return token, secret


def token_revoke(*, actor: User, token_uuid: object) -> None:
    """End one of the actor's own tokens; a token may always end itself.

    Raises:
        Unauthenticated, Forbidden: see :func:`registry.selectors.access.require_scope`.
        NotFound: ``token_not_found``, also for other people's and for revoked ones.
    """
    itself = actor.token is not None and str(actor.token.uuid) == str(token_uuid)
    require_scope(actor, Scope.READ if itself else Scope.ADMIN)
    with transaction.atomic():
        rows = Token.objects.filter(user=actor, uuid=parse_uuid(token_uuid), revoked_at=None)
        revoked = rows.update(revoked_at=timezone.now())
        if not revoked:
            raise NotFound("token_not_found", f"You have no token {str(token_uuid)[:40]!r}.")
        audit(
            actor=actor,
            action="token.revoke",
            subject=str(token_uuid),
            namespace=actor.username,
        )


def authenticate(*, secret: str) -> User:
    """The person a bearer secret belongs to, with ``token`` set; notes that it was used.

    The note is not audited and is made at most once a minute: it is a hint for the owner.

    Raises:
        Unauthenticated: ``token_invalid``, ``token_expired`` or ``token_revoked``.
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


def _namespace_create(name: str, kind: NamespaceKind, title: str) -> Namespace:
    try:
        with transaction.atomic():
            return Namespace.objects.create(name=name, kind=kind, title=title)
    except IntegrityError:
        raise Conflict(
            "namespace_taken", f"{name!r} is taken.", "Choose another name; case does not count."
        ) from None


def _check_credentials(user: User, password: str) -> None:
    try:
        if user.email:
            validate_email(user.email)
    except ValidationError:
        raise Invalid(
            "invalid_request",
            f"{user.email[:100]!r} is no e-mail address.",
            fields={"email": "not an e-mail address"},
        ) from None
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise Invalid(
            "invalid_request",
            " ".join(error.messages),
            "Choose a longer or less common password.",
            fields={"password": " ".join(error.messages)},
        ) from None


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


def require_whole_account(actor: User) -> None:
    """Account-wide acts need a session, or an admin token that is not limited to a namespace."""
    require_scope(actor, Scope.ADMIN)
    if actor.token is not None and actor.token.namespace_id is not None:
        raise Forbidden(
            "permission_denied",
            "The token is limited to one namespace.",
            "Use a token without a namespace, or sign in.",
        )


def _check_organisation(namespace: Namespace) -> None:
    if namespace.kind != NamespaceKind.ORGANISATION:
        raise Invalid(
            "invalid_request",
            f"{namespace.name} is a person's namespace; nobody else can belong to it.",
            "Make an organisation to work together.",
        )


def _keep_an_admin(namespace: Namespace, *, without: User, unless: bool = False) -> None:
    # The lock lets two admins who leave at once see each other.
    Namespace.objects.select_for_update().get(pk=namespace.pk)
    admins = namespace.memberships.filter(role=Role.ADMIN)
    if unless or not admins.filter(user=without).exists():
        return
    if not admins.exclude(user=without).exists():
        raise Conflict(
            "last_admin",
            f"{without.username} is the only admin of {namespace.name}.",
            "Make somebody else an admin first.",
        )


def _audit_member(
    actor: Actor, namespace: Namespace, user: User, action: str, role: str = ""
) -> None:
    audit(
        actor=actor,
        action=action,
        subject=f"{namespace.name}/{user.username}",
        namespace=namespace.name,
        detail={"role": role} if role else {},
    )
