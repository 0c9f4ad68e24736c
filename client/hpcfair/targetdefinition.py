"""Reads definitions of targets from the hub, which may have others than this client."""

from collections.abc import Sequence

from hpcfair.errors import BadInput
from hpcfair.machine import TargetDefinition
from hpcfair.transport import Transport, quoted


def target_definition(http: Transport, slug: str) -> TargetDefinition:
    """The target of that slug. Raises NotFound: the hub has none."""
    target = http.get(f"/api/v1/targets/{quoted(slug)}")
    features = tuple(target["features"])
    return TargetDefinition(
        slug, target.get("title") or slug, target["architecture"], target["rank"], features
    )


def target_list(targets: Sequence[str]) -> tuple[str, ...]:
    """``targets``. Raises BadInput for a single text, of which each letter would be a target."""
    if isinstance(targets, str):
        raise BadInput(f"targets is {targets!r}, not a list.", f"Write targets=[{targets!r}].")
    return tuple(targets)
