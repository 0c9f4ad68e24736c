"""The engine's trials as rows, and back."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from registry.services.job import job_claim
from registry.states import JobKind
from registry.tables import Job
from registry.tables import Trial as Row
from tests.registry import shopfloor
from workers.engine.errors import LeaseLost
from workers.engine.types import (
    Block,
    BuildResult,
    Candidate,
    Deviation,
    Interval,
    Measurement,
    Prior,
    Trial,
)
from workers.jobs.record_store import RegistryStore
from workers.testing.store_contract import StoreContract

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


def store(floor: shopfloor.Floor) -> RegistryStore:
    floor.tune()
    return RegistryStore(floor.claim(), KEY, shopfloor.SLUG)


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


class TestRegistryStore(StoreContract):
    """The contract every store of the engine keeps."""

    @pytest.fixture(autouse=True)
    def _floor(self, db: None) -> None:  # noqa: ARG002
        self.floor = shopfloor.floor()
        self.floor.tune()
        self.ticket = self.floor.claim()

    def make(self, history: Sequence[Prior] = ()) -> RegistryStore:
        if history:
            earlier = store(shopfloor.floor("bob/earlier"))
            for number, prior in enumerate(history):
                found = measured(number, ratio=prior.ratio)
                earlier.add(replace(found, candidate=prior.candidate))
        return RegistryStore(self.ticket, KEY, shopfloor.SLUG)
