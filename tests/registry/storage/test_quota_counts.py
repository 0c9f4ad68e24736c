"""Quotas of models, jobs and uploads: on by default, and raised by operators."""

from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from registry.errors import Forbidden
from registry.selectors.storage.quota import allowances, jobs_allowed
from registry.services.repository.fork import fork
from registry.services.repository.mlmodel import mlmodel_create, mlmodel_move
from registry.services.storage.parts import parts_abort, parts_begin
from registry.services.storage.quota import UNLIMITED, quota_set
from registry.services.work.job import job_submit
from registry.services.work.plan import plan
from registry.states import JobKind
from registry.tables import Job, MLModel, Namespace, PartsBegun, User
from tests.factories import make_mlmodel, make_token
from tests.registry import shopfloor

pytestmark = pytest.mark.django_db


@pytest.fixture
def space(alice: User) -> Namespace:
    return Namespace.objects.get(name="alice")


def test_there_are_quotas_by_default(settings: Any) -> None:
    assert settings.QUOTA_BYTES == 100 * 2**30
    assert (settings.QUOTA_MODELS, settings.QUOTA_JOBS, settings.QUOTA_UPLOADS) == (
        1000,
        1000,
        2000,
    )


def test_one_model_too_many_is_refused_with_what_to_do(
    alice: User, lab: Namespace, charlie: User, space: Namespace
) -> None:
    quota_set(actor=None, namespace=space, quota_models=2)
    first = mlmodel_create(actor=alice, namespace="alice", name="one")
    mlmodel_create(actor=alice, namespace="alice", name="two")
    with pytest.raises(Forbidden) as caught:
        mlmodel_create(actor=alice, namespace="alice", name="three")
    assert caught.value.code == "quota_exceeded"
    assert "alice has 2 of at most 2 models and data sets" in caught.value.detail
    assert "manage.py quota alice --models NUMBER" in caught.value.hint
    with pytest.raises(Forbidden, match="at most 2"):
        fork(actor=alice, source=first, namespace="alice", name="copy")
    theirs = mlmodel_create(actor=None, namespace="lab", name="net")
    with pytest.raises(Forbidden, match="at most 2"):
        mlmodel_move(actor=None, mlmodel=theirs, namespace="alice", name="net")
    mlmodel_move(actor=alice, mlmodel=first, namespace="alice", name="renamed")
    quota_set(actor=None, namespace=space, quota_models=UNLIMITED)
    mlmodel_create(actor=alice, namespace="alice", name="three")


def test_a_person_waits_for_a_bounded_number_of_jobs(
    alice: User, space: Namespace, settings: Any
) -> None:
    settings.QUOTA_JOBS = 1
    mlmodel = make_mlmodel("alice/net", actor=alice, files={"a.txt": "a"})
    revision = mlmodel.refs.get(name="main").revision
    shopfloor.make_graph(revision)
    shopfloor.make_machine()
    (job,) = plan(actor=alice, revision=revision)
    with pytest.raises(Forbidden, match="alice has 1 of at most 1 jobs that wait or run"):
        plan(actor=alice, revision=revision)
    plan(actor=None, revision=revision)
    Job.objects.filter(pk=job.pk).update(state="succeeded")
    assert jobs_allowed(alice).used == 0


def test_counting_a_persons_open_jobs_does_not_read_the_ended_ones(alice: User) -> None:
    mlmodel = make_mlmodel("alice/net", actor=alice, files={"a.txt": "a"})
    revision = mlmodel.refs.get(name="main").revision
    job = job_submit(actor=alice, kind=JobKind.ASSESS, revision=revision)
    rows = [
        Job(kind=job.kind, revision=revision, requested_by=alice, state="succeeded")
        for _ in range(2000)
    ]
    Job.objects.bulk_create(rows)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    with CaptureQueriesContext(connection) as queries:
        assert jobs_allowed(alice).used == 1
    counting = queries[0]["sql"]
    explain = "EXPLAIN QUERY PLAN " if connection.vendor == "sqlite" else "EXPLAIN "
    with connection.cursor() as cursor:
        cursor.execute(explain + counting)
        assert "job_open" in str(cursor.fetchall())


def test_uploads_that_are_never_completed_are_bounded(
    alice: User, bob: User, data_dir: Any, settings: Any
) -> None:
    settings.QUOTA_UPLOADS = 2
    begun = [parts_begin(actor=alice, size_bytes=2**27) for _ in range(2)]
    with pytest.raises(Forbidden, match="alice has 2 of at most 2 incomplete uploads"):
        parts_begin(actor=alice, size_bytes=2**27)
    parts_begin(actor=bob, size_bytes=2**27)
    parts_abort(upload=begun[0])
    parts_begin(actor=alice, size_bytes=2**27)
    PartsBegun.objects.filter(user=alice).update(created_at="2020-01-01T00:00:00Z")
    for _ in range(2):
        parts_begin(actor=alice, size_bytes=2**27)
    assert begun[1].key not in str(PartsBegun.objects.values_list("key", flat=True))


def test_operators_see_and_raise_quotas(space: Namespace) -> None:
    out = StringIO()
    call_command("quota", "alice", "--models", "5", "--jobs", "none", stdout=out)
    space.refresh_from_db()
    assert (space.quota_models, space.quota_jobs) == (5, UNLIMITED)
    assert "alice\t0 models and data sets\tof 5" in out.getvalue()
    assert "jobs that wait or run\tno quota" in out.getvalue()
    call_command("quota", "alice", "--models", "default", stdout=out)
    space.refresh_from_db()
    assert space.quota_models is None


def test_people_see_their_quotas(client: Client, alice: User, space: Namespace) -> None:
    client.force_login(alice)
    page = client.get("/alice").content.decode()
    assert "Models and data sets</dt><dd>0 of 1000" in page
    assert "Incomplete uploads</dt><dd>0 of 2000" in page
    headers = {"Authorization": f"Bearer {make_token(alice)}"}
    quotas = client.get("/api/v1/whoami", headers=headers).json()["quotas"]
    assert {one["name"]: (one["used"], one["limit"]) for one in quotas} == {
        "bytes": (0, 100 * 2**30),
        "models": (0, 1000),
        "jobs": (0, 1000),
        "uploads": (0, 2000),
        "run_seconds": (0, 3600),
        "run_mib": (0, 1024),
    }
    assert "of 1000" not in Client().get("/alice").content.decode()
    assert [one.what for one in allowances(space)] == [
        "models",
        "jobs",
        "uploads",
        "run_mib",
        "run_seconds",
    ]
    assert not MLModel.objects.exists()
