"""Programs that tests run on an emulated machine: ``python -m tests.emulated.inside facts | search
FOLDER``."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from hpcfair import machine
from hpcfair.isolation.limits import Limits
from workers.backends import registry
from workers.engine.local import LocalDevice
from workers.engine.records import Origin, bench_record
from workers.engine.requests import SearchBudget, TuningRequest
from workers.engine.trial_store import JsonLinesTrialStore
from workers.engine.tune import tune
from workers.fleet.probe import this_machine
from workers.testing import networks

_BUDGET = SearchBudget(
    seconds=None,
    trials=2,
    seconds_per_measurement=2.0,
    candidates_to_confirm=1,
    confirmation_processes=1,
    confirmation_seconds=5.0,
)


def facts() -> dict[str, Any]:
    """The machine as it describes itself, also in a process that it starts."""
    code = "import os, platform; print(platform.machine(), os.environ['QEMU_CPU'])"
    child = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    target = machine.target_of(machine.describe())
    return {
        "machine": machine.describe().to_dict(),
        "target": {"slug": target.slug, "features": target.features},
        "child": child.split(),
        "executable": sys.executable,
    }


def search(folder: Path) -> dict[str, Any]:
    """A search with ONNX Runtime in confined children; returns trials and records."""
    here = this_machine().spec
    network = networks.write(networks.mlp(), folder / "model")
    backends, missing = registry.available(here, ["onnxruntime"], {"onnx"})
    request = TuningRequest(
        network, here, tuple(backends), _BUDGET, Limits(wall_s=600), strategy="random"
    )
    scratch = folder / "scratch"
    scratch.mkdir()
    store = JsonLinesTrialStore(folder / "trials.jsonl")
    with LocalDevice(request, backends, scratch) as device:
        result = tune(request, backends, device, store)
        origin = Origin(
            "lab/net", "a" * 40, "emulator", device.isolation or "none", "2026-01-01T00:00:00Z", {}
        )
        records = [
            bench_record(request, result, confirmed, origin)
            for confirmed in (*result.confirmed_results, result.baseline)
        ]
    return {
        "missing": missing,
        "outcomes": [trial.outcome for trial in result.trials],
        "details": [trial.detail for trial in result.trials],
        "records": records,
    }


def main() -> None:
    """Print the JSON of the action that the command line names."""
    action, *folders = sys.argv[1:]
    result = facts() if action == "facts" else search(Path(folders[0]))
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
