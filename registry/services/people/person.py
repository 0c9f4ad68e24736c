"""Who people and organisations are to the world: their names, ORCID iDs and ROR ids in records."""

from collections.abc import Callable

from django.db import transaction

from registry.errors import Invalid
from registry.selectors.access import Actor, require
from registry.services.audit import audit
from registry.services.people.account import require_whole_account
from registry.states import NamespaceKind, Role
from registry.tables import Namespace, User
from registry.validation.findings import InvalidValue
from registry.validation.orcid import orcid_url
from registry.validation.ror import ror_url
from registry.validation.texts import check_text

_MAX_NAME = 200


def person_update(
    *,
    actor: User,
    full_name: str | None = None,
    orcid: str | None = None,
    affiliation: str | None = None,
    affiliation_ror: str | None = None,
) -> User:
    """Change what records say of a person; ``None`` leaves a value, "" takes it away.

    Args:
        orcid: An ORCID iD, bare or as an address.
        affiliation: Name of the organisation they work for, and ``affiliation_ror`` its ROR id.

    Raises:
        Unauthenticated, Forbidden: see
            :func:`registry.services.people.account.require_whole_account`.
        Invalid: ``invalid_request`` with ``fields``.
    """
    require_whole_account(actor)
    changes = {
        "full_name": _line(full_name, "full_name"),
        "orcid": _checked(orcid, "orcid", orcid_url),
        "affiliation": _line(affiliation, "affiliation"),
        "affiliation_ror": _checked(affiliation_ror, "affiliation_ror", ror_url),
    }
    known = {name: value for name, value in changes.items() if value is not None}
    with transaction.atomic():
        User.objects.filter(pk=actor.pk).update(**known)
        if full_name is not None:
            own = Namespace.objects.filter(kind=NamespaceKind.USER, name=actor.username)
            own.update(title=known["full_name"])
        audit(
            actor=actor,
            action="user.update",
            subject=actor.username,
            namespace=actor.username,
            detail=known,
        )
    for name, value in known.items():
        setattr(actor, name, value)
    return actor


def organisation_update(
    *, actor: Actor, namespace: Namespace, title: str | None = None, ror: str | None = None
) -> Namespace:
    """Change what records say of an organisation; ``None`` leaves a value, "" takes it away.

    Raises:
        Unauthenticated, Forbidden: see :func:`registry.selectors.access.require`.
        Invalid: ``invalid_request`` with ``fields``; also for a person's namespace.
    """
    require(actor, role=Role.ADMIN, namespace=namespace)
    if namespace.kind != NamespaceKind.ORGANISATION:
        raise Invalid(
            "invalid_request",
            f"{namespace.name} is a person, who has an ORCID iD and an affiliation instead.",
            "Change your own profile.",
        )
    changes = {"title": _line(title, "title"), "ror": _checked(ror, "ror", ror_url)}
    known = {name: value for name, value in changes.items() if value is not None}
    with transaction.atomic():
        Namespace.objects.filter(pk=namespace.pk).update(**known)
        audit(
            actor=actor,
            action="organisation.update",
            subject=namespace.name,
            namespace=namespace.name,
            detail=known,
        )
    for name, value in known.items():
        setattr(namespace, name, value)
    return namespace


def _line(text: str | None, field: str) -> str | None:
    return None if text is None else check_text(text.strip(), field=field, most=_MAX_NAME)


def _checked(text: str | None, field: str, check: Callable[[str], str]) -> str | None:
    """The full address of an identifier.

    Raises:
        Invalid: with what is wrong with it.
    """
    if text is None or not text.strip():
        return None if text is None else ""
    try:
        return check(text)
    except InvalidValue as fault:
        said = f"{fault.message} {fault.fix}"
        raise Invalid("invalid_request", fault.message, fault.fix, fields={field: said}) from None
