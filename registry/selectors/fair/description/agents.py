"""Users and namespaces as the agents that metadata records name."""

from collections.abc import Collection, Iterable

from django.conf import settings
from django.db.models import Q

from registry.fair.addresses import namespace_url
from registry.fair.parts import Agent, Organization
from registry.states import NamespaceKind
from registry.tables import Namespace, User


def users_of(keys: Collection[int | None], namespaces: Iterable[Namespace]) -> list[User]:
    """Users with these keys and owners of these personal namespaces; one query."""
    owners = {one.name for one in namespaces if one.kind == NamespaceKind.USER}
    pks = {key for key in keys if key is not None}
    return list(User.objects.filter(Q(pk__in=pks) | Q(username__in=owners)))


def person_agent(user: User) -> Agent:
    """A user as described in their profile, without the e-mail address."""
    affiliation = Organization(name=user.affiliation, ror=user.affiliation_ror or None)
    return Agent(
        name=user.full_name or user.username,
        orcid=user.orcid or None,
        url=namespace_url(settings.HUB_URL, user.username),
        affiliations=(affiliation,) if user.affiliation else (),
    )


def owner_agent(namespace: Namespace, users: Iterable[User]) -> Agent:
    """The owner of a namespace; ``users`` are candidates for the owner of a personal one."""
    if namespace.kind == NamespaceKind.USER:
        owner = next((user for user in users if user.username == namespace.name), None)
        if owner is not None:
            return person_agent(owner)
    return Agent(
        name=namespace.title or namespace.name,
        kind="person" if namespace.kind == NamespaceKind.USER else "organization",
        ror=namespace.ror or None,
        url=namespace_url(settings.HUB_URL, namespace.name),
    )
