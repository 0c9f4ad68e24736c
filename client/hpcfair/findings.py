"""Findings in the card of a model."""

from hpcfair.mlmodel import address
from hpcfair.transport import Transport
from hpcfair.types import Finding


def findings(http: Transport, name: str, revision: str | None = None) -> tuple[Finding, ...]:
    """Findings in the README.md of a revision, with lines.

    Raises:
        ModelNotFound, RevisionNotFound: see the classes.
    """
    document = http.get(f"{address(name)}/findings", params={"revision": revision})
    return tuple(Finding.from_json(item) for item in document["items"])
