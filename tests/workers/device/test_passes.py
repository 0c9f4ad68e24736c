"""Studies of passes through the real engine, and searches that try what they found."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from onnx import ModelProto

from registry.selectors.results.schedule import schedules_best
from registry.services.work.attempt import job_claim
from registry.services.work.followup import follow_up
from registry.services.work.job import job_submit
from registry.services.work.plan import BACKGROUND_PRIORITY
from registry.states import ArchitectureClass, JobKind, JobState
from registry.tables import Graph, Job, PassPortfolio, PassTrial, User
from tests.factories import make_mlmodel, readme
from tests.programs import needs
from tests.workers.hubs import hub_of
from workers.backends.registry import available
from workers.backends.tvm.backend import TvmBackend
from workers.device import pass_store, passes
from workers.device.schedule import schedule_toolchain
from workers.device.workspace import workspace
from workers.engine.errors import LeaseLost
from workers.engine.passes.evaluation import ComparisonEffort
from workers.engine.passes.menu import Menu
from workers.engine.passes.study import StudyBudget
from workers.engine.types import Network, TargetSpec
from workers.fleet.probe import ThisMachine
from workers.jobs import run
from workers.jobs.device import register
from workers.testing import networks

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.fixture
def here(settings: Any, monkeypatch: pytest.MonkeyPatch) -> ThisMachine:
    settings.PASSES_S = 4
    quick = ComparisonEffort(pairs=2, seconds=0.2)
    monkeypatch.setattr(
        passes, "backends_of", lambda here, formats: available(here.spec, ["onnxruntime"], formats)
    )
    monkeypatch.setattr(passes, "StudyBudget", lambda s: StudyBudget(s, screen=quick, final=quick))
    return register()


def studied(alice: User, network: ModelProto | None = None) -> Job:
    """A study that waits, of a residual network unless another one is given."""
    model = (network or networks.residual_cnn()).SerializeToString()
    make_mlmodel("alice/net", actor=alice, files={"README.md": readme(), "model.onnx": model})
    run.drain([JobKind.INSPECT], here=None)
    search = Job.objects.get(kind=JobKind.TUNE)
    search.state = JobState.SUCCEEDED
    search.save()
    return job_submit(
        actor=None,
        kind=JobKind.PASSES,
        revision=search.revision,
        target=search.target,
        priority=BACKGROUND_PRIORITY,
    )


def test_a_study_gives_way_to_a_search_and_ends_in_a_portfolio(
    alice: User, here: ThisMachine
) -> None:
    job = studied(alice)
    search = job_submit(actor=None, kind=JobKind.TUNE, revision=job.revision, target=job.target)
    ticket = job_claim(device_name=here.device, kinds=[JobKind.PASSES], target=here.spec.slug)
    assert ticket is not None
    run.perform(ticket, here)
    job.refresh_from_db()
    assert (job.state, job.attempt) == (JobState.QUEUED, 0)
    trials = PassTrial.objects.filter(job=job).order_by("number")
    first = trials.get()
    search.delete()
    assert run.drain([JobKind.TUNE, JobKind.PASSES], here=here) >= 1
    job.refresh_from_db()
    assert job.state == JobState.SUCCEEDED, job.failure_detail
    assert job.result["summary"].startswith("onnxruntime: ")
    assert "onnxruntime" in job.result["tools"]
    assert [trial.number for trial in trials] == list(range(len(trials)))
    assert (trials[0], trials[0].role) == (first, "noise")
    for trial in trials.filter(outcome="measured"):
        assert trial.compile_ratio_low <= trial.compile_ratio <= trial.compile_ratio_high
        assert trial.measurement["compile"]
    portfolio = PassPortfolio.objects.get()
    assert portfolio.networks == 1
    assert portfolio.architecture_class == Graph.objects.get().architecture_class


def test_a_search_is_handed_the_portfolio_of_its_class(here: ThisMachine, alice: User) -> None:
    job = studied(alice)
    toolchain = available(here.spec, ["onnxruntime"])[0]["onnxruntime"].probe(here.spec)
    PassPortfolio.objects.create(
        target=job.target,
        backend="onnxruntime",
        toolchain=passes.toolchain_of(toolchain),
        architecture_class=ArchitectureClass.RESIDUAL_CNN,
        networks=1,
        lists=[{"passes": "ConvBNFusion", "objective": "latency", "networks": 1, "ratio": 0.9}],
        made_at=job.created_at,
    )
    ticket = job_claim(device_name=here.device, kinds=[JobKind.PASSES], target=here.spec.slug)
    assert ticket is not None
    found = pass_store.pass_portfolio(
        hub_of(ticket), "residual-cnn", {"onnxruntime": toolchain, "tvm": {"apache-tvm": "1"}}
    )
    assert found == {"onnxruntime": ("ConvBNFusion",)}


@needs("cc")
def test_a_study_is_of_the_code_that_the_hub_knows_schedules_for(
    alice: User, here: ThisMachine, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SCHEDULE_S = 600
    names = ["onnxruntime", "tvm"]
    monkeypatch.setattr(
        passes, "backends_of", lambda here, formats: available(here.spec, names, formats)
    )
    handed: list[list[Any]] = []
    menu_of = TvmBackend.menu

    def seen(self: TvmBackend, network: Network, target: TargetSpec) -> Menu:
        path = network.schedules_path
        lines = path.read_text().splitlines() if path else []
        handed.append([json.loads(line) for line in lines])
        return menu_of(self, network, target)

    monkeypatch.setattr(TvmBackend, "menu", seen)
    study = studied(alice, networks.mlp())
    job_submit(
        actor=None,
        kind=JobKind.SCHEDULE,
        revision=study.revision,
        target=study.target,
        parameters={"trials": 2},
    )
    run.drain([JobKind.SCHEDULE], here=here)
    Job.objects.filter(kind=JobKind.TUNE).delete()
    run.drain([JobKind.PASSES], here=here)
    study.refresh_from_db()
    assert study.state == JobState.SUCCEEDED, study.failure_detail
    toolchain = schedule_toolchain(TvmBackend().probe(here.spec))
    known = schedules_best(here.spec.slug, toolchain, Graph.objects.get().graph_hash)
    assert handed == [known]
    assert known


def test_what_a_study_found_is_searched_with_even_if_it_ends_in_the_middle(
    alice: User, here: ThisMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def cut_off(root: Path, name: str) -> Iterator[Path]:
        with workspace(root, name) as folder:
            yield folder
        raise LeaseLost("somebody else has it now")

    monkeypatch.setattr(passes, "workspace", cut_off)
    monkeypatch.setattr(passes, "greedy", lambda *_: ["ConvBNFusion"])
    study = studied(alice)
    run.drain([JobKind.PASSES], here=here)
    search = Job.objects.get(kind=JobKind.TUNE, state=JobState.QUEUED)
    assert search.priority < study.priority


def test_a_search_plans_a_study_where_that_is_wished(
    alice: User, here: ThisMachine, settings: Any
) -> None:
    Job.objects.filter(pk=studied(alice).pk).delete()
    search = Job.objects.get(kind=JobKind.TUNE)
    Job.objects.filter(pk=search.pk).update(state=JobState.QUEUED)
    ticket = job_claim(device_name=here.device, kinds=[JobKind.TUNE], target=here.spec.slug)
    assert ticket is not None
    for seconds, planned in ((0, 0), (60, 1), (60, 1)):
        settings.PASSES_S = seconds
        follow_up(Job.objects.get(uuid=ticket.job_uuid))
        assert Job.objects.filter(kind=JobKind.PASSES).count() == planned
    assert Job.objects.get(kind=JobKind.PASSES).priority > search.priority
