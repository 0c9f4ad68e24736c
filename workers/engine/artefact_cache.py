"""Artefacts shared by candidates that differ only in how they are opened.

Quantising a network takes a hundred times as long as opening it with another number of threads.
"""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from workers.engine.types import BuildResult, Options, sha256_of


@dataclass(frozen=True, slots=True)
class _Entry:
    options: Options
    build: BuildResult

    @property
    def exists(self) -> bool:
        return self.build.directory is not None and self.build.directory.exists()


class ArtefactCache:
    """Builds of one device, by backend and the options that shape their files.

    ``opening`` maps each backend to its options that shape no file
    (:attr:`workers.engine.ports.Backend.opening`).
    """

    def __init__(self, opening: Mapping[str, frozenset[str]]) -> None:
        self._opening = opening
        self._entries: dict[str, list[_Entry]] = {}

    def put(self, backend: str, options: Options, source: Path, build: BuildResult) -> None:
        """Add a build that was made from the file ``source``. It is ignored once its files are
        deleted."""
        key = self._key(backend, options, source)
        self._entries.setdefault(key, []).append(_Entry(options, build))

    def copy(
        self, backend: str, options: Options, source: Path, artefact: Path
    ) -> BuildResult | None:
        """A build for ``options`` from ``source``, copied to the new folder ``artefact``; ``None``
        on a miss."""
        entries = self._entries.get(self._key(backend, options, source), ())
        entry = next((each for each in entries if each.exists), None)
        if entry is None:
            return None
        shutil.copytree(str(entry.build.directory), artefact)
        opening = self._opening[backend]
        replaced = opening & (entry.options.keys() | options.keys())
        original = entry.build.runtime_options
        unchanged = {name: value for name, value in original.items() if name not in replaced}
        changed = {name: value for name, value in options.items() if name in opening}
        copied = replace(entry.build, directory=artefact, runtime_options=unchanged | changed)
        # The original may be deleted before the copy.
        self.put(backend, options, source, copied)
        return copied

    def _key(self, backend: str, options: Options, source: Path) -> str:
        opening = self._opening[backend]
        shaping = {name: value for name, value in options.items() if name not in opening}
        return sha256_of([backend, shaping, str(source)])
