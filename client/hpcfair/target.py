"""Hardware targets of the hub."""

from hpcfair.transport import Transport, pages
from hpcfair.types import Target


def targets(http: Transport) -> list[Target]:
    """All targets of the hub."""
    return [Target.from_json(item) for item in pages(http, "/api/v1/targets")]
