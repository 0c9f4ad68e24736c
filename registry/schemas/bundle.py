"""JSON Schemas (2020-12) of documents from devices without a network: a line of the journal in a
bundle's results, the manifest of results, and the description of a device.

Columns of writes are validated where they are performed (:mod:`registry.schemas.operations`).
"""

from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from registry.schemas.shapes import (
    NUMBER,
    OBJECT,
    SHA256,
    UUID,
    VERSIONS,
    Schema,
    choice,
    closed,
    mapping,
    text,
)

_CLAIM = {"job": UUID, "fence": NUMBER}
_FAILURE = closed({"class": text(16, 1), "code": text(64, 1), "detail": text(1_000_000)})
_END = closed(
    {"outcome": choice(["succeeded", "failed", "released"]), "signature": text(128, 1)},
    {"result": OBJECT, "failure": _FAILURE},
)
_LINE: Schema = {
    "oneOf": [
        closed({**_CLAIM, "begin": NUMBER}),
        closed({**_CLAIM, "candidate": {"anyOf": [SHA256, {"const": ""}]}}),
        closed({**_CLAIM, "keep": SHA256}),
        closed({**_CLAIM, "number": NUMBER, "name": text(64, 1), "columns": OBJECT}),
        closed({**_CLAIM, "end": _END}),
    ]
}


_RESULTS = closed(
    {
        "schema": text(100),
        "bundle": UUID,
        "journal": SHA256,
        "facts": OBJECT,
        "tools": mapping(VERSIONS, 100),
        "agent_version": text(40),
        "blobs": {"type": "array"},
    }
)
_IDENTITY = closed(
    {
        "schema": text(100),
        "name": text(200, 1),
        "public_key": text(1000, 1),
        "target": {"anyOf": [text(64, 1), {"type": "null"}]},
        "agent_version": text(40),
        "facts": OBJECT,
        "tools": mapping(VERSIONS, 100),
    }
)


def line_fault(line: Any) -> str:
    """The fault of a line of a journal; empty if it is valid."""
    return _fault(_line(), line)


def identity_fault(document: Any, schema: str) -> str:
    """The fault of the description of a device, whose field ``schema`` must be ``schema``; empty if
    it is valid."""
    return _fault_of(_identity(), document, schema)


def results_fault(document: Any, schema: str) -> str:
    """The fault of the manifest of results; see :func:`identity_fault`. The reader checks its list
    of files."""
    return _fault_of(_results(), document, schema)


def _fault_of(validator: Draft202012Validator, document: Any, schema: str) -> str:
    fault = _fault(validator, document)
    return fault or ("" if document["schema"] == schema else "its schema is unknown")


def _fault(validator: Draft202012Validator, document: Any) -> str:
    error = next(validator.iter_errors(document), None)
    return f"{error.json_path}: {error.message[:300]}" if error else ""


@cache
def _line() -> Draft202012Validator:
    return Draft202012Validator(_LINE)


@cache
def _identity() -> Draft202012Validator:
    return Draft202012Validator(_IDENTITY)


@cache
def _results() -> Draft202012Validator:
    return Draft202012Validator(_RESULTS)
