"""Accounts of people and organisations, and memberships."""

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction

from registry.errors import Conflict, Invalid, NotFound
from registry.selectors.access import Actor, may, require, require_scope, require_staff
from registry.selectors.people.account import named
from registry.services.audit import audit
from registry.services.people.token import require_whole_account
from registry.states import NamespaceKind, Role, Scope
from registry.tables import FormerNamespace, Membership, Namespace, User
from registry.validation.names import check_namespace
from registry.validation.texts import check_text


def user_create(
    *, username: str, password: str, email: str = "", full_name: str = "", is_staff: bool = False
) -> User:
    """Create an account and its personal namespace, with the person as its admin.

    Raises ``Invalid`` ``invalid_name``, or ``invalid_request`` for a weak password or a bad
    address. Raises ``Conflict`` ``namespace_taken``.
    """
    check_namespace(username)
    check_text(full_name, field="full_name", most=200)
    user = User(username=username, email=email, full_name=full_name, is_staff=is_staff)
    _check_email(email)
    _check_password(user, password)
    user.set_password(password)
    with transaction.atomic():
        namespace = _namespace_create(username, NamespaceKind.USER, full_name)
        user.save()
        Membership.objects.create(namespace=namespace, user=user, role=Role.ADMIN)
        audit(user, "user.create", username, namespace=username)
    return user


def credentials_set(*, actor: User, email: str | None = None, password: str | None = None) -> None:
    """Change the e-mail address or the password of an account; ``None`` leaves a value.

    The caller has checked the present password, or a link that was sent to the address. A new
    password ends all sessions; tokens stay valid. Raises ``Invalid`` ``invalid_request`` with
    ``fields``.
    """
    user = User.objects.get(pk=actor.pk)
    if email is not None:
        _check_email(email)
        user.email = email
    if password is not None:
        _check_password(user, password)
        user.set_password(password)
    changes = {"email": email is not None, "password": password is not None}
    with transaction.atomic():
        user.save(update_fields=[name for name, is_changed in changes.items() if is_changed])
        audit(user, "user.credentials", user.username, namespace=user.username, detail=changes)
    actor.email, actor.password = user.email, user.password


def staff_set(*, actor: Actor, user: User, is_staff: bool) -> None:
    """Make a person an operator of the hub, or end that; for the hub itself and its operators.

    Raises ``Unauthenticated`` or ``Forbidden`` as :func:`registry.selectors.access.require_staff`.
    """
    require_staff(actor)
    with transaction.atomic():
        if User.objects.filter(pk=user.pk).exclude(is_staff=is_staff).update(is_staff=is_staff):
            audit(actor, "user.staff", user.username, detail={"is_staff": is_staff})
    user.is_staff = is_staff


def user_enable(*, actor: Actor, user: User, enabled: bool) -> None:
    """Disable an account, with its sessions and tokens, or enable it again. Nothing is deleted.

    Raises ``Unauthenticated`` or ``Forbidden`` as :func:`registry.selectors.access.require_staff`;
    ``Invalid`` ``invalid_request`` for the operator's own account.
    """
    require_staff(actor)
    if actor is not None and user.pk == actor.pk:
        raise Invalid(
            "invalid_request", "You cannot disable your own account.", "Ask another operator."
        )
    with transaction.atomic():
        if User.objects.filter(pk=user.pk).exclude(is_active=enabled).update(is_active=enabled):
            audit(actor, "user.enable" if enabled else "user.disable", user.username)
    user.is_active = enabled


def organisation_create(*, actor: User, name: str, title: str = "") -> Namespace:
    """Create an organisation with ``actor`` as its first admin.

    Raises ``Unauthenticated`` or ``Forbidden`` as
    :func:`registry.services.people.token.require_whole_account`; ``Invalid`` ``invalid_name``;
    ``Conflict`` ``namespace_taken``.
    """
    require_whole_account(actor)
    check_namespace(name)
    check_text(title, field="title", most=200)
    with transaction.atomic():
        namespace = _namespace_create(name, NamespaceKind.ORGANISATION, title)
        Membership.objects.create(namespace=namespace, user=actor, role=Role.ADMIN)
        audit(actor, "organisation.create", name, namespace=name)
    return namespace


def member_set(*, actor: Actor, namespace: Namespace, user: User, role: Role) -> Membership:
    """Give ``user`` a role in an organisation.

    Raises ``Unauthenticated`` or ``Forbidden`` as :func:`registry.selectors.access.require`;
    ``Conflict`` ``last_admin`` if no admin would remain; ``Invalid`` ``invalid_request`` for a
    personal namespace.
    """
    require(actor, role=Role.ADMIN, namespace=namespace)
    check_organisation(namespace)
    with transaction.atomic():
        _keep_an_admin(namespace, without=user, unless=role == Role.ADMIN)
        membership, _ = Membership.objects.update_or_create(
            namespace=namespace, user=user, defaults={"role": role}
        )
        _audit_member(actor, namespace, user, "member.set", role.value)
    return membership


def member_remove(*, actor: Actor, namespace: Namespace, user: User) -> None:
    """End ``user``'s membership; members may end their own.

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
    check_organisation(namespace)
    with transaction.atomic():
        _keep_an_admin(namespace, without=user)
        count, _ = Membership.objects.filter(namespace=namespace, user=user).delete()
        if not count:
            raise NotFound("user_not_found", f"{user.username} is no member of {namespace.name}.")
        _audit_member(actor, namespace, user, "member.remove")


def _namespace_create(name: str, kind: NamespaceKind, title: str) -> Namespace:
    if named(FormerNamespace.objects.all(), name).exists():
        raise Conflict(
            "namespace_taken",
            f"{name!r} was the name of an organisation that was deleted.",
            "Choose another name; such names are not given again.",
        )
    try:
        with transaction.atomic():
            return Namespace.objects.create(name=name, kind=kind, title=title)
    except IntegrityError:
        raise Conflict(
            "namespace_taken", f"{name!r} is taken.", "Choose another name; case does not count."
        ) from None


def _check_email(email: str) -> None:
    try:
        if email:
            validate_email(email)
    except ValidationError:
        raise Invalid(
            "invalid_request",
            f"{email[:100]!r} is no e-mail address.",
            fields={"email": "not an e-mail address"},
        ) from None


def _check_password(user: User, password: str) -> None:
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise Invalid(
            "invalid_request",
            " ".join(error.messages),
            "Choose a longer or less common password.",
            fields={"password": " ".join(error.messages)},
        ) from None


def check_organisation(namespace: Namespace) -> None:
    """Raises ``Invalid`` ``invalid_request`` for the namespace of a person."""
    if namespace.kind != NamespaceKind.ORGANISATION:
        raise Invalid(
            "invalid_request",
            f"{namespace.name} is a person's namespace; nobody else can belong to it.",
            "Make an organisation to work together.",
        )


def _keep_an_admin(namespace: Namespace, *, without: User, unless: bool = False) -> None:
    # The lock serializes two admins who leave at once.
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
        actor,
        action,
        f"{namespace.name}/{user.username}",
        namespace=namespace.name,
        detail={"role": role} if role else {},
    )
