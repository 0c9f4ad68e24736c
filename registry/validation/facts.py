"""Checks facts that devices report of their machines: their form, and whether they are possible."""

import json
import re
from typing import Any

from hpcfair.machine import EMULATED, FEATURES
from registry.errors import Invalid
from registry.validation.texts import check_json, unseen

_LARGEST = 64 * 1024
_WORD_RE = re.compile(r"[a-z0-9][a-z0-9_.-]{0,39}")
_MOST_FEATURES = 200
_MOST_TOOLS = 100
_MOST_CORES = 65_536
_MEMORY = (2**20, 2**60)
#: Features of the two kinds of processors that the hub knows.
_ARM = frozenset(
    name for name in FEATURES if name.startswith(("asimd", "sve", "sme", "i8mm", "bf16"))
)
_OF_ARCHITECTURE = {"x86-64": FEATURES - _ARM, "arm64": _ARM}
#: Features that every processor with a given feature has as well.
_IMPLIED = {
    "avx2": ("avx",),
    "avx512bw": ("avx512f",),
    "avx512dq": ("avx512f",),
    "avx512f": ("avx2", "fma"),
    "avx512vl": ("avx512f",),
    "avx512_vnni": ("avx512f",),
    "avx512_bf16": ("avx512f",),
    "avx512_fp16": ("avx512f",),
    "amx_bf16": ("amx_tile",),
    "amx_int8": ("amx_tile",),
    "sve2": ("sve",),
}


def check_facts(facts: dict[str, Any]) -> dict[str, Any]:
    """``facts`` if a machine can have them. Unknown facts are not checked.

    Raises ``Invalid``: ``invalid_facts``, with the facts in its fields; ``invalid_request`` if they
    are not storable JSON.
    """
    if len(json.dumps(check_json(facts))) > _LARGEST:
        raise _invalid({"facts": f"are longer than {_LARGEST} bytes"})
    faults = _form(facts)
    # Malformed facts cannot be compared with each other.
    if faults := faults or _contradictions(facts):
        raise _invalid(faults)
    return facts


def check_tools(tools: dict[str, Any]) -> dict[str, dict[str, str]]:
    """``tools`` if they map backends to names and versions of programs.

    Raises ``Invalid``: ``invalid_facts``.
    """
    is_fine = len(tools) <= _MOST_TOOLS and all(
        is_word(backend)
        and isinstance(versions, dict)
        and len(versions) <= _MOST_TOOLS
        and all(map(is_line, (*versions, *versions.values())))
        for backend, versions in tools.items()
    )
    if not is_fine:
        raise _invalid({"tools": "must map backends to names and versions of programs"})
    return tools


def _invalid(faults: dict[str, str]) -> Invalid:
    return Invalid(
        "invalid_facts",
        "These facts of a machine are impossible.",
        "; ".join(f"{name} {fault}" for name, fault in faults.items()) + ".",
        fields=faults,
    )


def _form(facts: dict[str, Any]) -> dict[str, str]:
    faults = {}
    if not is_word(facts.get("architecture")):
        faults["architecture"] = "must be a name such as x86-64"
    features = facts.get("features")
    if not isinstance(features, list) or len(features) > _MOST_FEATURES:
        faults["features"] = f"must be a list of at most {_MOST_FEATURES} names"
    elif not all(map(is_word, features)) or len(set(features)) < len(features):
        faults["features"] = "must be different names"
    for name in ("cores", "logical_cpus"):
        if not _is_whole(facts.get(name, 1), 1, _MOST_CORES):
            faults[name] = f"must be a whole number from 1 to {_MOST_CORES}"
    if not _is_whole(facts.get("memory_bytes", _MEMORY[0]), *_MEMORY):
        faults["memory_bytes"] = "must be a number of bytes"
    for name in ("processor", "os", "kernel"):
        if not is_line(facts.get(name, "")):
            faults[name] = "must be a line of at most 200 characters"
    if not isinstance(facts.get("is_emulated", False), bool):
        faults["is_emulated"] = "must be true or false"
    return faults


def _contradictions(facts: dict[str, Any]) -> dict[str, str]:
    faults = {}
    features = set(facts["features"])
    own = _OF_ARCHITECTURE.get(facts["architecture"])
    foreign = sorted(features & FEATURES - own) if own is not None else []
    missing = sorted(
        other for name in features for other in _IMPLIED.get(name, ()) if other not in features
    )
    if foreign:
        faults["features"] = f"{', '.join(foreign)}: not of {facts['architecture']}"
    elif missing:
        faults["features"] = f"are incomplete: {', '.join(missing)} is missing"
    elif (EMULATED in features) != facts.get("is_emulated", False):
        faults["features"] = "and is_emulated contradict each other"
    if facts.get("cores", 1) > facts.get("logical_cpus", _MOST_CORES):
        faults["cores"] = "must not be more than logical_cpus"
    return faults


def is_word(value: object) -> bool:
    """Whether a value is a name of a feature, an architecture or a backend."""
    return isinstance(value, str) and _WORD_RE.fullmatch(value) is not None


def is_line(value: object) -> bool:
    """Whether a value is a text of at most 200 characters on one line."""
    return isinstance(value, str) and len(value) <= 200 and not unseen(value)


# Exact types, because bool is a subclass of int.
def _is_whole(value: Any, low: int, high: int) -> bool:
    return type(value) is int and low <= value <= high
