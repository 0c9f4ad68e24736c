"""Types of JSON Schema 2020-12, as words and as tables of fields. OpenAPI 3.1 uses the same."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from manual.markdown import table

Schema = Mapping[str, Any]
#: Name of a referenced schema to a link to its description.
Link = Callable[[str], str]

_LIMITS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "more than {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "less than {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "pattern": "`{}`",
    "format": "{}",
}


def type_text(schema: Schema, link: Link) -> str:
    """The type of a value in words, with its limits."""
    if "$ref" in schema:
        return link(str(schema["$ref"]).rpartition("/")[2])
    for word, joint in (("oneOf", " or "), ("anyOf", " or "), ("allOf", " and ")):
        if word in schema:
            texts = (type_text(one, link) for one in schema[word])
            return joint.join(dict.fromkeys(text for text in texts if text))
    if "const" in schema:
        return _literal(schema["const"])
    if "enum" in schema:
        return ", ".join(map(_literal, schema["enum"]))
    limits = [text.format(schema[key]) for key, text in _LIMITS.items() if key in schema]
    return ", ".join([_kinds(schema, link), *limits])


def field_table(schema: Schema, link: Link, schemas: Mapping[str, Schema]) -> str:
    """The fields of an object: name, type, whether it is required, and meaning.

    ``schemas`` are those that fields may refer to, and whose meaning they then have.
    """
    required = set(schema.get("required", ()))
    return table(
        ("field", "type", "required", "meaning"),
        (
            (
                f"`{name}`",
                type_text(field, link),
                "yes" if name in required else "",
                _meaning(field, schemas),
            )
            for name, field in schema.get("properties", {}).items()
        ),
    )


def _meaning(field: Schema, schemas: Mapping[str, Schema]) -> str:
    referred = schemas.get(str(field.get("$ref", "")).rpartition("/")[2], {})
    return str(field.get("description") or referred.get("description", ""))


def _kinds(schema: Schema, link: Link) -> str:
    kinds = schema.get("type", "any value")
    names = [kinds] if isinstance(kinds, str) else list(kinds)
    return " or ".join(_kind(name, schema, link) for name in names)


def _kind(name: str, schema: Schema, link: Link) -> str:
    if name == "array" and schema.get("items"):
        return f"array of {type_text(schema['items'], link)}"
    more = schema.get("additionalProperties")
    if name == "object" and isinstance(more, Mapping) and more:
        return f"object of {type_text(more, link)}"
    return name


def _literal(value: Any) -> str:
    return f"`{json.dumps(value)}`"
