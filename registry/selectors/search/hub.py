"""Reads over the whole hub: for its front page, and what metadata say of it."""

from dataclasses import dataclass

from django.conf import settings
from django.db.models import QuerySet

from registry.fair.parts import Hub, Organization
from registry.selectors.access import Actor, readable_builds
from registry.selectors.results.reproduction import without_faulty
from registry.states import RepositoryKind, ToleranceClass, TrialOutcome, Verdict, Visibility
from registry.tables import Build, MLModel, Record, Target, Trial


@dataclass(frozen=True, slots=True)
class Figures:
    """How much there is, counted over what everybody may see."""

    mlmodels: int
    targets: int
    trials: int
    records: int


def this_hub() -> Hub:
    """The hub as records name it, from its settings."""
    url = settings.HUB_URL
    return Hub(
        name=settings.HUB_NAME,
        url=url,
        policy_url=f"{url}/policy",
        shape_url=f"{url}/shapes/record",
        publisher=Organization(
            name=settings.PUBLISHER, ror=settings.PUBLISHER_ROR or None, url=url
        ),
    )


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
    """Float32-exact builds that beat their baseline most, with model and target; none that was
    found not reproduced."""
    rows = readable_builds(actor).filter(
        withdrawn_at=None, tolerance=ToleranceClass.EXACT, verdict=Verdict.FASTER
    )
    rows = without_faulty(rows)
    if target is not None:
        rows = rows.filter(target=target)
    related = ("graph__revision__mlmodel__namespace", "target", "record")
    return rows.select_related(*related).order_by("ratio", "pk")[:limit]
