"""Queued jobs of many owners for :mod:`benchmarks.catalogue`; needs Django to be set up."""

from datetime import timedelta

from benchmarks.catalogue_rows import BEGIN, uuid_of
from benchmarks.copying import copy, restart_sequences
from registry import fairshare
from registry.states import JobKind
from registry.tables import Job, JobFlow, JobQueue, Target, User

_OWNERS, _PRIORITY, _ESTIMATE_S = 100, 100, 40.0


def queue(waiting: int) -> None:
    """Queue a tune job of each of the first models, for the targets in turn.

    They belong to a hundred owners, as if each had been submitted by one of them.
    """
    owners = [User(username=f"owner-{at}", date_joined=BEGIN) for at in range(_OWNERS)]
    User.objects.bulk_create(owners)
    flows: list[list[JobFlow]] = []
    targets = list(Target.objects.order_by("pk"))
    for target in targets:
        line = JobQueue.objects.create(name=f"target.{target.slug}")
        level = fairshare.level_of(_PRIORITY)
        rows = [JobFlow(queue=line, level=level, account=one, is_waiting=True) for one in owners]
        flows.append(JobFlow.objects.bulk_create(rows))
    copy(
        Job,
        (
            {
                "id": number + 1,
                "uuid": uuid_of("job", number),
                "kind": JobKind.TUNE,
                "revision_id": number + 1,
                "target_id": targets[number % len(targets)].pk,
                "flow_id": flows[number % len(targets)][number % _OWNERS].pk,
                "created_at": (created_at := BEGIN + timedelta(seconds=number)),
                "queue_rank": fairshare.rank(
                    submitted_at=created_at, priority=_PRIORITY, estimate_s=_ESTIMATE_S
                ),
                "estimate_s": _ESTIMATE_S,
            }
            for number in range(waiting)
        ),
    )
    restart_sequences(Job)
