"""Public JSON schemas, validation and content-derived ids of documents. No ORM.

``hpcfair.bench-1.json`` in this folder is the JSON Schema (2020-12) of a benchmark record,
``hpcfair.fair-1.json`` that of an assessment, ``hpcfair.topology-1.json`` that of a network as a
graph, ``remote-run.json`` that of the report of a run with a person's inputs; ``examples/`` has
examples.
"""

import hashlib
import json
import math
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

_FOLDER = Path(__file__).parent


@cache
def bench_schema() -> dict[str, Any]:
    """The JSON Schema of a benchmark record. Shared: do not change the returned object."""
    schema: dict[str, Any] = json.loads((_FOLDER / "hpcfair.bench-1.json").read_bytes())
    return schema


@cache
def fair_schema() -> dict[str, Any]:
    """The JSON Schema of an assessment. Shared: do not change the returned object."""
    schema: dict[str, Any] = json.loads((_FOLDER / "hpcfair.fair-1.json").read_bytes())
    return schema


@cache
def topology_schema() -> dict[str, Any]:
    """The JSON Schema of a network as a graph. Shared: do not change the returned object."""
    schema: dict[str, Any] = json.loads((_FOLDER / "hpcfair.topology-1.json").read_bytes())
    return schema


@cache
def _bench() -> Draft202012Validator:
    return Draft202012Validator(bench_schema())


@cache
def _fair() -> Draft202012Validator:
    return Draft202012Validator(fair_schema())


def bench_problems(document: Any, *, limit: int = 20) -> dict[str, str]:
    """Problems of a benchmark record, at most ``limit``: JSON path (``$.identity.kind``) to a
    sentence."""
    return problems_by(_bench(), document, limit)


def fair_problems(document: Any, *, limit: int = 20) -> dict[str, str]:
    """Problems of an assessment; see :func:`bench_problems`."""
    return problems_by(_fair(), document, limit)


@cache
def _remote_run() -> Draft202012Validator:
    return Draft202012Validator(json.loads((_FOLDER / "remote-run.json").read_bytes()))


def remote_run_problems(report: Any, *, limit: int = 20) -> dict[str, str]:
    """Problems of the report of a remote run; see :func:`bench_problems`."""
    return problems_by(_remote_run(), report, limit)


def canonical_json(value: Any) -> bytes:
    """UTF-8 JSON with sorted keys and without spaces: equal values give equal bytes.

    Raises:
        ValueError: the value does not survive a round trip through databases: a non-finite
            number, a negative zero, a float of magnitude 1e16 or more (PostgreSQL's jsonb returns
            it as an integer), the character U+0000, or a lone surrogate.
    """
    for leaf in _leaves(value):
        if isinstance(leaf, float):
            if abs(leaf) >= 1e16 or (leaf == 0 and math.copysign(1, leaf) < 0):
                raise ValueError(f"number {leaf!r} has no canonical form")
        elif isinstance(leaf, str) and "\0" in leaf:
            raise ValueError("the character U+0000 has no canonical form")
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode()


def sha256_of(value: Any) -> str:
    """Hex SHA-256 of :func:`canonical_json`. Raises ValueError as it does."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


def record_id(document: dict[str, Any]) -> str:
    """The id of a benchmark record: SHA-256 of its canonical JSON without ``record_id``. Raises
    ValueError if the document has no canonical form."""
    return sha256_of({key: value for key, value in document.items() if key != "record_id"})


def artifact_sha256(files: dict[str, str]) -> str:
    """``identity.artifact_sha256`` of an artefact with these files (path to SHA-256)."""
    return sha256_of([{"path": path, "sha256": files[path]} for path in sorted(files)])


def problems_by(validator: Draft202012Validator, document: Any, limit: int) -> dict[str, str]:
    """Violations of a schema, at most ``limit``: JSON path to a sentence."""
    problems: dict[str, str] = {}
    for error in validator.iter_errors(document):
        problems.setdefault(error.json_path, error.message[:300])
        if len(problems) >= limit:
            break
    return problems


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _leaves(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item)
    else:
        yield value
