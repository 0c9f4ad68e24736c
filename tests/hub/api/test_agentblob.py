"""Files of jobs over HTTP: downloads by ranges, uploads in parts, and no access to other files."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from registry.services.storage.blob import blob_store_bytes
from registry.tables import AuditEntry, Job, JobBlob
from tests.factories import file_row
from tests.hub.api.client import Answer, Api
from tests.registry import shopfloor
from tests.registry.agents import Machine, machine
from tests.registry.shopfloor import Floor

pytestmark = pytest.mark.django_db

PART = 8
BYTES = b"twenty bytes of a file"
DIGEST = hashlib.sha256(BYTES).hexdigest()
TOTAL = len(BYTES)


@pytest.fixture(autouse=True)
def own_folder(data_dir: Path, settings: Any) -> None:
    settings.PART_BYTES = PART


@pytest.fixture
def floor() -> Floor:
    return shopfloor.floor()


@pytest.fixture
def agent(floor: Floor) -> Machine:
    return machine(floor.target)


@pytest.fixture
def job(floor: Floor, agent: Machine) -> str:
    floor.tune()
    return agent.claim().job_uuid


@pytest.fixture
def api(agent: Machine) -> Api:
    return Api(secret=agent.token)


def put(api: Api, job: str, data: bytes = BYTES, sha256: str = DIGEST, **headers: str) -> Answer:
    return api.send("PUT", f"agent/jobs/{job}/blobs/{sha256}", raw=data, **headers)


def put_part(api: Api, job: str, number: int) -> Answer:
    data = BYTES[number * PART : (number + 1) * PART]
    first = number * PART
    extent = f"bytes {first}-{first + len(data) - 1}/{TOTAL}"
    return put(api, job, data, Content_Range=extent)


def test_files_of_the_revision_are_fetched_by_ranges(floor: Floor, api: Api, job: str) -> None:
    blob = blob_store_bytes(actor=None, data=BYTES)
    file_row(floor.revision, "weights.bin", blob)
    address = f"agent/jobs/{job}/blobs/{DIGEST}"
    whole = api.get(address)
    assert (whole.status, whole.content) == (200, BYTES)
    part = api.get(address, Range="bytes=7-11")
    assert (part.status, part.content) == (206, BYTES[7:12])
    assert api.get(address, Range=f"bytes={TOTAL}-").status == 416


def test_files_of_other_jobs_are_not_served(floor: Floor, api: Api, job: str) -> None:
    blob_store_bytes(actor=None, data=BYTES)
    other = shopfloor.make_revision("bob/secret", private=True)
    secret = other.files.get(path="model.onnx").blob_id
    for sha256 in (DIGEST, secret, "0" * 64):
        assert api.get(f"agent/jobs/{job}/blobs/{sha256}").code == "blob_not_found"


@pytest.mark.parametrize("place", ["..%2f..%2fetc%2fpasswd", "0" * 63, "A" * 64, "0" * 65])
def test_addresses_that_are_no_digests_do_not_exist(api: Api, job: str, place: str) -> None:
    # All other addresses belong to people, and a device's token is not valid there.
    assert api.get(f"agent/jobs/{job}/blobs/{place}").status == 401


def test_a_whole_file_is_sent_once(api: Api, job: str) -> None:
    stored = put(api, job).ok(201)
    assert stored == {"sha256": DIGEST, "part_bytes": 0, "received": []}
    put(api, job).ok(201)
    assert JobBlob.objects.count() == 1
    assert api.get(f"agent/jobs/{job}/blobs/{DIGEST}").content == BYTES


def test_parts_continue_after_an_interruption(api: Api, job: str) -> None:
    asked = put(api, job, b"", Content_Range=f"bytes */{TOTAL}").ok(202)
    assert asked == {"sha256": DIGEST, "part_bytes": PART, "received": []}
    put_part(api, job, 0).ok(202)
    put_part(api, job, 2).ok(202)
    asked = put(api, job, b"", Content_Range=f"bytes */{TOTAL}").ok(202)
    assert asked["received"] == [[0, 7], [16, 21]]
    put_part(api, job, 1).ok(201)
    asked = put(api, job, b"", Content_Range=f"bytes */{TOTAL}")
    assert asked.status == 200


@pytest.mark.parametrize(
    ("extent", "code"),
    [
        ("bytes 0-7/22, 8-15/22", "invalid_request"),
        ("items 0-7/22", "invalid_request"),
        ("bytes 0-7/*", "invalid_request"),
        ("bytes 0-6/22", "size_mismatch"),
        ("bytes 3-10/22", "invalid_request"),
        ("bytes 7-0/22", "size_mismatch"),
        ("bytes 0-7/99999999999999999", "body_too_large"),
    ],
)
def test_a_bad_range_is_refused(api: Api, job: str, extent: str, code: str) -> None:
    assert put(api, job, BYTES[:PART], Content_Range=extent).code == code
    assert not JobBlob.objects.exists()


def test_a_wrong_digest_is_refused(api: Api, job: str) -> None:
    answer = put(api, job, b"other bytes")
    assert (answer.status, answer.code) == (400, "digest_mismatch")
    assert not JobBlob.objects.exists()


def test_only_the_holder_of_a_job_sends_files(floor: Floor, agent: Machine, job: str) -> None:
    thief = Api(secret=machine(floor.target, "thief").token)
    assert put(thief, job).code == "job_not_found"
    # It was put into quarantine, so its next request is refused at once.
    assert thief.get(f"agent/jobs/{job}/blobs/{DIGEST}").code == "device_quarantined"
    assert AuditEntry.objects.get(action="device.offence").subject == "thief"
    Job.objects.update(state="queued", device=None, lease_until=None)
    assert put(Api(secret=agent.token), job).code == "lease_lost"
