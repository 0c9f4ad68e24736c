"""People and organisations in DataCite 4.7."""

from typing import Any

from registry.fair.description import Description
from registry.fair.parts import Agent
from registry.fair.serialise import drop_empty

#: Contributor types for CRediT roles; all other roles are ``Other``.
_CONTRIBUTORS = {
    "Conceptualization": "Researcher",
    "Data curation": "DataCurator",
    "Formal analysis": "Researcher",
    "Investigation": "Researcher",
    "Methodology": "Researcher",
    "Project administration": "ProjectManager",
    "Supervision": "Supervisor",
    "Validation": "Researcher",
}


#: DataCite's standard value for an unavailable, possibly unknown value (appendix 3). A creator is
#: required.
UNAVAILABLE = ":unav"


def creators_of(description: Description) -> list[dict[str, Any]]:
    """The creators, or :data:`UNAVAILABLE`."""
    return [agent_of(one) for one in description.creators] or [{"name": UNAVAILABLE}]


def agent_of(agent: Agent, **more: str) -> dict[str, Any]:
    """A creator or contributor; only names in DataCite's form ``Family, Given`` are split."""
    family, comma, given_name = agent.name.partition(",")
    is_split = agent.kind == "person" and bool(comma and given_name.strip() and family.strip())
    return more | drop_empty(
        name=agent.name,
        nameType="Personal" if agent.kind == "person" else "Organizational",
        givenName=given_name.strip() if is_split else None,
        familyName=family.strip() if is_split else None,
        nameIdentifiers=[*filter(None, (_orcid(agent.orcid), ror_of(agent.ror, "nameIdentifier")))],
        affiliation=[
            {"name": one.name} | ror_of(one.ror, "affiliationIdentifier")
            for one in dict.fromkeys(agent.affiliations)
        ],
    )


def ror_of(ror: str | None, key: str) -> dict[str, str]:
    """Keys of an organisation's ROR, of which ``key`` is the first; empty without one."""
    if not ror:
        return {}
    return {key: ror, f"{key}Scheme": "ROR", "schemeUri": "https://ror.org"}


def _orcid(orcid: str | None) -> dict[str, str]:
    if not orcid:
        return {}
    return {
        "nameIdentifier": orcid,
        "nameIdentifierScheme": "ORCID",
        "schemeUri": "https://orcid.org",
    }


def contributors_of(description: Description) -> list[dict[str, Any]]:
    """Owner, host, contributors and contact person.

    The operator of the hub hosts the files; the owner of the namespace, also an
    organisation, manages them.
    """
    owner = description.owner
    publisher = description.hub.publisher
    host = Agent(name=publisher.name, kind="organization", ror=publisher.ror, url=publisher.url)
    contributors = [
        agent_of(owner, contributorType="DataManager"),
        agent_of(host, contributorType="HostingInstitution"),
    ]
    for agent in description.contributors:
        # A person with several roles is listed once for each DataCite type.
        kinds = dict.fromkeys(_CONTRIBUTORS.get(role, "Other") for role in agent.roles or ("",))
        contributors += [agent_of(agent, contributorType=one) for one in kinds]
    if description.contact:
        contributors.append(agent_of(description.contact, contributorType="ContactPerson"))
    return contributors
