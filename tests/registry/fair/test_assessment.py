"""Looks at records from outside: asked for by every change, kept, planned again, told together."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.cache import cache
from django.db.models import F
from django.utils import timezone

from hpcfair.tickets import JobTicket
from registry.errors import Forbidden, Invalid, NotFound
from registry.fair.description import Description
from registry.fair.score.harvest import expected
from registry.fair.score.score import assess
from registry.schemas import fair_problems
from registry.selectors.fair.assessment import (
    assessment_get,
    due,
    history,
    history_of,
    latest,
)
from registry.selectors.fair.report import hub_report
from registry.selectors.repository.revision import revision_get
from registry.services.fair import assessment as service
from registry.services.repository.fork import fork
from registry.services.repository.mlmodel import mlmodel_move, mlmodel_update
from registry.services.repository.ref import ref_create
from registry.services.work.attempt import job_claim, job_succeed
from registry.services.work.reaper import job_reap
from registry.states import JobKind, JobState, RefKind, RepositoryKind
from registry.tables import AuditEntry, Job, JobQueue, MLModel, Revision, User
from tests.factories import commit_files, make_mlmodel, readme
from tests.registry.assessed import document
from tests.registry.fair.samples import EVERY

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def looking(settings: Any) -> None:
    """A hub that looks by itself."""
    settings.ASSESS_DAYS = 7


@pytest.fixture
def net(alice: User) -> MLModel:
    """The public ``alice/net``, whose changes so far have been looked at."""
    made = shared("alice/net")
    finish()
    return made


def shared(name: str, **options: Any) -> MLModel:
    return make_mlmodel(name, files={"README.md": readme()}, **options)


def waiting() -> list[Revision]:
    rows = Job.objects.filter(kind=JobKind.ASSESS, state=JobState.QUEUED)
    return [job.revision for job in rows.order_by("pk")]


def claim() -> JobTicket | None:
    return job_claim(device_name=None, kinds=[JobKind.ASSESS], target=None)


def finish() -> None:
    """End all that waits, as if somebody had looked and found nothing to keep."""
    while ticket := claim():
        job_succeed(job_uuid=ticket.job_uuid, fence=ticket.fence, result={"summary": "seen"})


def test_what_is_published_is_looked_at(alice: User) -> None:
    net = shared("alice/net")
    assert waiting() == [revision_get(net)]
    job = Job.objects.get(kind=JobKind.ASSESS)
    assert (job.target, job.parameters, job.requested_by) == (None, {}, None)
    shared("alice/images", kind=RepositoryKind.DATASET)
    shared("alice/mine", visibility="private")
    assert len(waiting()) == 2


def test_what_strangers_are_not_led_to_is_not_looked_at(net: MLModel) -> None:
    old = revision_get(net)
    ref_create(actor=None, mlmodel=net, kind=RefKind.BRANCH, name="side", revision=old)
    side = commit_files(net, {"notes.txt": "a"}, branch="side")
    assert waiting() == []
    assert service.assess_soon(side) is None
    with pytest.raises(Invalid, match="newer one"):
        service.assess_request(actor=None, revision=side)
    newest = commit_files(net, {"notes.txt": "b"})
    assert service.assess_soon(old) is None
    ref_create(actor=None, mlmodel=net, kind=RefKind.TAG, name="v1", revision=old)
    assert service.assess_soon(old) is not None
    assert waiting() == [newest, old]


def moved(net: MLModel) -> None:
    mlmodel_move(actor=None, mlmodel=net, namespace="alice", name="web")


def gated(net: MLModel) -> None:
    mlmodel_update(actor=None, mlmodel=net, gate="manual")


def forked(net: MLModel) -> None:
    fork(actor=None, source=net, namespace="alice", name="copy")


def shown_again(net: MLModel) -> None:
    mlmodel_update(actor=None, mlmodel=net, visibility="private")
    assert waiting() == []
    mlmodel_update(actor=None, mlmodel=net, visibility="public")


@pytest.mark.parametrize("change", [moved, gated, forked, shown_again])
def test_what_changes_as_a_whole_is_looked_at(
    net: MLModel, change: Callable[[MLModel], None]
) -> None:
    change(net)
    assert len(waiting()) == 1


def test_a_hub_that_looks_only_when_asked(alice: User, settings: Any) -> None:
    settings.ASSESS_DAYS = 0
    net = shared("alice/net")
    assert (waiting(), service.assess_due(limit=9)) == ([], [])
    service.assess_request(actor=alice, revision=revision_get(net))
    assert len(waiting()) == 1


def test_only_those_who_may_write_ask_for_a_look(net: MLModel, bob: User) -> None:
    with pytest.raises(Forbidden):
        service.assess_request(actor=bob, revision=revision_get(net))


def test_between_two_looks_lies_a_minute(net: MLModel) -> None:
    head = revision_get(net)
    look = service.assessment_add(head, document())
    job = service.assess_soon(head)
    assert job is not None
    assert service.assess_soon(head) == job
    assert claim() is None
    job.refresh_from_db()
    assert job.not_before == look.created_at + service.PAUSE
    past = timezone.now() - timedelta(seconds=1)
    Job.objects.filter(pk=job.pk).update(not_before=past, notified_at=service._notified_at(past))
    job_reap()
    notified_at = JobQueue.objects.get(name="hub.assess").notified_at
    assert notified_at is not None, "the reaper notifies as soon as it may begin"
    assert claim() is not None


def test_a_change_while_somebody_looks_is_looked_at_afterwards(net: MLModel) -> None:
    head = revision_get(net)
    service.assess_soon(head)
    ticket = claim()
    assert ticket is not None
    service.assess_soon(head)
    assert waiting() == []
    service.assessment_store(job_uuid=ticket.job_uuid, fence=ticket.fence, document=document())
    job_succeed(job_uuid=ticket.job_uuid, fence=ticket.fence, result={"summary": "seen"})
    again = service.assess_again(job_uuid=ticket.job_uuid)
    assert again is not None
    assert (waiting(), again.parameters) == ([head], {})
    assert service.assess_again(job_uuid=str(again.uuid)) is None


def test_another_job_tells_that_the_record_changed(net: MLModel) -> None:
    head = revision_get(net)
    job = Job.objects.create(kind=JobKind.INSPECT, revision=head, state=JobState.SUCCEEDED)
    service.assess_after(job_uuid=str(job.uuid))
    assert waiting() == [head]
    assert service.assess_after(job_uuid="no such") is None


def test_of_equal_findings_in_a_row_the_first_and_the_last_are_kept(net: MLModel) -> None:
    head = revision_get(net)
    kept = [service.assessment_add(head, document(points)) for points in (1, 2, 2, 2, 2, 1)]
    assert list(history(head)) == [kept[5], kept[4], kept[1], kept[0]]
    assert latest(head) == kept[5]
    assert (kept[5].points, kept[5].most, kept[5].tool) == (1, 4, "test 1")
    entry = AuditEntry.objects.filter(action="assessment.add").latest("pk")
    assert entry.detail == {"points": 1, "of": 4}


def test_every_version_has_its_own_history(net: MLModel) -> None:
    old = revision_get(net)
    first = service.assessment_add(old, document(1))
    newest = commit_files(net, {"notes.txt": "b"})
    with pytest.raises(NotFound) as refused:
        assessment_get(newest)
    assert refused.value.code == "assessment_not_found"
    second = service.assessment_add(newest, document(2))
    assert [assessment_get(one) for one in (old, newest)] == [first, second]
    assert list(history_of(net)) == [second, first]


@pytest.mark.parametrize(
    "change",
    [
        {"schema": "hpcfair.fair/2"},
        {"tool": "x" * 65},
        {"points": 5},
        {"points": -1},
        {"points": True},
        {"metrics": []},
        {"metrics": [{"id": "x"}]},
        {"subject": "\0"},
        {"colour": "red"},
    ],
    ids=str,
)
def test_what_is_no_assessment_is_refused(net: MLModel, change: dict[str, Any]) -> None:
    with pytest.raises(Invalid) as refused:
        service.assessment_add(revision_get(net), document() | change)
    assert refused.value.code == "invalid_request"


@pytest.mark.parametrize("description", EVERY.values(), ids=EVERY.keys())
def test_what_a_score_writes_is_of_the_schema(description: Description) -> None:
    assert fair_problems(assess(expected(description)).as_dict()) == {}


def test_what_was_never_tried_is_due_first_and_what_was_looked_at_lately_is_not(
    alice: User,
) -> None:
    heads = [revision_get(shared(f"alice/{name}")) for name in "abc"]
    mine = revision_get(shared("alice/mine", visibility="private"))
    assert due(limit=9).ready == [], "they were queued as they were published"
    Job.objects.all().delete()
    for hours, head in enumerate((*heads, mine)):
        _let_due(head, hours=9 - hours)
    actual = due(limit=9)
    assert (actual.ready, actual.later) == (heads, {mine.pk})
    service.assessment_add(heads[0], document())
    assert due(limit=9).ready == heads[1:]
    assert [job.revision for job in service.assess_due(limit=1)] == [heads[1]]
    assert service.assess_due(limit=1) == [], "as many wait already"
    assert [job.revision for job in service.assess_due(limit=9)] == [heads[2]]
    assert due(limit=9).ready == [], "a run that stores nothing is repeated after an hour"
    finish()
    for head in heads:
        Revision.objects.filter(pk=head.pk).update(assess_at=F("assess_at") - service.RETRY)
    assert due(limit=9).ready == heads[1:]


def test_versions_that_nothing_leads_to_are_looked_at_once(net: MLModel) -> None:
    old = revision_get(net)
    commit_files(net, {"notes.txt": "b"})
    finish()
    _let_due(old)
    assert old.pk in due(limit=9).never
    assert service.assess_due(limit=9) == []
    old.refresh_from_db()
    assert old.assess_at is None
    ref_create(actor=None, mlmodel=net, kind=RefKind.TAG, name="v1", revision=old)
    assert [job.revision for job in service.assess_due(limit=9)] == [old]


def _let_due(revision: Revision, *, hours: int = 1) -> None:
    due_at = timezone.now() - timedelta(hours=hours)
    Revision.objects.filter(pk=revision.pk).update(assess_at=due_at)


def test_the_report_tells_of_each_record_the_last_look(
    alice: User, bob: User, django_assert_num_queries: Any
) -> None:
    for name, found in {"a": [1, 4], "b": [1], "c": [3], "mine": [2]}.items():
        made = shared(f"alice/{name}")
        for points in found:
            service.assessment_add(revision_get(made), document(points))
        if name == "mine":
            mlmodel_update(actor=None, mlmodel=made, visibility="private")
    cache.clear()
    with django_assert_num_queries(4):
        report = hub_report(AnonymousUser())
    assert (report.records, report.read) == (3, 3)
    assert {at: many for at, many in enumerate(report.percents) if many} == {25: 1, 75: 1, 100: 1}
    assert report.mean == pytest.approx(200 / 3)
    assert report.principles["R"][0] == "Reusable"
    assert (report.principles["R"][1].points, report.principles["R"][1].of) == (8, 12)
    (gap,) = report.gaps
    assert (gap.id, gap.records, gap.points) == ("FsF-R1.1-01M", 2, 4)
    names = [row.revision.mlmodel.full_name for row in report.least]
    assert names == ["alice/b", "alice/c", "alice/a"]
    assert [row.points for row in report.best] == [4, 3, 1]
    assert hub_report(alice).records == 4
    assert hub_report(bob).records == 3


def test_a_hub_without_looks_reports_nothing(db: None) -> None:
    cache.clear()
    report = hub_report(AnonymousUser())
    assert (report.records, report.mean, report.gaps, report.best) == (0, None, (), ())
