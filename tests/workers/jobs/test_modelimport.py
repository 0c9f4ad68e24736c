"""Imports by the hub's workers, from a real server that can lie."""

import hashlib
import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.utils import timezone

from hpcfair.retry import Retry
from registry.selectors.fair.origin import imported_version
from registry.selectors.repository.mlmodel import mlmodel_get
from registry.selectors.repository.revision import files_of, revision_get
from registry.services.work.attempt import job_claim
from registry.services.work.job import job_cancel
from registry.services.work.reaper import job_reap
from registry.services.work.secret import seal, unseal
from registry.states import JobKind
from registry.tables import AuditEntry, Job, JobEvent, MLModel, Namespace, Revision, User
from tests.contract.origin import NAME, OriginServer, serving
from tests.factories import commit_files, make_mlmodel, readme, tiny_onnx
from tests.hub.api.client import Api
from workers.device.errors import JobFailure
from workers.jobs import modelimport, run
from workers.jobs.guardedhttp import GuardedTransport
from workers.jobs.hub import RegistryHub

pytestmark = pytest.mark.django_db(transaction=True)
MINE = "alice/net"
SECRET = "hf_verysecret"
FILES = {
    "README.md": readme(license="apache-2.0").encode(),
    "model.onnx": tiny_onnx(),
    "notes/a.txt": b"first",
}


@pytest.fixture
def far(settings: Any, data_dir: Path) -> Iterator[OriginServer]:
    origin = OriginServer()
    origin.commit(FILES)
    with serving(origin):
        settings.IMPORT_SERVERS = [origin.url]
        yield origin


def ask(user: User, **body: Any) -> dict[str, Any]:
    """Request an import; returns the job."""
    return Api(user).post("imports", {"model": MINE, "origin": NAME, **body}).ok(202)


def done(user: User, **body: Any) -> dict[str, Any]:
    """Request an import and do it; returns the job that has ended."""
    uuid = ask(user, **body)["uuid"]
    run.drain_imports()
    return Api(user).get(f"jobs/{uuid}").ok()


def contents(user: User) -> dict[str, str]:
    return {row.path: row.blob.sha256 for row in files_of(revision_get(mlmodel_get(user, MINE)))}


def nothing_holds(secret: str, data_dir: Path) -> bool:
    """Whether neither the jobs nor a file of the hub's data has the secret, sealed or not."""
    texts = [json.dumps([job.parameters, job.progress, job.result]) for job in Job.objects.all()]
    texts += [job.failure_detail + job.secret for job in Job.objects.all()]
    texts += [*JobEvent.objects.values_list("message", flat=True)]
    texts += [json.dumps(entry.detail) for entry in AuditEntry.objects.all()]
    files = [path.read_bytes() for path in (data_dir / "imports").rglob("*") if path.is_file()]
    is_erased = not any(job.secret for job in Job.objects.all())
    return is_erased and not any(secret in text for text in texts + [str(f) for f in files])


def test_a_model_arrives_with_its_origin_in_the_name_of_its_user_and_is_updated(
    alice: User, far: OriginServer, data_dir: Path
) -> None:
    job = done(alice)

    assert (job["state"], job["result"]["changed"]) == ("succeeded", 3), job["failure"]
    model = mlmodel_get(alice, MINE)
    revision = revision_get(model)
    assert set(contents(alice)) >= set(FILES)
    assert revision.author == alice
    origin = imported_version(revision)
    assert origin is not None
    assert (origin.url, origin.oid) == (f"{far.url}/{NAME}", job["result"]["commit"])
    # Free: public as soon as its network has been inspected.
    assert (model.license, model.is_held) == ("Apache-2.0", True)
    assert not [*(data_dir / "imports").iterdir()]
    far.requests.clear()
    assert "has not changed" in done(alice, compare=True)["result"]["summary"]
    far.commit({**FILES, "notes/a.txt": b"second"})
    assert "notes/a.txt" in done(alice, compare=True)["result"]["summary"]
    assert far.fetched() == []
    commit_files(model, {"notes/a.txt": b"ours"}, actor=alice)
    refused = done(alice)["failure"]
    assert (refused["code"], "notes/a.txt" in refused["detail"]) == ("files_edited", True)
    assert done(alice, overwrite=True)["result"]["changed"] == 1


def test_a_gated_model_needs_a_token_which_nothing_keeps(
    alice: User, far: OriginServer, data_dir: Path
) -> None:
    far.token = SECRET
    refused = done(alice)["failure"]
    assert refused["code"] == "access_gated"
    assert f"with your token for {far.url}" in refused["detail"]
    assert "no access" in done(alice, token="hf_wrong")["failure"]["detail"]

    answer = ask(alice, token=SECRET)

    assert SECRET not in json.dumps(answer)
    sealed = Job.objects.get(uuid=answer["uuid"]).secret
    assert SECRET not in sealed
    assert unseal(sealed) == SECRET
    run.drain_imports()
    model = mlmodel_get(alice, MINE)
    assert set(contents(alice)) >= set(FILES)
    # Whoever got through a gate may not open it for everybody.
    assert (model.visibility, model.is_held) == ("private", False)
    assert nothing_holds(SECRET, data_dir)


def test_an_import_whose_worker_died_is_done_by_another_one(
    alice: User, far: OriginServer, data_dir: Path
) -> None:
    far.token = SECRET
    uuid = ask(alice, token=SECRET)["uuid"]
    assert job_claim(device_name=None, kinds=[JobKind.IMPORT], target=None)
    Job.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    job_reap()
    run.drain_imports()
    assert Api(alice).get(f"jobs/{uuid}").ok()["state"] == "succeeded"
    assert nothing_holds(SECRET, data_dir)


def test_an_import_whose_server_breaks_off_goes_on_where_it_was(
    alice: User, far: OriginServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Retry, "wait_s", lambda *_: 0.0)
    large = bytes(range(251)) * 4_000
    far.commit({**FILES, "z.bin": large})
    far.cut = 300_000
    # The server may answer later: the job waits for another attempt.
    assert done(alice)["state"] == "queued"
    assert set(contents(alice)) == {".gitattributes"}

    far.cut, far.is_away = 0, False
    far.ranges.clear()
    Job.objects.update(not_before=timezone.now())
    run.drain_imports()

    assert contents(alice)["z.bin"] == hashlib.sha256(large).hexdigest()
    # What had arrived is not fetched again, and there is one commit beside the empty one.
    assert far.ranges == ["bytes=300000-"]
    assert Revision.objects.filter(mlmodel=mlmodel_get(alice, MINE)).count() == 2


def test_a_cancelled_import_forgets_its_token_and_stops(
    alice: User, far: OriginServer, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = ask(alice, token=SECRET)
    assert Api(alice).post("imports", {"model": MINE, "origin": NAME}).code == "invalid_state"
    Api(alice).post(f"jobs/{answer['uuid']}/cancel", {}).ok()
    assert nothing_holds(SECRET, data_dir)
    check = RegistryHub.check

    def cancel_first(hub: RegistryHub) -> None:
        job = Job.objects.get(uuid=hub.ticket.job_uuid)
        if far.fetched() and not job.cancel_requested:
            job_cancel(actor=alice, job=job)
            hub._lease._renew()
        check(hub)

    monkeypatch.setattr(RegistryHub, "check", cancel_first)
    assert done(alice, token=SECRET)["state"] == "cancelled"
    assert set(contents(alice)) == {".gitattributes"}
    assert nothing_holds(SECRET, data_dir)


def test_a_redirect_to_the_hubs_own_network_is_not_followed(alice: User, far: OriginServer) -> None:
    with serving(OriginServer(far.versions)) as inside:
        far.elsewhere = inside.url
        refused = done(alice)["failure"]
    assert refused["code"] == "invalid_url"
    assert inside.requests == []


@pytest.mark.parametrize(
    "url", ["http://example.org/x", "https://127.0.0.1/x", "https://[::1]/x", "https://10.1.2.3/x"]
)
def test_only_public_hosts_with_tls_are_reached(url: str) -> None:
    with GuardedTransport(["https://127.0.0.1:8443"]) as guarded, pytest.raises(JobFailure):
        guarded.handle_request(httpx.Request("GET", url))


@pytest.mark.parametrize("path", ["model.onnx", "notes/a.txt"])
def test_other_bytes_than_stated_are_refused_and_good_files_are_fetched_once(
    alice: User, far: OriginServer, path: str
) -> None:
    far.corrupt = frozenset({path})
    refused = done(alice)["failure"]
    assert refused["code"] == "digest_mismatch"
    assert path in refused["detail"]
    assert set(contents(alice)) == {".gitattributes"}
    far.corrupt = frozenset()
    far.requests.clear()
    assert done(alice)["state"] == "succeeded"
    assert far.fetched()[0] == path
    # Tried again, it is still a model that was made for its import.
    assert mlmodel_get(alice, MINE).is_held


def test_what_does_not_fit_is_refused_with_both_numbers(
    alice: User, far: OriginServer, settings: Any
) -> None:
    needed = f"{sum(map(len, FILES.values())):,} bytes"
    settings.IMPORT_BYTES = 10
    refused = done(alice)["failure"]
    assert refused["code"] == "body_too_large"
    assert needed in refused["detail"]
    assert "at most 10." in refused["detail"]
    settings.IMPORT_BYTES = 10**9
    used = Namespace.objects.get(name="alice").used_bytes
    Namespace.objects.filter(name="alice").update(quota_bytes=used + 7)
    refused = done(alice)["failure"]
    assert refused["code"] == "quota_exceeded"
    assert needed in refused["detail"]
    assert " 7 are left" in refused["detail"]
    assert far.fetched() == []


def test_bad_requests_are_refused_at_once(
    alice: User, bob: User, far: OriginServer, settings: Any
) -> None:
    def refusal(user: User | None = alice, **body: Any) -> str:
        answer = Api(user).post("imports", {"model": MINE, "origin": NAME, **body})
        return str(answer.code)

    assert refusal(server="http://127.0.0.1:1") == "import_not_offered"
    assert refusal(origin="../x") == refusal(revision="a b") == "invalid_request"
    assert refusal(token="a\nb") == "invalid_request"
    assert refusal(None) == "not_authenticated"
    assert refusal(bob) == "permission_denied"
    assert not MLModel.objects.exists()
    make_mlmodel("alice/own", actor=alice, files={"README.md": readme()})
    assert refusal(model="alice/own") == "model_exists"
    settings.IMPORT_SERVERS = []
    assert refusal() == "import_not_offered"
    assert Api(alice).get("imports/servers").ok() == {"items": []}
    assert not Job.objects.filter(kind=JobKind.IMPORT).exists()


def test_what_is_wrong_at_the_origin_is_said_with_what_helps(
    alice: User, far: OriginServer, settings: Any
) -> None:
    assert done(alice, revision="v9")["failure"]["code"] == "revision_not_found"
    assert done(alice, origin="far/nothing")["failure"]["code"] == "model_not_found"
    far.license = ""
    far.commit({"README.md": b"# Net\n", "model.onnx": tiny_onnx()})
    assert "state it" in done(alice)["failure"]["detail"]
    assert done(alice, license="mit")["state"] == "succeeded"
    assert mlmodel_get(alice, MINE).license == "MIT"


def test_a_sealed_token_cannot_be_read_by_another_key(settings: Any) -> None:
    sealed = seal(SECRET)
    settings.SECRET_KEY = "another"
    with pytest.raises(Exception, match="secret key was changed"):
        unseal(sealed)


def test_what_a_failed_import_has_fetched_is_deleted_after_a_day(
    alice: User, far: OriginServer, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    far.corrupt = frozenset({"notes/a.txt"})
    done(alice)
    modelimport.imports_prune()
    assert [*(data_dir / "imports").iterdir()]
    monkeypatch.setattr(modelimport, "_KEEP_S", -1.0)
    modelimport.imports_prune()
    assert not [*(data_dir / "imports").iterdir()]
