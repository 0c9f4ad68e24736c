"""Parameters of searches."""

import re
from collections.abc import Callable
from typing import Any

from registry.errors import Invalid

_WORD_RE = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")
_UUID_RE = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def check_search(parameters: dict[str, Any], *, longest_s: float) -> dict[str, Any]:
    """``parameters`` of a search or an analysis, if valid; ``longest_s`` bounds the budget.

    ``longest_s`` is in seconds. Raises ``Invalid``: ``invalid_request``, with the parameters in
    its fields.
    """
    rules: dict[str, tuple[Callable[[Any], bool], str]] = {
        "budget_s": (
            lambda value: _number(value) and 0 < value <= longest_s,
            f"must be a number of seconds above 0, at most {longest_s:g}",
        ),
        "trials": (lambda value: _whole(value, low=1), "must be a whole number above 0"),
        "seed": (lambda value: _whole(value, low=0), "must be a whole number, not below 0"),
        "strategy": (_word, "must be the name of a strategy"),
        "backends": (_words, "must be a list of names of backends"),
        "principles": (lambda value: type(value) is bool, "must be true or false"),
        "workload": (_uuid, "must be the id of an operator workload"),
        "repeats": (_uuid, "must be the id of the search whose measurements are repeated"),
    }
    fields = {}
    for name, value in parameters.items():
        if name not in rules:
            fields[name[:64]] = f"is not supported; supported are {', '.join(sorted(rules))}"
        elif not rules[name][0](value):
            fields[name] = rules[name][1]
    if fields:
        raise Invalid(
            "invalid_request",
            "The parameters of the search are invalid.",
            "; ".join(f"{name} {fault}" for name, fault in fields.items()) + ".",
            fields=fields,
        )
    return parameters


# Exact types, because bool is a subclass of int.
def _number(value: object) -> bool:
    return type(value) in {int, float}


def _whole(value: Any, *, low: int) -> bool:
    return type(value) is int and low <= value < 2**31


def _word(value: object) -> bool:
    return isinstance(value, str) and _WORD_RE.fullmatch(value) is not None


def _uuid(value: object) -> bool:
    return isinstance(value, str) and _UUID_RE.fullmatch(value) is not None


def _words(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(_word(item) for item in value)
