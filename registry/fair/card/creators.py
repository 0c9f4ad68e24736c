"""Creators as a form edits them, and the card's ``authors`` with changed creators. Other facts of a
person, such as roles, e-mail address and further affiliations, are kept."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from registry.fair.card.people import agent_of, organization_of
from registry.fair.card.values import CardReader, CardValue
from registry.validation.card import Card

_KEY = "authors"


@dataclass(frozen=True, slots=True, kw_only=True)
class Creator:
    """One creator, with texts as typed.

    ``ror`` identifies the institution named by ``affiliation``, else the creator itself; ``place``
    is the index in ``authors``, from 0, or ``None`` for a new creator.
    """

    name: str = ""
    orcid: str = ""
    affiliation: str = ""
    ror: str = ""
    place: int | None = None


def creators_of(reader: CardReader) -> tuple[Creator, ...]:
    """The creators in a card, including faulty values."""
    items = _items(reader.card.values.get(_KEY))
    creators = (_creator(reader, item, index) for index, item in enumerate(items))
    return tuple(one for one in creators if one)


def authors_of(card: Card, creators: Sequence[Creator]) -> list[Any]:
    """The value of ``authors`` for these creators; unchanged ones stay as written."""
    reader = CardReader(card)
    items = _items(card.values.get(_KEY))
    before = {one.place: one for one in creators_of(reader)}
    return [_author(reader, items, before, creator) for creator in creators]


def _author(
    reader: CardReader, items: list[Any], before: dict[int | None, Creator], creator: Creator
) -> Any:
    by_name = (index for index, one in before.items() if one.name == creator.name)
    index = creator.place if creator.place in before else next(by_name, None)
    if index is None:
        return _entry({}, creator)
    old = items[index]
    if replace(creator, place=index) == before[index]:
        return old
    if isinstance(old, dict):
        return _entry(old, creator)
    agent = agent_of(CardValue(reader, (_KEY, index), old))
    return _entry({"email": agent.email} if agent and agent.email else {}, creator)


def _entry(old: dict[str, Any], creator: Creator) -> dict[str, Any]:
    entry = {"name": creator.name} | old | {"name": creator.name}
    _put(entry, "orcid", creator.orcid)
    key = _affiliation_key(entry)
    institutions = _items(entry.get(key))
    if creator.affiliation:
        _put(entry, key, [_institution(institutions[:1], creator), *institutions[1:]])
    else:
        _put(entry, key, institutions[1:])
        _put(entry, "ror", creator.ror)
    return entry


def _institution(old: list[Any], creator: Creator) -> Any:
    """The institution of ``creator``, replacing the one in ``old``, if any."""
    before = old[0] if old and isinstance(old[0], dict) else {}
    entry = {"name": creator.affiliation} | before | {"name": creator.affiliation}
    _put(entry, "ror", creator.ror)
    return entry if before or creator.ror else creator.affiliation


def _put(entry: dict[str, Any], key: str, value: Any) -> None:
    """Set a value, a list of one as its item; remove the key for an empty value."""
    if value:
        entry[key] = value[0] if isinstance(value, list) and len(value) == 1 else value
    else:
        entry.pop(key, None)


def _creator(reader: CardReader, item: Any, index: int) -> Creator | None:
    if item in (None, ""):
        return None
    if not isinstance(item, dict):
        agent = agent_of(CardValue(reader, (_KEY, index), item))
        if agent is None:
            return None
        return Creator(name=agent.name, orcid=agent.orcid or "", ror=agent.ror or "", place=index)
    institutions = _items(item.get(_affiliation_key(item)))
    affiliation, ror = "", _text(item.get("ror"))
    if institutions:
        affiliation, ror = _name_and_ror(reader, institutions[0])
    return Creator(
        name=_text(item.get("name")),
        orcid=_text(item.get("orcid")),
        affiliation=affiliation,
        ror=ror,
        place=index,
    )


def _name_and_ror(reader: CardReader, institution: Any) -> tuple[str, str]:
    """Name and ROR id of an institution; those of a mapping are not normalised."""
    if isinstance(institution, dict):
        return _text(institution.get("name")), _text(institution.get("ror"))
    organization = organization_of(CardValue(reader, (_KEY,), institution))
    return (organization.name, organization.ror or "") if organization else ("", "")


def _affiliation_key(entry: dict[str, Any]) -> str:
    plural = "affiliations" in entry and "affiliation" not in entry
    return "affiliations" if plural else "affiliation"


def _items(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    return [] if value in (None, "") else [value]


def _text(value: Any) -> str:
    return "" if value is None or isinstance(value, bool | dict | list) else str(value).strip()
