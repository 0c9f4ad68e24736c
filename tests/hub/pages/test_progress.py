"""Jobs are watched in words: phase, seconds of the budget, time left, the best so far."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

import workers
from hpcfair.tickets import JobTicket
from hub.pages.progress import in_words, progress_of, summary_of, title_of
from registry.services.results.trial import trial_add
from registry.services.work.attempt import job_fail, job_progress, job_succeed
from registry.services.work.job import job_submit
from registry.states import FailureClass, JobKind
from registry.tables import Job, User
from tests.hub.pages.conftest import Tuned
from tests.registry import shopfloor

HTMX = {"HX-Request": "true"}
AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def reported_phases() -> set[str]:
    """Phases in calls such as ``hub.progress("fetch", ...)``."""
    call = re.compile(r'progress\(\s*"([a-z-]+)"')
    modules = Path(workers.__file__).parent.rglob("*.py")
    return {phase for module in modules for phase in call.findall(module.read_text())}


def running(**progress: Any) -> Job:
    words = {"phase": "search", "done": 3, "total": None, "message": "", "at": AT.isoformat()}
    return Job(state="leased", kind="tune", progress=words | progress)


@pytest.mark.parametrize("phase", sorted(reported_phases()))
def test_every_phase_that_workers_report_has_words(phase: str) -> None:
    progress = progress_of(running(phase=phase), AT)
    assert progress is not None
    assert progress.phase[0].isupper(), f"hub/pages/progress.py has no words for {phase}"


@pytest.mark.parametrize(
    ("age_s", "used", "left"),
    [
        (0, 41, "about 79 s left, then the best candidates are confirmed"),
        (9, 50, "about 70 s left, then the best candidates are confirmed"),
        (999, 120, "ends with what is tried now"),
        (-5, 41, "about 79 s left, then the best candidates are confirmed"),
    ],
)
def test_seconds_of_the_budget_go_on_between_reports(age_s: int, used: float, left: str) -> None:
    job = running(used_s=41.0, budget_s=120.0)
    progress = progress_of(job, AT + timedelta(seconds=age_s))
    assert progress is not None
    assert (progress.used, progress.budget, progress.unit, progress.left) == (used, 120, "s", left)


def test_steps_are_counted_where_there_is_no_budget() -> None:
    progress = progress_of(running(phase="reproduce", total=7))
    assert progress is not None
    assert (progress.phase, progress.used, progress.budget, progress.unit) == (
        "Running builds again",
        3,
        7,
        "",
    )


def test_a_report_of_an_older_worker_is_shown_as_it_is() -> None:
    progress = progress_of(Job(state="leased", progress={"phase": "odd", "message": "trial 7"}))
    assert progress is not None
    assert (progress.phase, progress.now, progress.budget) == ("odd", "trial 7", None)
    assert progress_of(Job(state="leased", progress={})) is not None
    assert progress_of(Job(state="queued", progress={})) is None


@pytest.mark.parametrize(
    ("candidate", "words"),
    [
        ("onnxruntime", "onnxruntime"),
        (
            "openvino precision=int8 num_streams=2",
            "openvino with precision int8, num streams 2",
        ),
        ("tvm tuned=True fast_math=False", "tvm with tuned, no fast math"),
        ("onnxruntime default=False threads=one", "onnxruntime with threads one"),
        ("onnxruntime default=True", "onnxruntime with nothing set"),
        ("x failed: no memory", "x failed: no memory"),
    ],
)
def test_candidates_are_told_in_words(candidate: str, words: str) -> None:
    assert in_words(candidate) == words


def test_a_repetition_is_told_from_a_search() -> None:
    assert title_of(Job(kind="tune")) == "Tuning"
    assert title_of(Job(kind="tune", parameters={"repeats": "an id"})) == "Measuring again"


@pytest.fixture
def search(tuned: Tuned) -> tuple[Job, JobTicket]:
    """A second search of ``alice/stars``, claimed."""
    revision = tuned.job.revision
    job = job_submit(actor=None, kind=JobKind.TUNE, revision=revision, target=tuned.job.target)
    ticket = shopfloor.Floor(
        User.objects.get(),
        revision,
        None,
        tuned.job.target,
        tuned.job.device,  # type: ignore[arg-type]
    ).claim()
    return job, ticket


def report(ticket: JobTicket, **more: Any) -> None:
    words = {"phase": "search", "done": 1, "total": None, "message": "onnxruntime threads=half"}
    handle = {"job_uuid": ticket.job_uuid, "fence": ticket.fence}
    job_progress(**handle, **{**words, "used_s": 41.0, "budget_s": 120.0, **more})


@pytest.mark.django_db
def test_a_running_search_shows_progress_and_the_best_so_far(
    client: Client, search: tuple[Job, JobTicket]
) -> None:
    job, ticket = search
    report(ticket)
    page = client.get(f"/jobs/{job.uuid}").content.decode()
    assert "Searching configurations" in page
    assert re.search(r"4\d of 120 s", page)
    assert "onnxruntime with threads half" in page
    assert "nothing proved faster than the default yet" in page
    faster = {"ratio": 0.5, "ratio_low": 0.49, "ratio_high": 0.51, "p50_ns": 1000}
    handle = {"job_uuid": ticket.job_uuid, "fence": ticket.fence}
    trial_add(**handle, trial=shopfloor.trial(0, "half", **faster))
    assert "2 times as fast" in client.get(f"/jobs/{job.uuid}").content.decode()


@pytest.mark.django_db
def test_only_what_changed_is_sent_again(client: Client, search: tuple[Job, JobTicket]) -> None:
    job, ticket = search
    report(ticket)
    first = client.get(f"/jobs/{job.uuid}?seen=other", headers=HTMX).content.decode()
    assert 'id="job-facts" hx-swap-oob' in first
    version = first.partition("?seen=")[2].partition('"')[0]
    again = client.get(f"/jobs/{job.uuid}?seen={version}", headers=HTMX).content.decode()
    assert 'id="job-status"' in again
    assert "job-facts" not in again
    handle = {"job_uuid": ticket.job_uuid, "fence": ticket.fence}
    trial_add(**handle, trial=shopfloor.trial(0, "half"))
    later = client.get(f"/jobs/{job.uuid}?seen={version}", headers=HTMX).content.decode()
    assert "job-facts" in later
    assert "Course of the search" in later


@pytest.mark.django_db
def test_a_model_has_one_line_for_all_its_jobs(
    client: Client, tuned: Tuned, search: tuple[Job, JobTicket]
) -> None:
    job, ticket = search
    report(ticket)
    line = client.get(f"{tuned.path}/jobs/summary", headers=HTMX).content.decode()
    assert "Tuning for x86-64-avx512" in line
    assert re.search(r"searching configurations, 4\d of 120 s", line)
    assert "hx-get" in line
    assert f"/jobs/{job.uuid}" in client.get(f"{tuned.path}/jobs").content.decode()
    job_fail(
        job_uuid=ticket.job_uuid,
        fence=ticket.fence,
        failure_class=FailureClass.INVALID,
        code="no_backend",
        detail="No backend is installed.",
    )
    line = client.get(f"{tuned.path}/jobs/summary", headers=HTMX).content.decode()
    assert "failed: No backend is installed." in line
    assert "1 job succeeded" in line
    assert "Reload the page" in line
    assert "hx-get" not in line


@pytest.mark.django_db
def test_a_repeated_job_replaces_the_failed_one(
    tuned: Tuned, search: tuple[Job, JobTicket]
) -> None:
    _, ticket = search
    job_succeed(job_uuid=ticket.job_uuid, fence=ticket.fence, result={"summary": "done"})
    summary = summary_of(tuned.job.revision)
    assert (len(summary.open), len(summary.failed), summary.succeeded) == (0, 0, 2)
