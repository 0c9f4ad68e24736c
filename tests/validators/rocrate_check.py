"""Run in the environment ``rocrate``: judge crates with the official validator, without network.

Arguments are paths of crates: folders, or detached metadata documents. The last line is one JSON
object: path to what the validator found, required and recommended.
"""

import json
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import requests
import rocrate
from rdflib.plugins.sparql.algebra import translateQuery
from rdflib.plugins.sparql.evaluate import evalQuery
from rdflib.plugins.sparql.parser import parseQuery
from rdflib.plugins.sparql.processor import SPARQLProcessor
from rdflib.plugins.sparql.sparql import Query
from rdflib.term import Identifier
from rocrate_validator import services
from rocrate_validator.models import (
    Severity,
    ValidationSettings,
)

_CONTEXT = "https://w3id.org/ro/crate/1.3/context"


def main() -> None:
    """Validate each crate that is named on the command line."""
    with (
        patch.object(requests.adapters.HTTPAdapter, "send", _send),
        patch.object(SPARQLProcessor, "query", _query),
    ):
        found = {path: _issues(path) for path in sys.argv[1:]}
    sys.stdout.write(f"\n{json.dumps(found)}\n")


@cache
def _prepared(text: str, base: str | None, names: tuple[tuple[str, str], ...]) -> Query:
    return translateQuery(parseQuery(text), base, dict(names))


def _query(
    self: SPARQLProcessor,
    text: str | Query,
    bindings: Mapping[str, Identifier] | None = None,
    names: Mapping[str, str] | None = None,
    base: str | None = None,
) -> Mapping[str, Any]:
    # Shapes ask the same of every thing in every crate: most of the time went into reading it.
    query = _prepared(text, base, tuple((names or {}).items())) if isinstance(text, str) else text
    return evalQuery(self.graph, query, bindings or {}, base)


def _issues(path: str) -> list[str]:
    result = services.validate(
        ValidationSettings(
            rocrate_uri=path,
            profile_identifier="ro-crate-1.3",
            requirement_severity=Severity.RECOMMENDED,
            # What the addresses of an invented record lead to cannot be looked up.
            skip_availability_check=True,
            no_cache=True,
        )
    )
    return sorted(
        f"{issue.check.identifier}: {issue.message} {issue.violatingEntity}"
        for issue in result.get_issues(Severity.RECOMMENDED)
    )


def _send(_: object, request: requests.PreparedRequest, **__: object) -> requests.Response:
    if request.url != _CONTEXT:
        raise requests.ConnectionError(f"no network here: {request.url}")
    response = requests.Response()
    response.status_code = 200
    response.url = _CONTEXT
    response.request = request
    response.headers["Content-Type"] = "application/ld+json"
    response._content = (Path(rocrate.__file__).parent / "data/ro-crate.jsonld").read_bytes()
    return response


if __name__ == "__main__":
    main()
