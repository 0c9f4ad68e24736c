"""Trial stores that need no hub: in memory, and in a file of JSON lines."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hpcfair.measurement.types import Block, Deviation, Interval
from workers.engine.trials import Experience, Measurement, Prior, Trial
from workers.engine.types import BuildResult, Candidate


class MemoryTrialStore:
    """Trials of one search in memory; a :class:`~workers.engine.ports.TrialStore`."""

    def __init__(
        self, history: Sequence[Prior] = (), experience: Sequence[Experience] = ()
    ) -> None:
        self._trials: list[Trial] = []
        self._history = tuple(sorted(history, key=lambda prior: prior.ratio))
        self._experience = tuple(experience)

    def trials(self) -> Sequence[Trial]:
        return tuple(self._trials)

    def history(self) -> Sequence[Prior]:
        return self._history

    def experience(self) -> Sequence[Experience]:
        return self._experience

    def begin(self, candidate: Candidate) -> None:
        """Do nothing: a store in memory does not outlive the machine."""

    def add(self, trial: Trial) -> None:
        self._trials.append(trial)


class JsonLinesTrialStore(MemoryTrialStore):
    """One trial per line, appended and synced before :meth:`add` returns. A last line that a crash
    cut off was never acknowledged and is dropped. Only one process may write a file at a time."""

    def __init__(
        self, path: Path, history: Sequence[Prior] = (), experience: Sequence[Experience] = ()
    ) -> None:
        super().__init__(history, experience)
        self._path = path
        if not path.exists():
            return
        content = path.read_bytes()
        complete = content[: content.rfind(b"\n") + 1]
        if complete != content:
            os.truncate(path, len(complete))
        for line in complete.splitlines():
            super().add(trial_from_dict(json.loads(line)))

    def add(self, trial: Trial) -> None:
        line = json.dumps(trial_to_dict(trial), separators=(",", ":"), allow_nan=False)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
            file.flush()
            os.fsync(file.fileno())
        super().add(trial)


def trial_to_dict(trial: Trial) -> dict[str, Any]:
    """As JSON, without the build's folder, which is deleted with the search."""
    document = asdict(trial)
    if document["build"] is not None:
        del document["build"]["directory"]
    return document


def trial_from_dict(document: Mapping[str, Any]) -> Trial:
    """Read JSON of :func:`trial_to_dict`; raises TypeError or KeyError for any other."""
    build, deviation, measurement = (
        document[name] for name in ("build", "deviation", "measurement")
    )
    fields = {
        "candidate": Candidate(**document["candidate"]),
        "build": BuildResult(**build) if build else None,
        "deviation": Deviation(**deviation) if deviation else None,
        "measurement": measurement_from(measurement) if measurement else None,
    }
    return Trial(**{**document, **fields})


def measurement_from(document: Mapping[str, Any]) -> Measurement:
    """A measurement from the JSON of its :func:`dataclasses.asdict`."""
    blocks = tuple(
        Block(b["process"], tuple(b["baseline_ns"]), tuple(b["candidate_ns"]))
        for b in document["blocks"]
    )
    return Measurement(**{**document, "blocks": blocks, "ratio": Interval(**document["ratio"])})
