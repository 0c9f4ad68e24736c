"""Blobs that devices send for their jobs: whole, or in parts, so that an upload can be resumed."""

import hashlib
import io
from pathlib import Path
from typing import Any

import pytest

from registry import storage
from registry.errors import Invalid, NotFound, TooLarge
from registry.selectors.work.jobblob import blobs_of_job, job_blob_get
from registry.services.work.jobblob import (
    UploadState,
    job_blob_store,
    job_part_store,
    job_upload_begin,
    uploads_prune,
)
from registry.tables import Job, JobBlob, JobUpload
from tests.registry import shopfloor
from tests.registry.shopfloor import Floor

pytestmark = pytest.mark.django_db

PART = 8
BYTES = b"twenty bytes of a file"
DIGEST = hashlib.sha256(BYTES).hexdigest()
TOTAL = len(BYTES)


@pytest.fixture
def floor(data_dir: Path, settings: Any) -> Floor:
    settings.PART_BYTES = PART
    return shopfloor.floor()


@pytest.fixture
def job(floor: Floor) -> Job:
    return floor.tune()


def part(job: Job, number: int, content: bytes = BYTES, **changes: Any) -> UploadState:
    first = number * PART
    last = min(first + PART, TOTAL) - 1
    extent = {"total": TOTAL, "first": first, "last": last} | changes
    return job_part_store(
        job=job, sha256=DIGEST, stream=io.BytesIO(content[first : last + 1]), **extent
    )


def test_a_whole_file_belongs_to_the_job(job: Job) -> None:
    assert blobs_of_job(job, [DIGEST]) == {}
    for _ in range(2):
        job_blob_store(job=job, sha256=DIGEST, stream=io.BytesIO(BYTES), size_bytes=TOTAL)
    assert job_blob_get(job, DIGEST).size_bytes == TOTAL
    assert JobBlob.objects.count() == 1


def test_parts_come_in_any_order_and_twice(job: Job) -> None:
    begun = job_upload_begin(job=job, sha256=DIGEST, total=TOTAL)
    assert begun == UploadState(None, PART, ())
    part(job, 1)
    part(job, 1)
    state = job_upload_begin(job=job, sha256=DIGEST, total=TOTAL)
    assert state.ranges == ((8, 15),)
    assert part(job, 0).ranges == ((0, 15),)
    done = part(job, 2)
    assert done.blob is not None
    assert done.blob.pk == DIGEST
    assert not JobUpload.objects.exists()
    with storage.blob_store().open(DIGEST) as stream:
        assert stream.read() == BYTES


def test_stored_files_of_the_job_need_not_be_sent(job: Job) -> None:
    job_blob_store(job=job, sha256=DIGEST, stream=io.BytesIO(BYTES), size_bytes=TOTAL)
    assert job_upload_begin(job=job, sha256=DIGEST, total=TOTAL).blob is not None


def test_files_of_another_job_must_be_sent(job: Job, floor: Floor) -> None:
    other = shopfloor.floor("bob/other").tune()
    job_blob_store(job=other, sha256=DIGEST, stream=io.BytesIO(BYTES), size_bytes=TOTAL)
    assert job_upload_begin(job=job, sha256=DIGEST, total=TOTAL).blob is None
    with pytest.raises(NotFound):
        job_blob_get(job, DIGEST)


@pytest.mark.parametrize(
    "changes",
    [
        {"first": 1, "last": 8},
        {"last": 6},
        {"first": 64, "last": 71},
        {"first": 8, "last": 21},
    ],
)
def test_a_range_that_is_not_a_part_is_refused(job: Job, changes: dict[str, Any]) -> None:
    with pytest.raises(Invalid) as refused:
        part(job, 0, **changes)
    assert refused.value.code == "invalid_request"


def test_a_part_that_breaks_off_is_not_kept(job: Job) -> None:
    with pytest.raises(Invalid) as refused:
        job_part_store(
            job=job, sha256=DIGEST, total=TOTAL, first=0, last=7, stream=io.BytesIO(b"short")
        )
    assert refused.value.code == "size_mismatch"
    assert job_upload_begin(job=job, sha256=DIGEST, total=TOTAL).ranges == ()


def test_an_upload_with_a_wrong_digest_begins_anew(job: Job) -> None:
    wrong = b"x" * TOTAL
    part(job, 0, wrong)
    part(job, 1, wrong)
    with pytest.raises(Invalid) as refused:
        part(job, 2, wrong)
    assert refused.value.code == "digest_mismatch"
    assert not JobUpload.objects.exists()
    assert not JobBlob.objects.exists()
    for number in range(3):
        done = part(job, number)
    assert done.blob is not None


def test_one_digest_has_one_length(job: Job) -> None:
    part(job, 0)
    with pytest.raises(Invalid) as refused:
        job_upload_begin(job=job, sha256=DIGEST, total=TOTAL + 1)
    assert refused.value.code == "size_mismatch"


def test_a_file_beyond_the_limit_is_refused(job: Job, settings: Any) -> None:
    settings.MAX_BLOB_BYTES = TOTAL - 1
    with pytest.raises(TooLarge):
        job_upload_begin(job=job, sha256=DIGEST, total=TOTAL)


def test_an_upload_whose_parts_were_collected_begins_anew(job: Job) -> None:
    part(job, 0)
    for leftover in storage.blob_store().leftovers():
        storage.blob_store().discard(leftover)
    with pytest.raises(NotFound) as lost:
        part(job, 1)
    assert lost.value.code == "upload_not_found"
    assert part(job, 0).ranges == ((0, 7),)


def test_an_upload_that_is_never_completed_is_deleted(job: Job) -> None:
    part(job, 0)
    assert uploads_prune() == 0
    JobUpload.objects.update(created_at="2000-01-01T00:00:00Z")
    assert uploads_prune() == 1


@pytest.mark.parametrize("sha256", ["", "..", "0" * 63, "0" * 64 + "\n", "../../etc/passwd"])
def test_a_malformed_digest_names_no_blob(job: Job, sha256: str) -> None:
    with pytest.raises(NotFound):
        job_blob_get(job, sha256)
