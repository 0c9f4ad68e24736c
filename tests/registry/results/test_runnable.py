"""Why a model cannot be run, as its inspections and builds say."""

import pytest

from registry.selectors.results.runnable import all_not_runnable, not_runnable
from registry.services.results.build import builds_publish
from registry.services.results.record import record_add
from registry.services.work.attempt import job_fail, job_succeed
from registry.services.work.job import job_cancel, job_submit
from registry.states import FailureClass, JobKind, RepositoryKind
from registry.tables import Graph, Job, MLModel, Revision
from tests.registry import shopfloor

pytestmark = pytest.mark.django_db

DETAIL = "model.onnx is a Python pickle. Export the model to ONNX."


def inspected(revision: Revision, fault: FailureClass | None = None) -> Job:
    """An inspection of the revision that has ended."""
    job = job_submit(actor=None, kind=JobKind.INSPECT, revision=revision)
    ticket = shopfloor.claim_inspect()
    held = {"job_uuid": ticket.job_uuid, "fence": ticket.fence}
    if fault is None:
        job_succeed(**held, result={})
    else:
        job_fail(**held, failure_class=fault, code="onnx_unreadable", detail=DETAIL)
    return job


def test_a_failed_inspection_is_the_reason_with_the_next_step() -> None:
    revision = shopfloor.make_revision("alice/net")
    inspected(revision, FailureClass.INVALID)
    fault = not_runnable(revision)
    assert fault is not None
    assert (fault.code, fault.reason) == ("onnx_unreadable", DETAIL)
    assert "publish it again" in fault.remedy


def test_a_network_that_was_inspected_or_waits_for_it_has_no_fault() -> None:
    revision = shopfloor.make_revision("alice/net")
    job_submit(actor=None, kind=JobKind.INSPECT, revision=revision)
    assert not_runnable(revision) is None
    shopfloor.make_graph(revision)
    ticket = shopfloor.claim_inspect()
    assert not_runnable(revision) is None
    job_succeed(job_uuid=ticket.job_uuid, fence=ticket.fence, result={})
    assert not_runnable(revision) is None


def test_a_network_that_does_not_open_has_facts_and_a_fault() -> None:
    revision = shopfloor.make_revision("alice/net")
    shopfloor.make_graph(revision)
    inspected(revision, FailureClass.INVALID)
    assert not_runnable(revision) is not None
    inspected(revision)
    assert not_runnable(revision) is None


def test_a_published_build_has_run_whatever_an_inspection_says() -> None:
    floor = shopfloor.floor()
    floor.tune()
    ticket = floor.claim()
    held = {"job_uuid": ticket.job_uuid, "fence": ticket.fence}
    document = shopfloor.document(floor.revision, job=ticket.job_uuid)
    record = record_add(**held, document=document)
    builds_publish(**held, builds=[shopfloor.build(record.pk, is_baseline=True)])
    inspected(floor.revision, FailureClass.INVALID)
    assert not_runnable(floor.revision) is None


def test_without_a_network_or_an_inspection_the_reason_says_so() -> None:
    revision = shopfloor.make_revision("alice/net")
    fault = not_runnable(revision)
    assert fault is not None
    assert fault.code == "no_model_file"
    assert "Export" in fault.remedy
    job_cancel(actor=None, job=job_submit(actor=None, kind=JobKind.INSPECT, revision=revision))
    assert "cancelled" in str(not_runnable(revision))


def test_a_data_set_is_never_run() -> None:
    revision = shopfloor.make_revision("alice/net")
    MLModel.objects.update(kind=RepositoryKind.DATASET)
    revision.mlmodel.refresh_from_db()
    assert not_runnable(revision) is None


def test_a_list_of_models_takes_three_queries(django_assert_num_queries: object) -> None:
    revisions = [shopfloor.make_revision(f"alice/net{number}") for number in range(4)]
    shopfloor.make_graph(revisions[0])
    inspected(revisions[1], FailureClass.INFRASTRUCTURE)
    Job.objects.update(state="failed", failure_class=FailureClass.INFRASTRUCTURE)
    with django_assert_num_queries(3):  # type: ignore[operator]
        faults = all_not_runnable([revision.pk for revision in revisions])
    assert set(faults) == {revision.pk for revision in revisions[1:]}
    assert "operators" in faults[revisions[1].pk].remedy
    assert Graph.objects.count() == 1
