"""Reads over the whole hub, for its front page."""

from dataclasses import dataclass

from registry.search.digests import digest
from registry.states import RepositoryKind, TrialOutcome, Visibility
from registry.tables import MLModel, Record, Target, Trial


@dataclass(frozen=True, slots=True)
class Figures:
    """Numbers of public models and of all targets, trials and records."""

    mlmodels: int
    targets: int
    trials: int
    records: int


def figures() -> Figures | None:
    """Counts for the front page; of a large hub as last counted, ``None`` before they were."""
    counts = digest("figures", _count)
    return Figures(**counts) if counts else None


def _count() -> dict[str, int]:
    return {
        "mlmodels": MLModel.objects.filter(
            kind=RepositoryKind.MODEL, visibility=Visibility.PUBLIC
        ).count(),
        "targets": Target.objects.filter(enabled=True).count(),
        "trials": Trial.objects.filter(outcome=TrialOutcome.MEASURED).count(),
        "records": Record.objects.count(),
    }
