"""The best schedules of a workload side by side, instruction by instruction."""

from collections.abc import Sequence
from dataclasses import dataclass

from registry.selectors.analysis.workloadsearch import SearchTrial, WorkloadSearch, per_search
from registry.statistics.alignment import align

#: Schedules side by side.
MOST_ALIGNED = 8


@dataclass(frozen=True, slots=True)
class AlignedRow:
    """An instruction in each schedule; ``cells`` are "" where a schedule has none like it."""

    kind: str
    cells: tuple[str, ...]

    @property
    def differs(self) -> bool:
        """Whether the schedules differ in it."""
        return len(set(self.cells)) > 1


@dataclass(frozen=True, slots=True)
class AlignedSchedules:
    """The fastest schedules, and their instructions as rows.

    Attributes:
        prefix: Number of first rows in which all agree.
    """

    trials: tuple[SearchTrial, ...]
    rows: tuple[AlignedRow, ...]

    @property
    def prefix(self) -> int:
        return next((at for at, row in enumerate(self.rows) if row.differs), len(self.rows))

    @property
    def differing(self) -> list[AlignedRow]:
        """Rows in which the schedules differ."""
        return [row for row in self.rows if row.differs]

    @property
    def common(self) -> list[AlignedRow]:
        """Rows in which all agree."""
        return [row for row in self.rows if not row.differs]


@per_search
def aligned(search: WorkloadSearch, count: int = MOST_ALIGNED) -> AlignedSchedules | None:
    """The ``count`` fastest readable schedules; ``None`` if there are not two.

    Each is aligned with the fastest by the kinds of its instructions (Needleman and Wunsch), since
    sketches of one workload differ in a few of some fifty instructions.
    """
    unreadable = search.table.unreadable
    rows = [trial for trial in search.timed if not unreadable[trial.position]][:count]
    if len(rows) < 2:
        return None
    steps = [search.sketches[trial.sketch].steps(trial.decisions) for trial in rows]
    return AlignedSchedules(tuple(rows), tuple(_rows(steps)))


def _rows(schedules: Sequence[Sequence[tuple[str, str]]]) -> list[AlignedRow]:
    """Rows by position in the first schedule; what only others have comes after the position that
    it follows there."""
    first, *others = schedules
    cells: dict[tuple[int, int], tuple[str, list[str]]] = {
        (at, 0): (kind, [text] + [""] * len(others)) for at, (kind, text) in enumerate(first)
    }
    kinds = [kind for kind, _ in first]
    for number, other in enumerate(others, start=1):
        at, extra = -1, 0
        for mine, its in align(kinds, [kind for kind, _ in other]):
            if mine is not None:
                at, extra = mine, 0
                place = (at, 0)
            else:
                extra += 1
                place = (at, extra)
            if its is None:
                continue
            kind, text = other[its]
            # Two schedules may insert different instructions at one place.
            while place in cells and cells[place][0] != kind:
                extra += 1
                place = (at, extra)
            cells.setdefault(place, (kind, [""] * len(schedules)))[1][number] = text
    return [AlignedRow(kind, tuple(texts)) for _, (kind, texts) in sorted(cells.items())]
