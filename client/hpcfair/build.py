"""Lists the builds of a model; ``load`` chooses one."""

from hpcfair.mlmodel import address
from hpcfair.transport import Transport
from hpcfair.types import Build


def builds(
    http: Transport, name: str, *, revision: str | None = None, target: str | None = None
) -> list[Build]:
    """Published builds of a revision, by target, fastest first."""
    answer = http.get(f"{address(name)}/builds", {"revision": revision, "target": target})
    return [Build.from_json(item) for item in answer["items"]]
