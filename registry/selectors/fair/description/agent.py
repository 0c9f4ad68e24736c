"""People and organisations of this hub as records name them."""

from collections.abc import Collection, Iterable

from django.conf import settings
from django.db.models import Q

from registry.fair.addresses import namespace_url
from registry.fair.parts import Agent, Organization
from registry.states import NamespaceKind
from registry.tables import Namespace, User


def users_of(keys: Collection[int | None], namespaces: Iterable[Namespace]) -> list[User]:
    """For lists: the people with these keys, and those whose personal namespaces these are."""
    personal = {one.name for one in namespaces if one.kind == NamespaceKind.USER}
    wanted = {key for key in keys if key is not None}
    return list(User.objects.filter(Q(pk__in=wanted) | Q(username__in=personal)))


def person_agent(user: User) -> Agent:
    """A person as their profile says; never their electronic mail."""
    affiliation = Organization(name=user.affiliation, ror=user.affiliation_ror or None)
    return Agent(
        name=user.full_name or user.username,
        orcid=user.orcid or None,
        url=namespace_url(settings.HUB_URL, user.username),
        affiliations=(affiliation,) if user.affiliation else (),
    )


def owner_agent(namespace: Namespace, users: Iterable[User]) -> Agent:
    """Whom a namespace belongs to.

    Args:
        users: Among whom the person is, if it is a person's.
    """
    if namespace.kind == NamespaceKind.USER:
        found = next((user for user in users if user.username == namespace.name), None)
        if found is not None:
            return person_agent(found)
    return Agent(
        name=namespace.title or namespace.name,
        kind="person" if namespace.kind == NamespaceKind.USER else "organization",
        ror=namespace.ror or None,
        url=namespace_url(settings.HUB_URL, namespace.name),
    )
