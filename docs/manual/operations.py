"""Reference of the reads and writes of devices, from the JSON Schemas of the operations."""

from collections.abc import Iterator, Mapping
from typing import Any

from manual.types import field_table
from registry.schemas.operations import READS, WRITES


def device_page() -> str:
    """Reads with their parameters, writes with their columns, and the objects in them."""
    return "\n".join([*_section("Reads", READS), *_section("Writes", WRITES)])


def _section(title: str, schemas: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"## {title}", "")
    for name, schema in schemas.items():
        yield from (f"### {title[:-1].lower()} {name}", "")
        if not schema["properties"]:
            yield from ("It has no fields.", "")
            continue
        yield from (field_table(schema, str, {}), "")
        for column, inner in _objects(schema):
            yield from (f"Fields of `{column}`:", "", field_table(inner, str, {}), "")


def _objects(schema: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The columns that are objects with fields, or lists of such."""
    for column, field in schema["properties"].items():
        inner = field.get("items", field)
        if inner.get("properties"):
            yield column, inner
