"""Registration of DOIs for versions."""

from hpcfair.job import Job
from hpcfair.mlmodel import address
from hpcfair.transport import Transport


def register(http: Transport, name: str, *, revision: str | None = None) -> Job:
    """Request a DOI; if the version has one already, request an update of its metadata."""
    return Job(http, http.post(f"{address(name)}/doi", {"revision": revision}))
