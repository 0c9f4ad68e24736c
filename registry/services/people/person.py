"""Profiles of people and organisations: the names, ORCID iDs and ROR ids that records show."""

from collections.abc import Callable

from django.db import transaction

from registry.errors import Invalid
from registry.selectors.access import Actor, require
from registry.services.audit import audit
from registry.services.people.token import require_whole_account
from registry.states import NamespaceKind, Role, Visibility
from registry.tables import Namespace, User
from registry.validation.findings import InvalidValue
from registry.validation.identifiers import orcid_url, ror_url
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
    """Change a person's profile; ``None`` leaves a value, "" removes it.

    ``orcid`` and ``affiliation_ror``, the ROR id of the organisation ``affiliation``, may be bare
    or addresses. Raises ``Unauthenticated`` or ``Forbidden`` as
    :func:`registry.services.people.token.require_whole_account`; ``Invalid`` ``invalid_request``
    with ``fields``.
    """
    require_whole_account(actor)
    changes = {
        "full_name": _check_line(full_name, "full_name"),
        "orcid": _check_identifier(orcid, "orcid", orcid_url),
        "affiliation": _check_line(affiliation, "affiliation"),
        "affiliation_ror": _check_identifier(affiliation_ror, "affiliation_ror", ror_url),
    }
    values = {name: value for name, value in changes.items() if value is not None}
    with transaction.atomic():
        User.objects.filter(pk=actor.pk).update(**values)
        if full_name is not None:
            own = Namespace.objects.filter(kind=NamespaceKind.USER, name=actor.username)
            own.update(title=values["full_name"])
        audit(actor, "user.update", actor.username, namespace=actor.username, detail=values)
    for name, value in values.items():
        setattr(actor, name, value)
    return actor


def organisation_update(
    *,
    actor: Actor,
    namespace: Namespace,
    title: str | None = None,
    ror: str | None = None,
    default_visibility: Visibility | str | None = None,
) -> Namespace:
    """Change an organisation's profile; ``None`` leaves a value, "" removes it.

    ``default_visibility`` applies to new repositories whose creator chooses none.

    Raises ``Unauthenticated`` or ``Forbidden`` as :func:`registry.selectors.access.require`;
    ``Invalid`` ``invalid_request`` with ``fields``; also for a person's namespace.
    """
    require(actor, role=Role.ADMIN, namespace=namespace)
    if namespace.kind != NamespaceKind.ORGANISATION:
        raise Invalid(
            "invalid_request",
            f"{namespace.name} is a person, who has an ORCID iD and an affiliation instead.",
            "Change your own profile.",
        )
    changes = {
        "title": _check_line(title, "title"),
        "ror": _check_identifier(ror, "ror", ror_url),
        "default_visibility": _check_visibility(default_visibility) if default_visibility else None,
    }
    values = {name: value for name, value in changes.items() if value is not None}
    with transaction.atomic():
        Namespace.objects.filter(pk=namespace.pk).update(**values)
        audit(actor, "organisation.update", namespace.name, namespace=namespace.name, detail=values)
    for name, value in values.items():
        setattr(namespace, name, value)
    return namespace


def _check_visibility(value: Visibility | str) -> str:
    if value not in Visibility.values:
        raise Invalid(
            "invalid_request",
            f"{str(value)[:50]!r} is no visibility.",
            f"Choose one of {', '.join(Visibility.values)}.",
            fields={"default_visibility": "unknown"},
        )
    return str(value)


def _check_line(text: str | None, field: str) -> str | None:
    return None if text is None else check_text(text.strip(), field=field, most=_MAX_NAME)


def _check_identifier(text: str | None, field: str, check: Callable[[str], str]) -> str | None:
    """The full address of an identifier."""
    if text is None or not text.strip():
        return None if text is None else ""
    try:
        return check(text)
    except InvalidValue as fault:
        detail = f"{fault.message} {fault.fix}"
        raise Invalid("invalid_request", fault.message, fault.fix, fields={field: detail}) from None
