"""The matrix of decisions: which values the fast schedules of a search share."""

from collections.abc import Callable
from dataclasses import dataclass

from hub.pages.chart.axis import time_label
from registry.selectors.analysis.evidence import DecisionEvidence
from registry.statistics.association import EVIDENCE, Association
from registry.traces import DecisionColumn, DecisionColumnKind

#: Values of a decision in the matrix; the table below it has all.
_MOST_CELLS = 7
_MOST_SENTENCES = 3


def seconds_label(seconds: float) -> str:
    """Label of seconds of a call."""
    return time_label(1e9 * seconds)


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """A value of a decision, in words; shares in percent."""

    label: str
    fast: float
    rest: float
    odds: str
    q: str
    n: int
    median: str
    is_evident: bool
    is_favoured: bool


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """A decision; ``hidden`` counts its rarest values, which are not among ``cells``."""

    title: str
    kind: str
    cells: tuple[MatrixCell, ...]
    hidden: int

    @property
    def is_evident(self) -> bool:
        """Whether any of its values has evidence."""
        return any(cell.is_evident for cell in self.cells)


@dataclass(frozen=True, slots=True)
class DecisionMatrix:
    """The matrix, and its findings as sentences; no sentences without enough evidence.

    Attributes:
        among: Number of trials that were compared, of which ``fast`` are the fast ones.
        share: Text of the share of fast ones: ``fastest 10 %``.
        every: All values of all decisions.
    """

    sentences: tuple[str, ...]
    rows: tuple[MatrixRow, ...]
    every: tuple[tuple[str, MatrixCell], ...]
    among: int
    fast: int
    share: str

    @property
    def evident_rows(self) -> list[MatrixRow]:
        """Decisions with a value that has evidence."""
        return [row for row in self.rows if row.is_evident]

    @property
    def thin_rows(self) -> list[MatrixRow]:
        """The other decisions."""
        return [row for row in self.rows if not row.is_evident]

    @property
    def has_evidence(self) -> bool:
        return any(cell.is_evident for _, cell in self.every)


def matrix_of(
    evidence: DecisionEvidence, share: float, label: Callable[[float], str] = seconds_label
) -> DecisionMatrix:
    """The matrix of a search's associations with its fastest ``share``; ``label`` puts a median
    into words."""
    fastest = f"fastest {100 * share:.0f} %"
    rows, every = [], []
    for column, own in evidence.by_column():
        cells = {row.code: _cell(column, row, label) for row in own}
        every += [(column.title, cell) for cell in cells.values()]
        frequent = sorted(own, key=lambda row: (not row.is_evident, -row.n))[:_MOST_CELLS]
        shown = sorted(row.code for row in frequent)
        kind = "derived" if column.kind == DecisionColumnKind.DERIVED else ""
        hidden = len(cells) - len(shown)
        rows.append(MatrixRow(column.title, kind, tuple(cells[code] for code in shown), hidden))
    sentences = [
        _sentence(evidence, row, fastest) for row in _strongest(evidence)[:_MOST_SENTENCES]
    ]
    return DecisionMatrix(
        tuple(sentences), tuple(rows), tuple(every), evidence.among, evidence.fast, fastest
    )


def q_text(q: float) -> str:
    """``q < 0.001``, ``q = 0.28``."""
    return "q < 0.001" if q < 0.001 else f"q = {q:.2g}" if q < 0.995 else "q = 1"


def _strongest(evidence: DecisionEvidence) -> list[Association]:
    """The strongest values, one for each set of trials, since several columns may say the same."""
    distinct: dict[tuple[int, int], Association] = {}
    for row in evidence.evident:
        distinct.setdefault((row.fast, row.rest), row)
    return list(distinct.values())


def _sentence(evidence: DecisionEvidence, row: Association, fastest: str) -> str:
    column = evidence.columns[row.column]
    return (
        f"{column.title} {column.labels[row.code]}: {_percent(row.fast_share)} of the {fastest} "
        f"against {_percent(row.rest_share)} of the rest ({q_text(row.q)}, n = {evidence.among})"
    )


def _cell(column: DecisionColumn, row: Association, label: Callable[[float], str]) -> MatrixCell:
    return MatrixCell(
        label=column.labels[row.code],
        fast=round(100 * row.fast_share, 1),
        rest=round(100 * row.rest_share, 1),
        odds=f"{row.log2_odds:+.1f}",
        q=q_text(row.q),
        n=row.n,
        median=label(row.median_s),
        is_evident=row.q < EVIDENCE,
        is_favoured=row.log2_odds > 0,
    )


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
