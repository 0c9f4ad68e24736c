"""Frozen tables: all configurations of some networks, measured once, to replay searches on."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from hpcfair.measurement.types import Interval
from hpcfair.precisions import TOLERANCES, Tolerance
from workers.engine.space import Space
from workers.engine.space_json import space_from_dict, space_to_dict
from workers.engine.trials import Experience, Measurement, Trial
from workers.engine.types import BuildResult, Candidate, Outcome, sha256_of

SCHEMA = "hpcfair.search-table/1"
FOLDER = Path(__file__).parent / "tables"

#: Configurations within this factor of the best count as good.
GOOD = 1.05


@dataclass(frozen=True, slots=True)
class Row:
    """The result of a configuration.

    Attributes:
        ratio: ``None`` if it failed; the confirmed ratio if it was among the best.
        seconds: Duration of the trial.
    """

    candidate: Candidate
    outcome: Outcome
    tolerance: Tolerance
    ratio: float | None
    seconds: float


@dataclass(frozen=True)
class Table:
    """All configurations of a network on a target.

    Attributes:
        model: Name of the example.
        family: Architecture family, which is left out as a whole.
        defaults: The default of each backend; the baseline's first.
        facts: Conditions of the measurement.
    """

    model: str
    family: str
    architecture_class: str
    embedding: tuple[float, ...]
    target: str
    features: tuple[str, ...]
    spaces: dict[str, Space]
    defaults: tuple[Candidate, ...]
    rows: tuple[Row, ...]
    facts: dict[str, Any]

    @cached_property
    def by_sha256(self) -> dict[str, Row]:
        return {row.candidate.sha256: row for row in self.rows}

    def accepted(self, tolerance: Tolerance) -> list[Row]:
        """The successful rows of a tolerance class and all stricter ones."""
        classes = TOLERANCES[: TOLERANCES.index(tolerance) + 1]
        return [r for r in self.rows if r.ratio is not None and r.tolerance in classes]

    def best(self, tolerance: Tolerance) -> float:
        """The lowest ratio for a user who accepts this class."""
        return min(r.ratio for r in self.accepted(tolerance) if r.ratio is not None)

    def good(self, tolerance: Tolerance) -> set[str]:
        """Configurations within :data:`GOOD` of the best."""
        limit = GOOD * self.best(tolerance)
        return {
            r.candidate.sha256
            for r in self.accepted(tolerance)
            if r.ratio is not None and r.ratio <= limit
        }

    def trial(self, number: int, candidate: Candidate, proposed_by: str) -> Trial:
        """The trial of a candidate in a replayed search."""
        row = self.by_sha256[candidate.sha256]
        measurement = None
        if row.ratio is not None:
            ratio = Interval(row.ratio, row.ratio, row.ratio)
            measurement = Measurement((), ratio, round(row.ratio * 1e6), 1_000_000, "same")
        built = "measured" if row.ratio is not None else row.outcome
        return Trial(
            number=number,
            candidate=candidate,
            proposed_by=proposed_by,
            outcome=row.outcome,
            duration_s=row.seconds,
            build=BuildResult(built, tolerance=row.tolerance),
            measurement=measurement,
        )

    def experience(self, candidates: Sequence[Candidate]) -> list[Experience]:
        """Trials as experience for a search of another network."""
        rows = [self.by_sha256[candidate.sha256] for candidate in candidates]
        return [
            Experience(
                candidate=row.candidate,
                outcome=row.outcome,
                tolerance=row.tolerance,
                ratio=row.ratio,
                network=self.model,
                architecture_class=self.architecture_class,
                embedding=self.embedding,
                target=self.target,
                features=frozenset(self.features),
                seconds=row.seconds,
            )
            for row in rows
        ]

    def as_dict(self) -> dict[str, Any]:
        """As JSON. A row is ``[backend, index in space, outcome, tolerance, ratio, seconds]``."""
        index = {
            Candidate(name, options).sha256: at
            for name, space in self.spaces.items()
            for at, options in enumerate(space.enumerate())
        }
        document = {
            "schema": SCHEMA,
            "model": self.model,
            "family": self.family,
            "architecture_class": self.architecture_class,
            "embedding": list(self.embedding),
            "target": self.target,
            "features": list(self.features),
            "spaces": {name: space_to_dict(space) for name, space in self.spaces.items()},
            "defaults": [candidate.as_dict() for candidate in self.defaults],
            "rows": [
                [
                    row.candidate.backend,
                    index[row.candidate.sha256],
                    row.outcome,
                    row.tolerance,
                    None if row.ratio is None else round(row.ratio, 4),
                    round(row.seconds, 2),
                ]
                for row in self.rows
            ],
            "facts": self.facts,
        }
        return document | {"sha256": sha256_of(document)}


def table_from_dict(document: dict[str, Any]) -> Table:
    """Read what :meth:`Table.as_dict` wrote. Raises ValueError if the document is of another kind,
    or was changed."""
    body = {name: value for name, value in document.items() if name != "sha256"}
    if document.get("schema") != SCHEMA or document.get("sha256") != sha256_of(body):
        raise ValueError(f"not a table, or changed since it was frozen: {document.get('model')}")
    spaces = {name: space_from_dict(space) for name, space in document["spaces"].items()}
    return Table(
        model=document["model"],
        family=document["family"],
        architecture_class=document["architecture_class"],
        embedding=tuple(document["embedding"]),
        target=document["target"],
        features=tuple(document["features"]),
        spaces=spaces,
        defaults=tuple(Candidate(d["backend"], d["options"]) for d in document["defaults"]),
        rows=tuple(
            Row(Candidate(backend, spaces[backend].at(at)), outcome, tolerance, ratio, seconds)
            for backend, at, outcome, tolerance, ratio, seconds in document["rows"]
        ),
        facts=document["facts"],
    )


def write(table: Table, folder: Path = FOLDER) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{table.model}.json"
    path.write_text(json.dumps(table.as_dict(), separators=(",", ":"), allow_nan=False) + "\n")
    return path


def read_all(folder: Path = FOLDER) -> list[Table]:
    """The tables of a folder, by name."""
    return [table_from_dict(json.loads(path.read_text())) for path in sorted(folder.glob("*.json"))]
