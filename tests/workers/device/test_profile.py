"""Winning builds are profiled once they are published; what goes wrong there is only noted."""

from collections.abc import Mapping
from pathlib import Path
from typing import cast

import pytest

from hpcfair.measurement.types import Deviation, Interval, Verdict
from hpcfair.tickets import JobTicket
from registry.services.results.build import builds_publish
from registry.services.results.record import record_add
from registry.tables import Build, Job, Profile
from tests.registry import shopfloor
from tests.workers.hubs import hub_of
from workers.device.best import best_results
from workers.device.profile import profile_winners
from workers.engine.confirmation import ConfirmedResult
from workers.engine.errors import CandidateFailed, LeaseLost
from workers.engine.numerics import OutputCheck
from workers.engine.ports import Array, Device
from workers.engine.profile import CallSite, Kernel, NodeLink
from workers.engine.profile import Profile as Found
from workers.engine.search_result import SearchResult
from workers.engine.testset import TestSet
from workers.engine.trials import Measurement, Trial
from workers.engine.types import BuildResult, Candidate

pytestmark = pytest.mark.django_db

FOUND = Found(
    "pretend profiler",
    100,
    (CallSite("conv", "Conv", 90, 1, 5, kernel="k", nodes=(NodeLink(0, "exact"),)),),
    (Kernel("k", code={"asm": "k.s"}),),
)


class Profiler:
    """A device that only profiles: in turn, what it is given; an error is raised."""

    def __init__(self, *answers: Found | Exception) -> None:
        self._answers = list(answers)

    def profile(
        self,
        backend: str,  # noqa: ARG002
        build: BuildResult,  # noqa: ARG002
        inputs: Mapping[str, Array],  # noqa: ARG002
        out: Path,
    ) -> Found:
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        (out / "k.s").write_text("vfmadd231ps")
        return answer


def confirmed(threads: str, ratio: float, verdict: Verdict) -> ConfirmedResult:
    candidate = Candidate("onnxruntime", shopfloor.candidate(threads)["options"])
    build = BuildResult("measured")
    trial = Trial(0, candidate, "test", "measured", 1.0, build)
    measurement = Measurement((), Interval(ratio, ratio, ratio), 1, 1, verdict)
    return ConfirmedResult(trial, build, measurement, OutputCheck(Deviation(0, 0, 0, 1.0), None, 1))


@pytest.fixture
def ticket() -> JobTicket:
    """A job that has published a baseline and a faster build."""
    floor = shopfloor.floor()
    floor.tune()
    claimed = floor.claim()
    held = {"job_uuid": claimed.job_uuid, "fence": claimed.fence}
    builds = []
    for threads, columns in (
        ("all", {"is_baseline": True, "ratio": 1.0, "verdict": "same"}),
        ("half", {}),
    ):
        document = shopfloor.document(floor.revision, threads, job=claimed.job_uuid)
        record = record_add(**held, document=document)
        builds.append(shopfloor.build(record.pk, threads, **columns))
    builds_publish(**held, builds=builds)
    return claimed


def profiled(ticket: JobTicket, folder: Path, *answers: Found | Exception) -> list[str]:
    """Profile the winners; what the job's log says then."""
    baseline, faster = confirmed("all", 1.0, "same"), confirmed("half", 0.5, "faster")
    slower = confirmed("one", 1.5, "slower")
    tests = TestSet((), None, {}, "random", 0)
    result = SearchResult((), (slower, faster), baseline, tests, None, "")
    device = cast("Device", Profiler(*answers))
    profile_winners(hub_of(ticket), device, tests, best_results(result), folder)
    return [event.message for event in Job.objects.get().events.all()]


def test_each_winner_is_profiled_once(ticket: JobTicket, tmp_path: Path) -> None:
    profiled(ticket, tmp_path, FOUND, FOUND)
    assert Profile.objects.count() == 2
    kernel = Build.objects.get(is_baseline=True).profile.kernels.get()
    assert kernel.code.get().blob.size_bytes == len("vfmadd231ps")


@pytest.mark.parametrize(
    "failure",
    [
        CandidateFailed("crash", "it fell over"),
        CandidateFailed("infrastructure", "it fell over"),
        OSError("it fell over"),
        Found("pretend profiler", -1, ()),
    ],
)
def test_one_that_cannot_be_profiled_is_noted_and_the_next_is_profiled(
    ticket: JobTicket, tmp_path: Path, failure: Found | Exception
) -> None:
    said = profiled(ticket, tmp_path, failure, FOUND)
    assert any(line.startswith("No profile of onnxruntime: ") for line in said)
    assert Profile.objects.get().build.is_baseline is False


def test_who_lost_the_lease_stops(ticket: JobTicket, tmp_path: Path) -> None:
    Job.objects.update(fence=99)
    with pytest.raises(LeaseLost):
        profiled(ticket, tmp_path, FOUND, FOUND)
    assert not Profile.objects.exists()
