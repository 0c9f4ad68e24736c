"""What is to be mended in a model's card."""

from hpcfair.mlmodel import address
from hpcfair.transport import Transport
from hpcfair.types import Finding


def findings(http: Transport, name: str, revision: str | None = None) -> tuple[Finding, ...]:
    """What is wrong in a revision's README.md, by line.

    Raises:
        ModelNotFound, RevisionNotFound: as the classes say.
    """
    found = http.get(f"{address(name)}/findings", params={"revision": revision})
    return tuple(Finding.from_json(item) for item in found["items"])
