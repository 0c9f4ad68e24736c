"""Artefacts that several candidates share, because they differ only in how they are opened.

Quantising a network takes a hundred times as long as opening it with another number of threads.
"""

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from workers.engine.types import BuildResult, Options, sha256_of


class ArtefactCache:
    """Builds made so far, by what shaped their files.

    Args:
        opening: Backend to those of its options that shape no file; see
            :attr:`workers.engine.ports.Backend.opening`.
    """

    def __init__(self, opening: Mapping[str, frozenset[str]]) -> None:
        self._opening = opening
        self._made: dict[str, list[tuple[Options, BuildResult]]] = {}

    def put(self, backend: str, options: Options, build: BuildResult) -> None:
        """Remember a build; it is of use while its files exist."""
        self._made.setdefault(self._key(backend, options), []).append((options, build))

    def take(self, backend: str, options: Options, artefact: Path) -> BuildResult | None:
        """A build for ``options`` in the new folder ``artefact``, if there is one to copy."""
        there = [
            found for found in self._made.get(self._key(backend, options), ()) if _lasts(found[1])
        ]
        if not there:
            return None
        like, made = there[0]
        shutil.copytree(str(made.directory), artefact)
        opening = self._opening[backend]
        said = opening & (like.keys() | options.keys())
        kept = {name: value for name, value in made.runtime_options.items() if name not in said}
        changed = {name: value for name, value in options.items() if name in opening}
        copy = replace(made, directory=artefact, runtime_options=kept | changed)
        # What it was copied from may be gone before it is.
        self.put(backend, options, copy)
        return copy

    def _key(self, backend: str, options: Options) -> str:
        opening = self._opening[backend]
        return sha256_of([backend, {n: v for n, v in options.items() if n not in opening}])


def _lasts(build: BuildResult) -> bool:
    return build.directory is not None and build.directory.exists()
