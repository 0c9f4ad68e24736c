"""Who made it, who answers for it and who paid, as a card names them.

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
from registry.validation.credit import credit_term
from registry.validation.findings import InvalidValue
from registry.validation.orcid import orcid_url
from registry.validation.references import web_address
from registry.validation.ror import ror_url

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


def agents_of(place: CardValue) -> tuple[Agent, ...]:
    """The people and organisations of a list, each once."""
    found = [agent for item in place.items() if (agent := agent_of(item))]
    return tuple(dict.fromkeys(found))


def agent_of(place: CardValue) -> Agent | None:
    """A person or organisation, of a text or a mapping."""
    if not isinstance(place.value, dict):
        return _agent_of_text(place)
    place.only(_AGENT)
    name = place.entry("name").text(_MAX_NAME)
    if name is None:
        _note_nameless(place, "name")
        return None
    ror = place.entry("ror").checked(ror_url)
    is_organization = place.entry("organization").value is True or ror is not None
    roles = [role.checked(credit_term) for role in place.entry("roles").items()]
    organizations = [
        organization_of(item)
        for key in ("affiliation", "affiliations")
        for item in place.entry(key).items()
    ]
    return Agent(
        name=name,
        kind="organization" if is_organization else "person",
        orcid=None if is_organization else place.entry("orcid").checked(orcid_url),
        ror=ror,
        url=place.entry("url").checked(web_address),
        email=place.entry("email").checked(_email),
        affiliations=tuple(one for one in organizations if one),
        roles=tuple(dict.fromkeys(role for role in roles if role)),
    )


def contact_of(place: CardValue, known: tuple[Agent, ...]) -> Agent | None:
    """Whom to ask: one of ``known`` where the name or the address is theirs."""
    contact = next(iter(agents_of(place)), None)
    if contact is None:
        return None
    same = (
        agent
        for agent in known
        if agent.name == contact.name or (agent.email and agent.email == contact.email)
    )
    found = next(same, None)
    # What only the contact says, such as an address, would be lost in the other.
    return found if found and contact.email in {None, found.email} else contact


def fundings_of(place: CardValue) -> tuple[Funding, ...]:
    """The grants of a list."""
    found = [funding for item in place.items() if (funding := _funding_of(item))]
    return tuple(dict.fromkeys(found))


def organization_of(place: CardValue) -> Organization | None:
    """An organisation, of a text or a mapping."""
    if isinstance(place.value, dict):
        place.only(_ORGANIZATION)
        name = place.entry("name").text(_MAX_NAME)
        if name is None:
            _note_nameless(place, "name")
            return None
        return Organization(
            name=name,
            ror=place.entry("ror").checked(ror_url),
            url=place.entry("url").checked(web_address),
        )
    name, more = _taken_apart(place)
    if name is None:
        return None
    if more is not None and "ror.org/" in more.value:
        return Organization(name=name, ror=more.checked(ror_url))
    return Organization(name=name if more is None else str(place.value).strip())


def _agent_of_text(place: CardValue) -> Agent | None:
    name, more = _taken_apart(place)
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
    return Agent(name=str(place.value).strip())


def _taken_apart(place: CardValue) -> tuple[str | None, CardValue | None]:
    """A name, and what is written behind it in brackets."""
    text = place.text(_MAX_NAME)
    match = _WITH_MORE.fullmatch(text or "")
    if match is None or not match[1].strip():
        return text, None
    return match[1].strip(), CardValue(place.notes, place.path, match[2])


def _funding_of(place: CardValue) -> Funding | None:
    if not isinstance(place.value, dict):
        funder = organization_of(place)
        return Funding(funder=funder) if funder else None
    place.only(_FUNDING)
    funder = organization_of(place.entry("funder"))
    if funder is None:
        _note_nameless(place, "funder")
        return None
    return Funding(
        funder=Organization(
            name=funder.name,
            ror=funder.ror or place.entry("ror").checked(ror_url),
            url=funder.url,
        ),
        award=place.entry("award").text(_MAX_NAME),
        title=place.entry("title").text(),
        url=place.entry("url").checked(web_address),
    )


def _note_nameless(place: CardValue, key: str) -> None:
    place.note("name_missing", f"{place.field} has no {key}.", f"Add '{key}: ...'.")


def _email(text: str) -> str:
    if not _EMAIL.fullmatch(text):
        raise InvalidValue(
            "email_invalid",
            f"{text[:100]!r} is no address of electronic mail.",
            "Write it such as ada@example.org.",
        )
    return text
