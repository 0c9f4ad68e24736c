"""Names of the jobs whose trials a search holds, as far as the reader may see their models."""

from collections.abc import Iterable

from registry.selectors.access import Actor, readable_jobs


def jobs_in(actor: Actor, keys: Iterable[int | None]) -> dict[int | None, tuple[str, str]]:
    """Name and UUID of each job by its key, in the order of the trials.

    A job of a model that the actor may not read is ``another job`` without a UUID; ``None`` stands
    for jobs that were deleted.
    """
    ordered = list(dict.fromkeys(keys))
    rows = readable_jobs(actor).filter(pk__in=[key for key in ordered if key is not None])
    readable = {
        job.pk: (f"{job.kind} of {job.revision.mlmodel.full_name}", str(job.uuid))
        for job in rows.select_related("revision__mlmodel__namespace")
    }
    return {
        key: readable.get(key, ("another job", "")) if key is not None else ("a deleted job", "")
        for key in ordered
    }
