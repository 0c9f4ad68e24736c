"""Reads of the blobs that a job's device may fetch, and may name in its results."""

from collections.abc import Collection
from typing import Any

from django.db.models import QuerySet

from registry.errors import NotFound
from registry.ids import SHA256_RE
from registry.selectors.storage.blob import AT_ONCE
from registry.tables import (
    Blob,
    BuildFile,
    ConversionFile,
    File,
    Graph,
    Job,
    JobBlob,
    RemoteRun,
    TestTensor,
)


def blobs_of_job(job: Job, sha256s: Collection[str]) -> dict[str, Blob]:
    """Those of the blobs ``sha256s`` that belong to a job, by digest.

    They are the files of its revision and of its conversion, builds of its network and target, the
    test tensors of its network, files that its devices have sent, and the inputs and the build of a
    run.
    """
    usable: set[str] = set()
    valid = sorted({sha256 for sha256 in sha256s if SHA256_RE.fullmatch(sha256)})
    graphs = Graph.objects.filter(revision=job.revision_id, is_primary=True)
    graph = graphs.order_by("path").values("pk")[:1]
    sources: list[tuple[QuerySet[Any], str]] = [
        (JobBlob.objects.filter(job=job), "blob"),
        (job.revision.files.all(), "blob"),
        (ConversionFile.objects.filter(conversion__revision=job.revision_id), "blob"),
        (BuildFile.objects.filter(build__graph=graph, build__target=job.target_id), "blob"),
        (BuildFile.objects.filter(build__runs__job=job), "blob"),
        (TestTensor.objects.filter(graph=graph), "blob"),
        (RemoteRun.objects.filter(job=job), "inputs"),
    ]
    for start in range(0, len(valid), AT_ONCE):
        missing = set(valid[start : start + AT_ONCE])
        for rows, column in sources:
            # Most often the first source has all.
            if missing:
                some = rows.filter(**{f"{column}__in": sorted(missing)})
                usable.update(some.values_list(f"{column}_id", flat=True))
                missing -= usable
    blobs: dict[str, Blob] = {}
    digests = sorted(usable)
    for start in range(0, len(digests), AT_ONCE):
        rows_of_blobs = Blob.objects.filter(condemned_at=None)
        blobs |= rows_of_blobs.in_bulk(digests[start : start + AT_ONCE])
    return blobs


def job_blob_get(job: Job, sha256: str) -> Blob:
    """The blob of that digest, if it belongs to the job. Raises ``NotFound`` ``blob_not_found``."""
    blob = blobs_of_job(job, [sha256]).get(sha256)
    if blob is None:
        raise NotFound("blob_not_found", f"Job {job.uuid} has no bytes {sha256[:100]!r}.")
    return blob


def revisions_with(revisions: Collection[int], sha256s: Collection[str]) -> set[int]:
    """Keys of the revisions whose primary network file is among these digests."""
    graphs = Graph.objects.filter(revision__in=revisions, is_primary=True)
    paths = set(graphs.values_list("revision", "path"))
    files = File.objects.of(revisions).filter(path__in={path for _, path in paths})
    rows = files.values_list("series__revisions", "path", "blob_id")
    return {
        revision for revision, path, blob in rows if (revision, path) in paths and blob in sha256s
    }
