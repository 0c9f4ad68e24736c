"""Repetitions of a record: measurements of its build by people, on their own machines."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import BooleanField, ExpressionWrapper, Q
from django.db.models.fields.json import KT

from registry.selectors.access import Actor, readable_records
from registry.states import RecordKind
from registry.tables import Record, User

#: Newest repetitions that are shown.
MAX_REPETITIONS = 50


@dataclass(frozen=True, slots=True)
class Repetitions:
    """Repetitions of a record.

    Attributes:
        rows: The newest :data:`MAX_REPETITIONS`, newest first, each with ``processor`` and
            ``agrees``: whether the interval of its ratio overlaps that of the record.
        people: The accounts of those that agree, by name.
    """

    rows: Sequence[Record]
    people: Sequence[User]


def repetitions_of(actor: Actor, record: Record) -> Repetitions:
    """The readable repetitions of a record."""
    # A record that was measured alone has no ratio, and no ratio is below 0.
    low, high = record.ratio_low or 0.0, -1.0 if record.ratio_high is None else record.ratio_high
    overlaps = Q(ratio_low__lte=high, ratio_high__gte=low)
    rows = (
        readable_records(actor)
        .filter(
            revision=record.revision_id,
            kind=RecordKind.REPRODUCTION,
            document__provenance__reproduces=record.pk,
        )
        .annotate(
            processor=KT("document__target__processor"),
            agrees=ExpressionWrapper(overlaps, BooleanField()),
        )
        .select_related("added_by", "target")
        .defer("document")
        .order_by("-created_at", "-id")
    )
    people = User.objects.filter(pk__in=rows.filter(agrees=True).values("added_by"))
    return Repetitions(list(rows[:MAX_REPETITIONS]), list(people.order_by("username")))
