"""Builds of a model, for people who want to see all of them; ``load`` picks one."""

from dataclasses import replace

from hpcfair.mlmodel import address
from hpcfair.transport import Transport, quoted
from hpcfair.types import Build


def builds(
    http: Transport, name: str, *, revision: str | None = None, target: str | None = None
) -> list[Build]:
    """Published builds of a revision, best first per target."""
    answer = http.get(f"{address(name)}/builds", {"revision": revision, "target": target})
    return [_with_addresses(Build.from_json(item)) for item in answer["items"]]


def _with_addresses(found: Build) -> Build:
    files = (
        replace(file, url=f"/api/v1/builds/{quoted(found.uuid)}/files/{quoted(file.path)}")
        for file in found.files
    )
    return replace(found, files=tuple(files))
