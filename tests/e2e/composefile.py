"""docker-compose.yml as Docker Compose reads it: merged files, interpolated variables.

Implements what our files use of the Compose specification (https://compose-spec.io): merges of
mappings, ``!reset``, and ``${NAME}``, ``${NAME:-default}``, ``${NAME:?message}``, which may nest.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
_VARIABLE = re.compile(r"\$\{(\w+)(?:(:-|:\?)((?:[^{}]|\$\{\w+\})*))?\}")
#: What ``!reset`` leaves of a value of the file before.
_RESET = object()


class Unset(Exception):
    """A variable that must be set is not; the text is the file's message."""


class _Loader(yaml.SafeLoader):
    pass


_Loader.add_constructor("!reset", lambda _loader, _node: _RESET)


def compose(environment: Mapping[str, str], *files: str) -> dict[str, Any]:
    """The project that the files describe with these variables; the later file wins."""
    project: dict[str, Any] = {}
    for file in files or ("docker-compose.yml",):
        project = _merged(project, yaml.load((ROOT / file).read_text(), _Loader))  # noqa: S506
    result: dict[str, Any] = _interpolated(project, environment)
    for service in result["services"].values():
        service["environment"] = {
            # A name without a value is passed on where it is set.
            name: environment.get(name) if value is None else str(value)
            for name, value in service.get("environment", {}).items()
            if value is not None or name in environment
        }
    return result


def _merged(before: Any, after: Any) -> Any:
    if after is _RESET:
        return None
    if isinstance(before, dict) and isinstance(after, dict):
        merged = before | {key: _merged(before.get(key), value) for key, value in after.items()}
        return {key: value for key, value in merged.items() if after.get(key) is not _RESET}
    return after


def _interpolated(value: Any, environment: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _interpolated(one, environment) for key, one in value.items()}
    if isinstance(value, list):
        return [_interpolated(one, environment) for one in value]
    return _text(value, environment) if isinstance(value, str) else value


def _text(text: str, environment: Mapping[str, str]) -> str:
    def replaced(match: "re.Match[str]") -> str:
        name, rule, word = match.groups()
        if environment.get(name) or (rule is None and name in environment):
            return environment[name]
        if rule == ":?":
            raise Unset(word)
        return _text(word or "", environment)

    return _VARIABLE.sub(replaced, text)
