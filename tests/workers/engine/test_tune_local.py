"""The whole loop through real child processes, with kernels that only sleep."""

from dataclasses import replace
from pathlib import Path

import pytest

from hpcfair.isolation.limits import Limits
from workers.backends.fake.backend import FaultyBackend
from workers.engine.local import LocalDevice
from workers.engine.ports import Backend
from workers.engine.requests import SearchBudget, TuningRequest
from workers.engine.trial_store import JsonLinesTrialStore
from workers.engine.trials import Prior
from workers.engine.tune import tune
from workers.engine.types import Candidate, Options

from .cast import NETWORK, TARGET


@pytest.mark.slow
def test_a_search_survives_its_candidates_and_finds_the_faster_one(tmp_path: Path) -> None:
    model = tmp_path / "model" / "pretend.onnx"
    model.parent.mkdir()
    model.write_bytes(b"never read")
    backend = FaultyBackend()
    default = backend.default(NETWORK, TARGET)
    quick: Options = {**default, "kernel": "blocked", "tile": 32, "unroll": 4, "threads": 3}
    history = [
        Prior(Candidate("faulty", {**default, "threads": 3, "fault": "crash"}), 0.5, "exact"),
        Prior(Candidate("faulty", {**quick, "precision": "int8", "fault": "nan"}), 0.4, "int8"),
        Prior(Candidate("faulty", quick), 0.6, "exact"),
    ]
    request = TuningRequest(
        network=replace(NETWORK, model_path=model),
        target=TARGET,
        backends=("faulty",),
        budget=SearchBudget(
            seconds=None, trials=None, seconds_per_measurement=1.0, confirmation_processes=1
        ),
        limits=Limits(wall_s=60, memory_bytes=2 * 2**30),
        strategy="default",
        reference_backend="faulty",
    )
    backends: dict[str, Backend] = {"faulty": backend}
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    store = JsonLinesTrialStore(tmp_path / "trials.jsonl", history)
    with LocalDevice(request, backends, scratch) as device:
        result = tune(request, backends, device, store)
        assert [trial.outcome for trial in result.trials] == [
            "measured",
            "crash",
            "measured",
            "wrong-output",
        ]
        # One process is too few for a verdict, but sleeps differ enough to be told apart.
        (confirmed,) = result.confirmed_results
        assert confirmed.trial.candidate.options == quick
        assert confirmed.measurement.ratio.value < 0.8
        assert confirmed.build.directory is not None
        assert (confirmed.build.directory / confirmed.build.entry_point).is_file()
    assert not any(scratch.iterdir())
    stored = JsonLinesTrialStore(tmp_path / "trials.jsonl").trials()
    assert [trial.number for trial in stored] == [0, 1, 2, 3]
