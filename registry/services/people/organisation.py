"""Organisations change hands, or end."""

from django.db import transaction

from registry.errors import Conflict, Invalid
from registry.selectors.access import Actor, require
from registry.services.audit import audit
from registry.services.people.account import check_organisation
from registry.states import Role
from registry.tables import FormerNamespace, Membership, Namespace, User


def organisation_transfer(*, actor: User, namespace: Namespace, user: User) -> None:
    """Make ``user`` its admin in place of ``actor``, who remains a member with the role ``write``.

    Raises ``Unauthenticated`` or ``Forbidden`` as :func:`registry.selectors.access.require`;
    ``Invalid`` ``invalid_request`` for a personal namespace, or if both are the same person.
    """
    require(actor, role=Role.ADMIN, namespace=namespace)
    check_organisation(namespace)
    if actor == user:
        raise Invalid("invalid_request", "You are its admin already.", "Name somebody else.")
    with transaction.atomic():
        # As in changes of members, which count the admins.
        Namespace.objects.select_for_update().get(pk=namespace.pk)
        for person, role in ((user, Role.ADMIN), (actor, Role.WRITE)):
            Membership.objects.update_or_create(
                namespace=namespace, user=person, defaults={"role": role}
            )
        audit(
            actor,
            "organisation.transfer",
            namespace.name,
            namespace=namespace.name,
            detail={"to": user.username},
        )


def organisation_delete(*, actor: Actor, namespace: Namespace) -> None:
    """Delete an organisation that owns nothing. Nobody else gets its name.

    Its memberships, and the tokens and webhooks that are limited to it, end.

    Raises ``Unauthenticated`` or ``Forbidden`` as :func:`registry.selectors.access.require`;
    ``Invalid`` ``invalid_request`` for a personal namespace; ``Conflict``
    ``organisation_not_empty``.
    """
    require(actor, role=Role.ADMIN, namespace=namespace)
    check_organisation(namespace)
    with transaction.atomic():
        # Nobody can create a repository in it meanwhile.
        row = Namespace.objects.select_for_update().get(pk=namespace.pk)
        count = row.mlmodels.count()
        if count:
            raise Conflict(
                "organisation_not_empty",
                f"{namespace.name} owns {count} models and data sets.",
                "Move or delete them first.",
            )
        FormerNamespace.objects.create(name=row.name)
        audit(actor, "organisation.delete", row.name, namespace=row.name)
        row.delete()
