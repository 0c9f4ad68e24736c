"""Confirmations of a device's records: other devices that reproduced the measured builds."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from django.db.models import F, QuerySet

from registry.selectors.access import Actor, readable_records
from registry.states import ReproductionOutcome
from registry.tables import Device, Record, Reproduction


def records_by(actor: Actor, device: Device) -> QuerySet[Record]:
    """Readable records that a device measured, newest first."""
    rows = readable_records(actor).filter(device=device).order_by("-created_at", "-id")
    return rows.select_related("revision__mlmodel__namespace", "target").defer("document")


def confirmations_of(records: Iterable[Record]) -> Mapping[str, Sequence[Device]]:
    """The other trusted devices whose run of a record's build agreed with the reference, by record
    id."""
    rows = (
        Reproduction.objects.filter(
            build__record__in=[record.pk for record in records],
            outcome=ReproductionOutcome.REPRODUCED,
            job__device__is_trusted=True,
        )
        .exclude(job__device=F("build__record__device"))
        .values_list("build__record", "job__device")
        .distinct()
    )
    pairs = list(rows)
    names = Device.objects.select_related("target", "owner").in_bulk([key for _, key in pairs])
    confirmed: dict[str, list[Device]] = defaultdict(list)
    for record, device in sorted(pairs, key=lambda pair: names[pair[1]].name):
        confirmed[record].append(names[device])
    return confirmed
