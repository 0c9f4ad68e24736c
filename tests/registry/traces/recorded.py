"""Searches that ``record.py`` recorded, as trials are stored."""

import gzip
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from registry.traces import Sketch, WorkloadNames

FOLDER = Path(__file__).parent / "recorded"
NAMES = ("conv-search", "dense-search", "conv-random")


@dataclass(frozen=True)
class Recorded:
    """A recorded search: its workload, target, sketches, trials and best schedule."""

    task: dict[str, Any]
    target: dict[str, Any]
    sketches: list[Any]
    trials: list[dict[str, Any]]
    winner: dict[str, Any] | None

    @property
    def names(self) -> WorkloadNames:
        return WorkloadNames(self.task["blocks"])

    def read(self, names: WorkloadNames | None = None) -> dict[int, Sketch]:
        """The sketches by number, with the names of the workload by default."""
        chosen = self.names if names is None else names
        return {at: Sketch(sketch, chosen) for at, sketch in enumerate(self.sketches)}

    @property
    def rows(self) -> list[tuple[int, Any]]:
        """Number of the sketch and decisions of each trial."""
        return [(trial["sketch"], trial["decisions"]) for trial in self.trials]


@cache
def recorded(name: str) -> Recorded:
    """One of :data:`NAMES`."""
    return Recorded(**json.loads(gzip.decompress((FOLDER / f"{name}.json.gz").read_bytes())))
