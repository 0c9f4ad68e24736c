"""Programs with their versions, and options, as records name them."""

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

from registry.fair.parts import Software

Option: TypeAlias = str | float | bool
#: Names in toolchains that are no packages of PyPI.
_NO_PACKAGES = frozenset({"python", "nvidia-driver"})


def tools_of(versions: Mapping[str, Any]) -> tuple[Software, ...]:
    """Programs with their versions, as packages of PyPI where they are such."""
    return tuple(
        Software(
            name=name,
            version=str(version),
            purl=None if name in _NO_PACKAGES else f"pkg:pypi/{name.lower()}@{version}",
        )
        for name, version in sorted(versions.items())
    )


def options_of(values: Mapping[str, Any]) -> dict[str, Option]:
    """Options as plain values, or their JSON text where they are none; absent ones are left out."""
    return {
        str(name): value
        if isinstance(value, str | int | float | bool)
        else json.dumps(value, sort_keys=True)
        for name, value in values.items()
        if value is not None
    }


def mapping(value: Any) -> Mapping[str, Any]:
    """``value`` if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}
