"""Results of each backend on each target for some networks: builds, or why there are none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import exp, log
from typing import Any, Final

from django.db.models import Count, Max

from registry.selectors.access import Actor, readable_trials
from registry.selectors.analysis.measuredbuild import MeasuredBuild
from registry.states import TrialOutcome
from registry.tables import Graph, Trial

#: Outcomes that are results, not failures.
_RESULTS = (TrialOutcome.MEASURED, TrialOutcome.PRUNED)
#: Outcomes of what failed, in words.
FAILURE_WORDS: Final[Mapping[str, str]] = {
    TrialOutcome.INVALID: "cannot be built",
    TrialOutcome.TIMEOUT: "timed out",
    TrialOutcome.CRASH: "crashed",
    TrialOutcome.WRONG_OUTPUT: "wrong outputs",
    TrialOutcome.INFRASTRUCTURE: "machine failed",
}
_LONGEST_DETAIL = 300


@dataclass(frozen=True, slots=True)
class MatrixColumn:
    """A target and a backend."""

    target: str
    backend: str


@dataclass(frozen=True, slots=True)
class OutcomeCell:
    """The result of a backend on a target for one network.

    Attributes:
        best: The published build of the lowest latency; ``None`` without one.
        reason: Why there is none: ``not tried``, ``no gain: 4 trials``, ``crashed: 2 trials``.
        detail: Message of the newest failure.
        is_failure: Whether all trials failed.
    """

    best: MeasuredBuild | None = None
    reason: str = ""
    detail: str = ""
    is_failure: bool = False


@dataclass(frozen=True, slots=True)
class OutcomeRow:
    graph: Graph
    cells: list[OutcomeCell]


@dataclass(frozen=True, slots=True)
class Mean:
    """Geometric mean of ratios to the default over the networks that have a build."""

    ratio: float | None
    networks: int


@dataclass(frozen=True, slots=True)
class OutcomeMatrix:
    """Networks by target and backend. ``means`` are those of the columns."""

    columns: list[MatrixColumn]
    rows: list[OutcomeRow]
    means: list[Mean] = field(default_factory=list)

    @property
    def is_uneven(self) -> bool:
        """Whether the means are over different numbers of networks."""
        return len({mean.networks for mean in self.means}) > 1


def outcome_matrix(
    actor: Actor,
    graphs: Sequence[Graph],
    builds: Sequence[MeasuredBuild],
    *,
    targets: Sequence[str] = (),
    backends: Sequence[str] = (),
) -> OutcomeMatrix:
    """The matrix of ``graphs``, from their builds and from the trials of their searches.

    ``targets`` and ``backends`` restrict the columns; empty ones do not. In three queries.
    """
    trials = _trials(actor, graphs)
    columns = sorted(
        {MatrixColumn(one.build.target.slug, one.backend) for one in builds}
        | {column for _, column in trials},
        key=lambda one: (one.target, one.backend),
    )
    shown = [
        one
        for one in columns
        if (not targets or one.target in targets) and (not backends or one.backend in backends)
    ]
    best: dict[tuple[int, MatrixColumn], MeasuredBuild] = {}
    for each in builds:
        key = each.build.graph_id, MatrixColumn(each.build.target.slug, each.backend)
        if key not in best or each.build.p50_ns < best[key].build.p50_ns:
            best[key] = each
    rows = [
        OutcomeRow(graph, [_cell(best, trials, graph, column) for column in shown])
        for graph in graphs
    ]
    means = [_mean([row.cells[number] for row in rows]) for number in range(len(shown))]
    return OutcomeMatrix(shown, rows, means)


def _trials(
    actor: Actor, graphs: Sequence[Graph]
) -> dict[tuple[int, MatrixColumn], dict[str, dict[str, Any]]]:
    """Revision and column to outcome to the number of trials and the newest one's key."""
    rows = readable_trials(actor).filter(job__revision__in=[graph.revision_id for graph in graphs])
    counted = (
        rows.order_by()
        .values("job__revision", "target__slug", "candidate__backend", "outcome")
        .annotate(count=Count("pk"), newest=Max("pk"))
    )
    trials: dict[tuple[int, MatrixColumn], dict[str, dict[str, Any]]] = {}
    for row in counted:
        column = MatrixColumn(row["target__slug"], str(row["candidate__backend"]))
        of_column = trials.setdefault((row["job__revision"], column), {})
        of_column[row["outcome"]] = {**row}
    failures = [
        row["newest"]
        for outcomes in trials.values()
        for outcome, row in outcomes.items()
        if outcome not in _RESULTS
    ]
    details = dict(Trial.objects.filter(pk__in=failures).values_list("pk", "failure_detail"))
    for outcomes in trials.values():
        for of_outcome in outcomes.values():
            of_outcome["detail"] = " ".join(details.get(of_outcome["newest"], "").split())[
                :_LONGEST_DETAIL
            ]
    return trials


def _cell(
    best: Mapping[tuple[int, MatrixColumn], MeasuredBuild],
    trials: Mapping[tuple[int, MatrixColumn], Mapping[str, Mapping[str, Any]]],
    graph: Graph,
    column: MatrixColumn,
) -> OutcomeCell:
    if build := best.get((graph.pk, column)):
        return OutcomeCell(best=build)
    outcomes = trials.get((graph.revision_id, column), {})
    if not outcomes:
        return OutcomeCell(reason="not tried")
    failures = [row for outcome, row in outcomes.items() if outcome not in _RESULTS]
    measured = sum(row["count"] for outcome, row in outcomes.items() if outcome in _RESULTS)
    if measured:
        return OutcomeCell(reason=f"no gain: {_trials_text(measured)}")
    newest = max(failures, key=lambda row: row["newest"])
    total = sum(row["count"] for row in failures)
    words = FAILURE_WORDS[newest["outcome"]]
    reason = f"{words}: {_trials_text(total)}"
    return OutcomeCell(reason=reason, detail=newest["detail"], is_failure=True)


def _mean(cells: Sequence[OutcomeCell]) -> Mean:
    ratios = [
        1.0 if cell.best.build.is_baseline else cell.best.build.ratio for cell in cells if cell.best
    ]
    if not ratios or min(ratios) <= 0:
        return Mean(None, len(ratios))
    return Mean(exp(sum(map(log, ratios)) / len(ratios)), len(ratios))


def _trials_text(count: int) -> str:
    return "1 trial" if count == 1 else f"{count} trials"
