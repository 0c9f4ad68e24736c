"""Saves the live object of a line, waits until it is tuned, loads it and compares.

Run in the environment of the frameworks; prints a JSON object::

    {"saved": ["model.onnx"], "trials": 12, "build": "onnxruntime", "deviation": 1.2e-07}
"""

import json
import sys
import time
from importlib import import_module
from typing import Any

import numpy as np

import hpcfair
from tests.frameworks.cases.live import Live
from tests.frameworks.lines import LINES

#: Files that accompany every export.
_EVIDENCE = (".gitattributes", "README.md", "samples.npz", "requirements-export.txt")
_PATIENCE_S = 200.0


def round_trip(client: hpcfair.Client, live: Live, name: str) -> dict[str, Any]:
    """What the table states of one live object."""
    revision = client.save(
        live.model, name, example_inputs=live.examples, card={"license": "apache-2.0"}
    )
    paths = {file.path for file in client.info(name).files}
    job = _search(client, name)
    assert job.wait(_PATIENCE_S).state == "succeeded", job.failure
    model = client.load(name, revision=revision.oid)
    results = model.run(**live.inputs)
    assert list(results) == list(live.outputs), (list(results), list(live.outputs))
    deviations = [_deviation(results[key], value) for key, value in live.outputs.items()]
    return {
        "saved": sorted(paths.difference(_EVIDENCE)),
        "trials": sum(trial.outcome == "measured" for trial in job.trials),
        "build": model.build.backend if model.build else None,
        "deviation": max(deviations),
    }


def _search(client: hpcfair.Client, name: str) -> hpcfair.Job:
    """The tune job, which follows the inspection."""
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        if jobs := list(client.jobs(model=name, kind="tune")):
            return jobs[-1]
        time.sleep(0.5)
    raise AssertionError(f"no target tunes {name}")


def _deviation(computed: Any, reference: Any) -> float:
    """Largest difference over the largest value; labels must be equal."""
    actual, expected = np.asarray(computed), np.asarray(reference)
    assert actual.size == expected.size, (actual.shape, expected.shape)
    actual = actual.reshape(expected.shape)
    if expected.dtype.kind != "f":
        np.testing.assert_array_equal(actual.astype(expected.dtype), expected)
        return 0.0
    assert actual.dtype.kind == "f", actual.dtype
    scale = float(np.abs(expected).max()) or 1.0
    return float(np.abs(actual.astype(np.float64) - expected).max()) / scale


def main(title: str) -> None:
    """Print what the table states of a line."""
    module, _, function = LINES[title].case.partition(":")
    live: Live = getattr(import_module(f"tests.frameworks.cases.{module}"), function)()
    with hpcfair.Client() as client:
        result = round_trip(client, live, f"ada/{function.replace('_', '-')}-{time.time_ns()}")
    print(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1])
