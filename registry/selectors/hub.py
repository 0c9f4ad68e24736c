"""Reads over the whole hub, for its front page."""

from dataclasses import dataclass

from django.db.models import QuerySet

from registry.selectors.access import Actor, readable_builds
from registry.states import RepositoryKind, ToleranceClass, TrialOutcome, Verdict, Visibility
from registry.tables import Build, MLModel, Record, Target, Trial


@dataclass(frozen=True, slots=True)
class Figures:
    """How much there is, counted over what everybody may see."""

    mlmodels: int
    targets: int
    trials: int
    records: int


def figures() -> Figures:
    """Counts of public models and of all that was tried and measured."""
    return Figures(
        mlmodels=MLModel.objects.filter(
            kind=RepositoryKind.MODEL, visibility=Visibility.PUBLIC
        ).count(),
        targets=Target.objects.filter(enabled=True).count(),
        trials=Trial.objects.filter(outcome=TrialOutcome.MEASURED).count(),
        records=Record.objects.count(),
    )


def fastest_builds(
    actor: Actor, *, target: Target | None = None, limit: int = 10
) -> "QuerySet[Build]":
    """Float32-exact builds that beat their baseline most, with model and target."""
    rows = readable_builds(actor).filter(
        withdrawn_at=None, tolerance=ToleranceClass.EXACT, verdict=Verdict.FASTER
    )
    if target is not None:
        rows = rows.filter(target=target)
    related = ("graph__revision__mlmodel__namespace", "target", "record")
    return rows.select_related(*related).order_by("ratio")[:limit]
