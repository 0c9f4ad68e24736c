"""Search spaces as JSON."""

from collections.abc import Mapping
from typing import Any

from workers.engine.space import Choice, Conditional, Flag, IntRange, Parameter, Plain, Space


def space_to_dict(space: Space) -> dict[str, Any]:
    """As JSON; :func:`space_from_dict` reads it."""
    document: dict[str, Any] = {
        "parameters": [_parameter_to_dict(name, p) for name, p in space.parameters.items()]
    }
    return document | ({"promising": list(space.promising)} if space.promising else {})


def space_from_dict(document: Mapping[str, Any]) -> Space:
    """Read JSON of :func:`space_to_dict`. Raises ValueError if a kind of parameter is unknown or
    the space is inconsistent."""
    parameters = {entry["name"]: _parameter_from_dict(entry) for entry in document["parameters"]}
    return Space(parameters, tuple(document.get("promising", ())))


def _parameter_to_dict(name: str, parameter: Parameter) -> dict[str, Any]:
    match parameter:
        case Choice(values):
            return {"name": name, "kind": "choice", "values": list(values)}
        case IntRange(low, high, step, log):
            return {
                "name": name, "kind": "int", "low": low, "high": high, "step": step, "log": log
            }  # fmt: skip
        case Flag():
            return {"name": name, "kind": "flag"}
        case Conditional(parent, values, inner):
            return {
                **_parameter_to_dict(name, inner),
                "when": {"parent": parent, "values": list(values)},
            }


def _parameter_from_dict(entry: Mapping[str, Any]) -> Parameter:
    inner: Plain
    match entry["kind"]:
        case "choice":
            inner = Choice(tuple(entry["values"]))
        case "int":
            inner = IntRange(entry["low"], entry["high"], entry["step"], entry["log"])
        case "flag":
            inner = Flag()
        case kind:
            raise ValueError(f"unknown kind of parameter: {kind!r}")
    when = entry.get("when")
    return Conditional(when["parent"], tuple(when["values"]), inner) if when else inner
