"""DOIs for versions of a model."""

from hpcfair.job import Job
from hpcfair.mlmodel import address
from hpcfair.transport import Transport


def register(http: Transport, name: str, *, revision: str | None = None) -> Job:
    """Ask for a DOI; where the version has one, for its metadata to be brought up to date."""
    return Job(http, http.post(f"{address(name)}/doi", {"revision": revision}))
