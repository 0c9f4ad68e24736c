"""Reads definitions of targets from the hub, which may have others than this client."""

from hpcfair.machine import TargetDefinition
from hpcfair.transport import Transport, quoted


def target_definition(http: Transport, slug: str) -> TargetDefinition:
    """The target of that slug. Raises NotFound: the hub has none."""
    target = http.get(f"/api/v1/targets/{quoted(slug)}")
    features = tuple(target["features"])
    return TargetDefinition(
        slug, target.get("title") or slug, target["architecture"], target["rank"], features
    )
