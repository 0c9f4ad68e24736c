"""Job bundles over the API."""

from pathlib import Path
from typing import Any

import pytest

from registry.selectors.work.bundle import bundle_pieces
from registry.services.work.job import job_submit
from registry.states import JobKind, Scope
from registry.tables import Device, Job, JobBundle, MLModel, User
from tests.bundles import Results, key_of
from tests.hub.api.client import Api
from tests.programs import needs
from tests.registry import shopfloor

pytestmark = [pytest.mark.django_db, needs("cryptography")]

BODY: dict[str, Any] = {"device": "floor-1", "budget_s": 1000}


@pytest.fixture
def as_operator(db: None) -> Api:
    return Api(User.objects.create(username="op", is_staff=True), Scope.ADMIN)


@pytest.fixture
def job(galaxy: MLModel) -> Job:
    """A search that waits for the device ``floor-1``."""
    revision = galaxy.refs.get(name="main").revision
    shopfloor.make_graph(revision)
    target, _ = shopfloor.make_machine()
    return job_submit(actor=None, kind=JobKind.TUNE, revision=revision, target=target)


def test_jobs_go_out_and_results_come_in(as_operator: Api, job: Job, tmp_path: Path) -> None:
    key = key_of(Device.objects.get(), tmp_path / "agent")
    made = as_operator.post("bundles", BODY).ok(201)
    assert (made["device"], made["state"], made["jobs"]) == ("floor-1", "exported", [str(job.uuid)])
    address = f"bundles/{made['uuid']}"
    assert as_operator.get(address).ok() == made
    assert as_operator.get("bundles").ok()["items"] == [made]
    file = as_operator.get(f"{address}/file")
    assert file.headers["Content-Type"] == "application/x-tar"
    assert file.content == b"".join(bundle_pieces(JobBundle.objects.get()))
    results = Results(JobBundle.objects.get(), key).end(str(job.uuid))
    content = results.packed(tmp_path / "results").read_bytes()
    for _ in range(2):
        done = as_operator.send("PUT", f"{address}/results", raw=content).ok()
        assert done["state"] == "imported"
        assert [one["outcome"] for one in done["report"]] == ["succeeded"]
    assert as_operator.post(f"{address}/cancel").code == "already_ended"


@pytest.mark.usefixtures("job")
def test_refusals_have_codes(as_operator: Api, tmp_path: Path) -> None:
    assert as_operator.post("bundles", BODY).code == "invalid_request"
    key_of(Device.objects.get(), tmp_path / "agent")
    assert as_operator.post("bundles", {**BODY, "lease_s": 1}).code == "invalid_request"
    made = as_operator.post("bundles", BODY).ok(201)
    assert as_operator.post("bundles", BODY).code == "job_not_found"
    refusal = as_operator.send("PUT", f"bundles/{made['uuid']}/results", raw=b"no bundle")
    assert refusal.code == "invalid_bundle"
    unknown = as_operator.get("bundles/0b8e5c1a-8f5e-4b77-9a3b-2f4d4c1f0e11")
    assert unknown.code == "bundle_not_found"


@pytest.mark.usefixtures("job")
def test_only_operators(anonymous: Api, as_alice: Api) -> None:
    assert anonymous.get("bundles").code == "not_authenticated"
    for answer in (as_alice.get("bundles"), as_alice.post("bundles", BODY)):
        assert answer.code in {"permission_denied", "scope_missing"}
