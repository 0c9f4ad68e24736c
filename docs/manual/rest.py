"""Reference of the REST API, from ``hub/api/openapi.yaml``."""

import functools
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from manual.markdown import escaped, table
from manual.types import field_table, type_text

_DOCUMENT = Path(__file__).resolve().parents[2] / "hub" / "api" / "openapi.yaml"
_JSON = "application/json"


@functools.cache
def _openapi() -> dict[str, Any]:
    document: dict[str, Any] = yaml.load(_DOCUMENT.read_text(), Loader=yaml.CSafeLoader)
    return document


def operation_page() -> str:
    """All operations, by topic."""
    topics = defaultdict(list)
    for address, methods in _openapi()["paths"].items():
        for method, operation in methods.items():
            topics[operation["tags"][0]].append((address, method, operation))
    parts = []
    for topic, operations in sorted(topics.items()):
        parts += [f"## {topic}", ""]
        for address, method, operation in operations:
            parts += _operation(address, method, operation)
    return "\n".join(parts)


def object_page() -> str:
    """All objects that requests and answers consist of."""
    parts = []
    schemas = _openapi()["components"]["schemas"]
    for name, schema in sorted(schemas.items()):
        parts += [f"(rest-{name.lower()})=", f"## {name}", "", escaped(_about(schema)), ""]
        fields = field_table(schema, _link, schemas)
        parts += [fields or f"{type_text(schema, _link)}\n"]
    return "\n".join(parts)


def _operation(address: str, method: str, operation: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"### `{method.upper()} {address}`", "")
    summary = operation.get("summary", "").rstrip(".")
    yield from (escaped(f"{summary}."), "", escaped(_about(operation)), "")
    yield table(("parameter", "in", "type", "meaning"), map(_parameter, _parameters(operation)))
    for media, content in operation.get("requestBody", {}).get("content", {}).items():
        yield f"**Body**: {_content(media, content)}\n"
    for status, answer in operation["responses"].items():
        for media, content in answer.get("content", {}).items():
            yield f"**{status}**: {_content(media, content)}\n"


def _parameters(operation: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    shown = operation.get("parameters", [])
    return sorted(shown, key=lambda one: (one["in"] != "path", not one.get("required")))


def _parameter(parameter: Mapping[str, Any]) -> tuple[str, ...]:
    schema = parameter.get("schema", {})
    kind = type_text(schema, _link)
    if "default" in schema:
        kind += f"; default `{schema['default']}`"
    return f"`{parameter['name']}`", parameter["in"], kind, parameter.get("description", "")


def _content(media: str, content: Mapping[str, Any]) -> str:
    kind = type_text(content.get("schema", {}), _link)
    return kind if media == _JSON else f"{kind}, as `{media}`"


def _link(name: str) -> str:
    return f"[{name}](#rest-{name.lower()})"


def _about(part: Mapping[str, Any]) -> str:
    return str(part.get("description", ""))
