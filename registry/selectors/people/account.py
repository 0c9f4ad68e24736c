"""Reads of people, namespaces and tokens."""

import hashlib
import re
import zlib

from django.db.models import Q, QuerySet
from django.db.models.functions import Lower
from django.db.models.lookups import Exact
from django.utils import timezone

from registry.errors import Forbidden, NotFound, Unauthenticated
from registry.ids import NAME_RE, parse_uuid
from registry.selectors.access import Actor, Row, may, memberships
from registry.states import NamespaceKind, Role
from registry.tables import DeviceGrant, Membership, Namespace, Token, User
from registry.validation.texts import unseen

_SECRET_RE = re.compile(r"hpf_([0-9A-Za-z]{32})([0-9A-Za-z]{6})")
_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_TOKEN_HINT = "Make a new token in your settings."  # noqa: S105


def user_of_token(secret: str) -> User:
    """The owner of a bearer secret, with ``token`` set.

    Raises ``Unauthenticated``: ``token_invalid``, ``token_expired`` or ``token_revoked``.
    """
    token = None
    # The checksum rejects a mistyped or truncated secret without a database query.
    match = _SECRET_RE.fullmatch(secret)
    if match and checksum(match[1]) == match[2]:
        token = (
            Token.objects.select_related("user", "namespace")
            .filter(digest=secret_digest(secret), user__is_active=True)
            .first()
        )
    return _user_of(token)


def user_of_token_uuid(token_uuid: object) -> User:
    """The owner of a token, with ``token`` set, where another credential stands for its secret.

    Raises ``Unauthenticated``: ``token_invalid``, ``token_expired`` or ``token_revoked``.
    """
    rows = Token.objects.select_related("user", "namespace").filter(user__is_active=True)
    return _user_of(rows.filter(uuid=parse_uuid(token_uuid)).first())


def _user_of(token: Token | None) -> User:
    if token is None:
        raise Unauthenticated("token_invalid", "The token is not one of this hub's.", _TOKEN_HINT)
    if token.revoked_at is not None:
        raise Unauthenticated(
            "token_revoked", f"The token {token.name!r} was revoked.", _TOKEN_HINT
        )
    if token.expires_at is not None and token.expires_at <= timezone.now():
        raise Unauthenticated("token_expired", f"The token {token.name!r} expired.", _TOKEN_HINT)
    token.user.token = token
    return token.user


def secret_digest(secret: str) -> str:
    """The stored digest of a secret. Secrets have 190 random bits: no salt or slow hash needed."""
    return hashlib.sha256(secret.encode()).hexdigest()


def checksum(body: str) -> str:
    """Six base-62 digits of the CRC-32 over a secret's random part."""
    number, digits = zlib.crc32(body.encode()), ""
    for _ in range(6):
        number, digit = divmod(number, 62)
        digits = _BASE62[digit] + digits
    return digits


def namespace_get(actor: Actor, name: str) -> Namespace:  # noqa: ARG001
    """The namespace ``name``, in any case. The existence of namespaces is public.

    Raises ``NotFound``: ``namespace_not_found``.
    """
    namespace = named(Namespace.objects.all(), name).first()
    if namespace is None:
        raise NotFound("namespace_not_found", f"There is no person or organisation {name[:100]!r}.")
    return namespace


def namespaces_of(user: User) -> QuerySet[Membership]:
    """Memberships of ``user`` in the namespaces that their token covers."""
    return memberships(user).select_related("namespace").order_by("id")


def namespaces_matching(word: str, kind: NamespaceKind) -> QuerySet[Namespace]:
    """The namespaces of ``kind`` whose name or title contains ``word`` in any case, by name."""
    # Names have no such characters, and databases reject some of them.
    if unseen(word):
        return Namespace.objects.none()
    matches = Q(name__icontains=word) | Q(title__icontains=word)
    return Namespace.objects.filter(matches, kind=kind).order_by("name")


def organisations_of(actor: Actor, user: User) -> list[Namespace]:
    """Organisations of both ``user`` and ``actor``: memberships are visible to members only."""
    rows = user.namespaces.filter(kind=NamespaceKind.ORGANISATION).order_by("name")
    return [row for row in rows if may(actor, role=Role.READ, namespace=row)]


def members_of(actor: Actor, namespace: Namespace) -> QuerySet[Membership]:
    """Memberships of ``namespace``, for members. Raises ``Forbidden``: ``permission_denied``."""
    if not may(actor, role=Role.READ, namespace=namespace):
        raise Forbidden(
            "permission_denied", f"Only members of {namespace.name} see who belongs to it."
        )
    return namespace.memberships.select_related("user").order_by("id")


def tokens_of(user: User) -> QuerySet[Token]:
    """The unrevoked tokens of ``user``, newest first."""
    return user.tokens.filter(revoked_at=None).select_related("namespace").order_by("-id")


def device_grant_get(user_code: str) -> DeviceGrant:
    """The undecided grant with this code, in any case, with or without its hyphen.

    Raises ``NotFound``: ``grant_not_found``.
    """
    letters = "".join(c for c in user_code.upper() if c.isascii() and c.isalpha())
    grant = DeviceGrant.objects.filter(
        user_code=f"{letters[:4]}-{letters[4:]}",
        user=None,
        is_refused=False,
        expires_at__gt=timezone.now(),
    ).first()
    if grant is None:
        raise NotFound(
            "grant_not_found",
            f"No program waits with the code {user_code[:20]!r}.",
            "Compare it with what the program shows; begin again there if it took too long.",
        )
    return grant


def user_get(name: str) -> User:
    """The person ``name``, in any case. Raises ``NotFound``: ``user_not_found``."""
    user = user_find(name)
    if user is None:
        raise NotFound("user_not_found", f"There is no person {name[:100]!r}.")
    return user


def user_find(name: str) -> User | None:
    """The person ``name``, in any case, or ``None``."""
    personal = named(Namespace.objects.filter(kind=NamespaceKind.USER), name)
    return User.objects.filter(username__in=personal.values("name")).first()


def users_by_email(address: str) -> list[User]:
    """The active people with this e-mail address in any case. Several accounts may share one."""
    rows = User.objects.filter(Exact(Lower("email"), address.lower()), is_active=True)
    # Not by the database, which would walk the table in that order instead.
    return sorted(rows, key=lambda user: user.pk)


def named(rows: QuerySet[Row], name: str) -> QuerySet[Row]:
    """Those of ``rows`` whose ``name`` is ``name`` in any case, by an index lookup.

    ``iexact`` would scan: its SQL differs from the ``Lower`` expression of the unique constraints.
    """
    # Also keeps NUL, which PostgreSQL rejects, out of the query.
    if not NAME_RE.fullmatch(name):
        return rows.none()
    return rows.filter(Exact(Lower("name"), name.lower()))
