"""The engine's trials as rows, and back."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from hpcfair.measurement.types import Block, Deviation, Interval
from registry.selectors.results import trial as selector
from registry.services.work.attempt import job_claim
from registry.services.work.job import job_submit
from registry.states import JobKind
from registry.tables import Job
from registry.tables import Trial as Row
from tests.registry import shopfloor
from tests.workers.hubs import hub_of
from workers.device.trial_store import JobTrialStore
from workers.engine.errors import LeaseLost
from workers.engine.trials import Experience, Measurement, Prior, Trial
from workers.engine.types import BuildResult, Candidate
from workers.testing.trial_store_contract import TrialStoreContract, make_experience

pytestmark = pytest.mark.django_db

KEY = "c" * 64


def measured(number: int, threads: str = "all", ratio: float = 0.8) -> Trial:
    return Trial(
        number=number,
        candidate=Candidate("onnxruntime", {"threads": threads}),
        proposed_by="tpe",
        outcome="measured",
        duration_s=1.5,
        build=BuildResult("measured", Path("/gone"), tolerance="int8", compile_s=0.25),
        deviation=Deviation(0.1, 0.2, 0.05, 0.999),
        accuracy=0.97,
        measurement=Measurement(
            blocks=(Block(0, (10, 11), (8, 9)), Block(1, (10, 12), (8, 8))),
            ratio=Interval(ratio, 0.78, 0.82),
            candidate_p50_ns=8,
            baseline_p50_ns=10,
            verdict="faster",
            quality={"load_before": 0.5},
        ),
        predicted_ratio=0.9,
    )


def store(floor: shopfloor.Floor) -> JobTrialStore:
    floor.tune()
    return JobTrialStore(hub_of(floor.claim()), KEY)


def test_a_trial_comes_back_as_it_was_but_for_its_files() -> None:
    kept = store(shopfloor.floor())
    trial = measured(0)
    kept.add(trial)
    (back,) = kept.trials()
    assert back.measurement == trial.measurement
    assert back.deviation == trial.deviation
    assert (back.candidate, back.accuracy, back.tolerance) == (trial.candidate, 0.97, "int8")
    assert back.build is not None
    assert back.build.directory is None


def test_a_failed_trial_comes_back_without_a_measurement() -> None:
    kept = store(shopfloor.floor())
    failed = Trial(
        number=0,
        candidate=Candidate("onnxruntime", {"threads": "one"}),
        proposed_by="random",
        outcome="crash",
        duration_s=0.5,
        detail="it fell over",
    )
    kept.add(failed)
    (back,) = kept.trials()
    assert (back.outcome, back.detail, back.measurement, back.build) == (
        "crash", "it fell over", None, None
    )  # fmt: skip


def test_the_hub_knows_which_candidate_a_device_tries() -> None:
    candidate = measured(0).candidate
    store(shopfloor.floor()).begin(candidate)
    assert Job.objects.get().candidate == candidate.sha256


def test_other_jobs_of_the_same_key_are_history_best_first() -> None:
    floor = shopfloor.floor()
    first = store(floor)
    first.add(measured(0, "all", 0.9))
    first.add(measured(1, "half", 0.7))
    other = store(shopfloor.floor("bob/other"))
    assert [(prior.candidate.options, prior.ratio) for prior in other.history()] == [
        ({"threads": "half"}, 0.7),
        ({"threads": "all"}, 0.9),
    ]
    assert not first.history()


def test_a_stale_fence_keeps_nothing() -> None:
    floor = shopfloor.floor()
    kept = store(floor)
    Job.objects.update(fence=99)
    with pytest.raises(LeaseLost):
        kept.add(measured(0))
    assert not Row.objects.exists()


def test_nothing_is_claimed_for_another_target() -> None:
    shopfloor.floor().tune()
    _, device = shopfloor.make_machine("arm64-generic", name="other")
    assert job_claim(device_name=device.name, kinds=[JobKind.TUNE], target="arm64-generic") is None


def remember(known: Experience, key: str = "d" * 64, name: str = "") -> None:
    """A trial of another network's search."""
    revision = shopfloor.make_revision(name or f"carol/net{int(known.network, 16)}")
    graph = shopfloor.make_graph(revision)
    graph.graph_hash, graph.embedding = known.network, list(known.embedding)
    graph.architecture_class = known.architecture_class
    graph.save()
    target, device = shopfloor.make_machine(
        known.target, features=sorted(known.features), name=f"of-{known.target}"
    )
    job_submit(actor=None, kind=JobKind.TUNE, revision=revision, target=target)
    ticket = job_claim(device_name=device.name, kinds=[JobKind.TUNE], target=target.slug)
    assert ticket is not None
    trial = Trial(
        number=0,
        candidate=known.candidate,
        proposed_by="tpe",
        outcome=known.outcome,
        duration_s=known.seconds,
    )
    if known.ratio is not None:
        as_measured = measured(0, ratio=known.ratio)
        trial = replace(as_measured, candidate=known.candidate, duration_s=known.seconds)
    JobTrialStore(hub_of(ticket), key).add(trial)


def test_experience_is_of_other_keys_and_of_this_target_first() -> None:
    kept = store(shopfloor.floor())
    remember(make_experience(1))
    here = replace(make_experience(2), target=shopfloor.SLUG, features=frozenset({"avx2"}))
    remember(here)
    remember(replace(here, network=f"{3:064x}"), key=KEY)
    remember(make_experience(4, "infrastructure"))
    found = kept.experience()
    assert [(each.network, each.target) for each in found] == [
        (here.network, shopfloor.SLUG),
        (f"{1:064x}", "x86-64-avx512"),
    ]


def test_experience_with_this_network_comes_first_however_old(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(selector, "_ELSEWHERE_DEPTH", 1)
    floor = shopfloor.floor()
    same = replace(make_experience(1), network=floor.graph.graph_hash, target="x86-64-avx2")
    remember(same, name="carol/copy")
    remember(make_experience(2))
    networks = [(each.network, each.target) for each in store(floor).experience()]
    assert networks == [(same.network, "x86-64-avx2"), (f"{2:064x}", "x86-64-avx512")]


def test_experience_of_other_targets_is_of_real_machines() -> None:
    kept = store(shopfloor.floor())
    features = frozenset({"avx2", "emulated"})
    remember(replace(make_experience(1), target="x86-64-avx2-emulated", features=features))
    remember(make_experience(2))
    assert [each.network for each in kept.experience()] == [f"{2:064x}"]


def test_a_network_tuned_every_night_does_not_push_out_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(selector, "_PER_NETWORK", 1)
    kept = store(shopfloor.floor())
    other, often = make_experience(1), make_experience(2)
    remember(other)
    remember(often)
    remember(often, name="dave/again")
    assert [each.network for each in kept.experience()] == [often.network, other.network]


class TestJobTrialStore(TrialStoreContract):
    """The contract every store of the engine keeps."""

    @pytest.fixture(autouse=True)
    def _floor(self, db: None) -> None:  # noqa: ARG002
        self.floor = shopfloor.floor()
        self.floor.tune()
        self.ticket = self.floor.claim()

    def make(
        self, history: Sequence[Prior] = (), experience: Sequence[Experience] = ()
    ) -> JobTrialStore:
        for known in experience:
            remember(known)
        if history:
            earlier = store(shopfloor.floor("bob/earlier"))
            for number, prior in enumerate(history):
                found = measured(number, ratio=prior.ratio)
                earlier.add(replace(found, candidate=prior.candidate))
        return JobTrialStore(hub_of(self.ticket), KEY)
