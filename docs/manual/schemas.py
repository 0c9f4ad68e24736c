"""Reference of the public documents, from their JSON Schemas."""

from collections.abc import Mapping
from typing import Any

from manual.markdown import escaped
from manual.types import field_table, type_text
from registry.schemas import bench_schema, fair_schema


def record_page() -> str:
    """The benchmark record: its fields, and each object in it."""
    return _page(bench_schema(), "record")


def assessment_page() -> str:
    """The FAIR assessment: its fields, and each object in it."""
    return _page(fair_schema(), "assessment")


def _page(schema: Mapping[str, Any], prefix: str) -> str:
    objects = {name: one for name, one in schema["$defs"].items() if "properties" in one}

    def link(name: str) -> str:
        if name in objects:
            return f"[{name}](#{prefix}-{name})"
        return type_text(schema["$defs"][name], link)

    parts = [escaped(schema["description"]), "", field_table(schema, link, schema["$defs"])]
    for name, one in objects.items():
        parts += [f"({prefix}-{name})=", f"## {name}", "", escaped(one.get("description", "")), ""]
        parts += [field_table(one, link, schema["$defs"])]
    return "\n".join(parts)
