"""Principles: what fast schedules of an operator share, with the evidence."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hpcfair.transport import Transport, pages, quoted


@dataclass(frozen=True, slots=True)
class Principle:
    """What fast schedules of an operator share.

    Attributes:
        identifier: SHA-256 of the statement and the method.
        words: The statement.
        anchor: The operator, without shapes.
        status: ``published``, ``weakened``, ``withdrawn`` or ``examined``.
        published_at: Time of the first publication, ISO 8601; ``None`` before.
    """

    identifier: str
    words: str
    anchor: str
    status: str
    published_at: str | None = None

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Principle":
        """The principle of an answer of the hub."""
        return cls(
            str(data["identifier"]),
            str(data["words"]),
            str(data["anchor"]),
            str(data["status"]),
            data.get("published_at"),
        )


def principles(
    http: Transport, *, status: str | None = None, anchor: str | None = None
) -> Iterator[Principle]:
    """Principles by operator and words."""
    filters = {"status": status, "anchor": anchor}
    return map(Principle.from_json, pages(http, "/api/v1/principles", filters))


def principle(http: Transport, identifier: str, *, version: int | None = None) -> dict[str, Any]:
    """A principle with the query and the evidence of a version, by default the newest.

    Raises ``NotFound``: ``principle_not_found``.
    """
    document: dict[str, Any] = http.get(
        f"/api/v1/principles/{quoted(identifier)}", {"version": version}
    )
    return document
