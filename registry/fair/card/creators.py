"""Creators as a form asks for them, a line each, and the card's ``authors`` with other ones.

A card may say more of a person than a form asks: roles, electronic mail, a second institution.
That stays with the person.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from registry.fair.card.people import agent_of, organization_of
from registry.fair.card.values import CardReader, CardValue
from registry.validation.card import Card

_KEY = "authors"


@dataclass(frozen=True, slots=True, kw_only=True)
class Creator:
    """One creator, in texts as they are typed.

    Attributes:
        affiliation: Name of the institution.
        ror: Of the institution; without one, the creator is an organisation and this is its own.
        place: Where the card has it among its ``authors``, from 0; ``None`` if it is new.
    """

    name: str = ""
    orcid: str = ""
    affiliation: str = ""
    ror: str = ""
    place: int | None = None


def creators_of(notes: CardReader) -> tuple[Creator, ...]:
    """The creators that a card names, with what is wrong in them as it stands there."""
    items = _items(notes.card.values.get(_KEY))
    found = (_creator(notes, item, place) for place, item in enumerate(items))
    return tuple(one for one in found if one)


def authors_of(card: Card, creators: Sequence[Creator]) -> list[Any]:
    """The value of ``authors`` for these creators; those who stay as they are, stay as written."""
    notes = CardReader(card)
    items = _items(card.values.get(_KEY))
    said = {one.place: one for one in creators_of(notes)}
    return [_author(notes, items, said, creator) for creator in creators]


def _author(
    notes: CardReader, items: list[Any], said: dict[int | None, Creator], creator: Creator
) -> Any:
    by_name = (place for place, one in said.items() if one.name == creator.name)
    place = creator.place if creator.place in said else next(by_name, None)
    if place is None:
        return _written({}, creator)
    old = items[place]
    if replace(creator, place=place) == said[place]:
        return old
    if isinstance(old, dict):
        return _written(old, creator)
    agent = agent_of(CardValue(notes, (_KEY, place), old))
    return _written({"email": agent.email} if agent and agent.email else {}, creator)


def _written(old: dict[str, Any], creator: Creator) -> dict[str, Any]:
    """The mapping of an author who was ``old``."""
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
    """The institution of ``creator``, where ``old`` holds the one before, if there was one."""
    before = old[0] if old and isinstance(old[0], dict) else {}
    entry = {"name": creator.affiliation} | before | {"name": creator.affiliation}
    _put(entry, "ror", creator.ror)
    return entry if before or creator.ror else creator.affiliation


def _put(entry: dict[str, Any], key: str, value: Any) -> None:
    """Write a value, a list of one as that one; take the key away where there is nothing."""
    if value:
        entry[key] = value[0] if isinstance(value, list) and len(value) == 1 else value
    else:
        entry.pop(key, None)


def _creator(notes: CardReader, item: Any, place: int) -> Creator | None:
    if item in (None, ""):
        return None
    if not isinstance(item, dict):
        agent = agent_of(CardValue(notes, (_KEY, place), item))
        if agent is None:
            return None
        return Creator(name=agent.name, orcid=agent.orcid or "", ror=agent.ror or "", place=place)
    institutions = _items(item.get(_affiliation_key(item)))
    affiliation, ror = "", _text(item.get("ror"))
    if institutions:
        affiliation, ror = _told(notes, institutions[0])
    return Creator(
        name=_text(item.get("name")),
        orcid=_text(item.get("orcid")),
        affiliation=affiliation,
        ror=ror,
        place=place,
    )


def _told(notes: CardReader, institution: Any) -> tuple[str, str]:
    """Name and ROR id of an institution, of a mapping as written there."""
    if isinstance(institution, dict):
        return _text(institution.get("name")), _text(institution.get("ror"))
    found = organization_of(CardValue(notes, (_KEY,), institution))
    return (found.name, found.ror or "") if found else ("", "")


def _affiliation_key(entry: dict[str, Any]) -> str:
    plural = "affiliations" in entry and "affiliation" not in entry
    return "affiliations" if plural else "affiliation"


def _items(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    return [] if value in (None, "") else [value]


def _text(value: Any) -> str:
    return "" if value is None or isinstance(value, bool | dict | list) else str(value).strip()
