"""Reads over the whole hub: for its front page, and what metadata say of it."""

from dataclasses import dataclass

from django.conf import settings

from registry.fair.parts import Hub, Organization
from registry.states import RepositoryKind, TrialOutcome, Visibility
from registry.tables import MLModel, Record, Target, Trial


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
