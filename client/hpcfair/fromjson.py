"""Data classes that are read from JSON answers of the hub."""

from collections.abc import Callable, Mapping
from dataclasses import field, fields
from typing import Any

from hpcfair.refusal import invalid_answer
from hpcfair.typingnames import Self


class FromJson:
    """Base of dataclasses that are read from JSON; fields that are missing keep their defaults."""

    __slots__ = ()

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read the fields of an object; unknown ones are ignored.

        Raises HubUnreachable if a field without default is missing.
        """
        values = {}
        try:
            for item in fields(cls):  # type: ignore[arg-type]  # every subclass is a dataclass
                name = item.metadata.get("from", item.name)
                if name in data:
                    values[item.name] = item.metadata.get("read", _same)(data[name])
            return cls(**values)
        except (KeyError, TypeError) as error:
            raise invalid_answer(f"no {cls.__name__}: {error}") from error


def _same(value: Any) -> Any:
    return value


def many(read: Callable[[Any], Any] = _same, *, source: str = "") -> Any:
    """A field for a tuple, of which ``read`` reads each item; from the JSON name ``source``."""
    metadata: dict[str, Any] = {"read": lambda items: tuple(read(item) for item in items or ())}
    return field(default=(), metadata={**metadata, **({"from": source} if source else {})})


def optional(read: Callable[[Any], Any]) -> dict[str, Any]:
    """Metadata of a field that ``read`` reads unless it is null."""
    return {"read": lambda value: None if value is None else read(value)}
