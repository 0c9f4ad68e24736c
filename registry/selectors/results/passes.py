"""Reads of pass trials and pass portfolios."""

from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet

from registry.ids import parse_uuid
from registry.states import JobKind, TrialOutcome
from registry.tables import Graph, Job, PassPortfolio, PassTrial, Target

#: Columns of a trial, as ``pass_trial_add`` takes them.
PASS_TRIAL_COLUMNS = (
    "backend", "toolchain", "architecture_class", "graph_hash", "number", "role", "about",
    "passes", "outcome", "failure_detail", "compile_s", "compile_ratio", "compile_ratio_low",
    "compile_ratio_high", "ratio", "ratio_low", "ratio_high", "same_code", "measurement",
)  # fmt: skip


def pass_trials_of_job(job_uuid: str, backend: str) -> list[dict[str, Any]]:
    """Stored trials of a job by number, as ``pass_trial_add`` takes them."""
    rows = PassTrial.objects.filter(job__uuid=parse_uuid(job_uuid), backend=backend)
    return list(rows.order_by("number").values(*PASS_TRIAL_COLUMNS))


def class_trials(
    *, target: str, backend: str, toolchain: str, architecture_class: str
) -> list[dict[str, Any]]:
    """Measured trials of all networks of a class, without raw samples, oldest first."""
    rows = PassTrial.objects.filter(
        target__slug=target,
        backend=backend,
        toolchain=toolchain,
        architecture_class=architecture_class,
        outcome=TrialOutcome.MEASURED,
    )
    columns = [name for name in PASS_TRIAL_COLUMNS if name != "measurement"]
    return list(rows.order_by("id").values(*columns))


def portfolio_of(
    target: str, architecture_class: str, toolchains: Mapping[str, str]
) -> dict[str, tuple[str, ...]]:
    """Backend to the portfolio of a class on a target, best list of passes first.

    ``toolchains`` maps backends to toolchains; portfolios of other toolchains are left out.
    """
    rows = PassPortfolio.objects.filter(
        target__slug=target, architecture_class=architecture_class, backend__in=toolchains
    )
    return {
        row.backend: tuple(dict.fromkeys(each["passes"] for each in row.lists))
        for row in rows
        if row.lists and row.toolchain == toolchains[row.backend]
    }


def portfolios(
    *, target: str | None = None, architecture_class: str | None = None
) -> QuerySet[PassPortfolio]:
    """Portfolios by target, class and backend."""
    rows = PassPortfolio.objects.select_related("target")
    if target:
        rows = rows.filter(target__slug=target)
    if architecture_class:
        rows = rows.filter(architecture_class=architecture_class)
    return rows.order_by("target__slug", "architecture_class", "backend", "toolchain")


def studies_of_class(target: Target, architecture_class: str) -> int:
    """Number of networks of a class with a pass study on a target, queued or ended.

    A failed study counts, because it would fail again.
    """
    graphs = Graph.objects.filter(architecture_class=architecture_class, is_primary=True)
    jobs = Job.objects.filter(kind=JobKind.PASSES, target=target)
    studied = graphs.filter(revision__in=jobs.values("revision"))
    return studied.values("graph_hash").distinct().count()


def is_studied(target: Target, graph_hash: str) -> bool:
    """Whether a network has a pass study on the target, queued or ended."""
    jobs = Job.objects.filter(kind=JobKind.PASSES, target=target)
    graphs = Graph.objects.filter(graph_hash=graph_hash, is_primary=True)
    return graphs.filter(revision__in=jobs.values("revision")).exists()
