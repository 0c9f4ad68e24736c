"""Creators, contributors, contact and funders in a card.

::

    authors:
    - Ada Beispiel <ada@example.org>
    - name: Josiah Carberry
      orcid: 0000-0002-1825-0097
      affiliation: {name: Brown University, ror: 05gq02987}
      roles: [Software, Data curation]
    - {name: Example Lab, organization: true, ror: 05dxps055}
    funding: {funder: European Commission, ror: 00k4n6c32, award: 101017207, title: FAIR galaxies}
"""

import re

from registry.fair.card.values import CardValue
from registry.fair.parts import Agent, Funding, Organization
from registry.validation.findings import InvalidValue
from registry.validation.identifiers import orcid_url, ror_url
from registry.validation.references import web_address
from registry.validation.vocabularies import credit_term

_MAX_NAME = 300
_AGENT = (
    *("name", "orcid", "ror", "email", "url", "affiliation", "affiliations", "roles"),
    "organization",
)
_ORGANIZATION = ("name", "ror", "url")
_FUNDING = ("funder", "ror", "award", "title", "url")
_EMAIL = re.compile(r"[^@\s<>()]+@[^@\s<>()]+\.[^@\s<>()]+")
#: ``Ada Beispiel <ada@example.org>``, ``Brown University (https://ror.org/05gq02987)``
_WITH_MORE = re.compile(r"([^<>()]+)[<(]([^<>()\s]+)[>)]")


def agents_of(value: CardValue) -> tuple[Agent, ...]:
    """People and organisations of a list, without repetitions."""
    agents = [agent for item in value.items() if (agent := agent_of(item))]
    return tuple(dict.fromkeys(agents))


def agent_of(value: CardValue) -> Agent | None:
    """A person or organisation, from a text or a mapping."""
    if not isinstance(value.value, dict):
        return _agent_of_text(value)
    value.only(_AGENT)
    name = value.entry("name").text(_MAX_NAME)
    if name is None:
        _note_nameless(value, "name")
        return None
    ror = value.entry("ror").checked(ror_url)
    is_organization = value.entry("organization").value is True or ror is not None
    roles = [role.checked(credit_term) for role in value.entry("roles").items()]
    organizations = [
        organization_of(item)
        for key in ("affiliation", "affiliations")
        for item in value.entry(key).items()
    ]
    return Agent(
        name=name,
        kind="organization" if is_organization else "person",
        orcid=None if is_organization else value.entry("orcid").checked(orcid_url),
        ror=ror,
        url=value.entry("url").checked(web_address),
        email=value.entry("email").checked(_email),
        affiliations=tuple(one for one in organizations if one),
        roles=tuple(dict.fromkeys(role for role in roles if role)),
    )


def contact_of(value: CardValue, agents: tuple[Agent, ...]) -> Agent | None:
    """The contact person: the one of ``agents`` with the same name or address, if there is one."""
    contact = next(iter(agents_of(value)), None)
    if contact is None:
        return None
    same = (
        agent
        for agent in agents
        if agent.name == contact.name or (agent.email and agent.email == contact.email)
    )
    agent = next(same, None)
    # An address that only the contact has must not be lost.
    return agent if agent and contact.email in {None, agent.email} else contact


def fundings_of(value: CardValue) -> tuple[Funding, ...]:
    """Grants of a list."""
    grants = [funding for item in value.items() if (funding := _funding_of(item))]
    return tuple(dict.fromkeys(grants))


def organization_of(value: CardValue) -> Organization | None:
    """An organisation, from a text or a mapping."""
    if isinstance(value.value, dict):
        value.only(_ORGANIZATION)
        name = value.entry("name").text(_MAX_NAME)
        if name is None:
            _note_nameless(value, "name")
            return None
        return Organization(
            name=name,
            ror=value.entry("ror").checked(ror_url),
            url=value.entry("url").checked(web_address),
        )
    name, more = _name_and_suffix(value)
    if name is None:
        return None
    if more is not None and "ror.org/" in more.value:
        return Organization(name=name, ror=more.checked(ror_url))
    return Organization(name=name if more is None else str(value.value).strip())


def _agent_of_text(value: CardValue) -> Agent | None:
    name, more = _name_and_suffix(value)
    if name is None:
        return None
    if more is None:
        return Agent(name=name, email=name if _EMAIL.fullmatch(name) else None)
    if "orcid.org/" in more.value:
        return Agent(name=name, orcid=more.checked(orcid_url))
    if "ror.org/" in more.value:
        return Agent(name=name, kind="organization", ror=more.checked(ror_url))
    if "@" in more.value:
        return Agent(name=name, email=more.checked(_email))
    return Agent(name=str(value.value).strip())


def _name_and_suffix(value: CardValue) -> tuple[str | None, CardValue | None]:
    """A name, and the text in brackets after it."""
    text = value.text(_MAX_NAME)
    match = _WITH_MORE.fullmatch(text or "")
    if match is None or not match[1].strip():
        return text, None
    return match[1].strip(), CardValue(value.reader, value.path, match[2])


def _funding_of(value: CardValue) -> Funding | None:
    if not isinstance(value.value, dict):
        funder = organization_of(value)
        return Funding(funder=funder) if funder else None
    value.only(_FUNDING)
    funder = organization_of(value.entry("funder"))
    if funder is None:
        _note_nameless(value, "funder")
        return None
    return Funding(
        funder=Organization(
            name=funder.name, ror=funder.ror or value.entry("ror").checked(ror_url), url=funder.url
        ),
        award=value.entry("award").text(_MAX_NAME),
        title=value.entry("title").text(),
        url=value.entry("url").checked(web_address),
    )


def _note_nameless(value: CardValue, key: str) -> None:
    value.note("name_missing", f"{value.field} has no {key}.", f"Add '{key}: ...'.")


def _email(text: str) -> str:
    if not _EMAIL.fullmatch(text):
        raise InvalidValue(
            "email_invalid",
            f"{text[:100]!r} is not an e-mail address.",
            "Write it like ada@example.org.",
        )
    return text
