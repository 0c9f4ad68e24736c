"""Runs with a person's inputs over HTTP: requested, fetched and deleted by that person only."""

import hashlib
import io
from typing import Any

import numpy as np
import pytest

from registry.tables import Build, MLModel, Target
from tests.hub.api.client import Api
from tests.hub.api.scene import Scene
from tests.registry.work.runs import SIGNATURE, claim, finish, inspected, npz

RUNS = "models/lab/galaxy-cnn/runs"
DATA = npz(x=np.ones((2, 4), np.float32))
DIGEST = hashlib.sha256(DATA).hexdigest()


@pytest.fixture
def target(galaxy: MLModel) -> Target:
    """A target for ``lab/galaxy-cnn``, which is inspected."""
    return inspected(galaxy)


def requested(api: Api, target: Target, **options: Any) -> Any:
    """A run with two samples, as JSON."""
    api.upload(DATA, DIGEST)
    return api.post(RUNS, {"target": target.slug, "inputs": DIGEST} | options).ok(202)


def test_a_run_is_requested_watched_and_fetched(as_alice: Api, target: Target) -> None:
    run = requested(as_alice, target)
    uuid = run["job"]["uuid"]
    assert (run["job"]["kind"], run["job"]["state"]) == ("run", "queued")
    assert run["job"]["wait_reason"]
    assert run["inputs"] == [{"name": "x", "dtype": "float32", "shape": [2, 4]}]
    assert [run[name] for name in ("build", "outputs", "outputs_url", "median_ns")] == [None] * 4
    assert as_alice.get(f"jobs/{uuid}/run/outputs").code == "outputs_not_found"
    outputs = finish(target)
    run = as_alice.get(f"jobs/{uuid}/run").ok()
    assert run["job"]["state"] == "succeeded"
    assert run["outputs"] == [{"name": "y", "dtype": "float32", "shape": [2, 3]}]
    assert (run["median_ns"], len(run["samples_ns"])) == (1_050_000, 3)
    assert run["deviation"]["relative_l2"] == 1e-8
    answer = as_alice.get(run["outputs_url"].removeprefix("/api/v1/"))
    assert answer.headers["Cache-Control"] == "private, no-store"
    assert answer.content == outputs
    assert np.load(io.BytesIO(answer.content))["y"].shape == (2, 3)


def test_nobody_else_sees_a_run(
    as_alice: Api, as_charlie: Api, anonymous: Api, target: Target
) -> None:
    uuid = requested(as_alice, target)["job"]["uuid"]
    finish(target)
    for path in (f"jobs/{uuid}", f"jobs/{uuid}/events"):
        assert as_charlie.get(path).code == anonymous.get(path).code == "job_not_found"
        as_alice.get(path).ok()
    for path in (f"jobs/{uuid}/run", f"jobs/{uuid}/run/outputs"):
        assert as_charlie.get(path).code == "run_not_found"
        assert anonymous.get(path).code == "not_authenticated"
    assert as_charlie.delete(f"jobs/{uuid}/run").code == "run_not_found"
    assert as_charlie.post(f"jobs/{uuid}/cancel").code == "job_not_found"
    for api, count in ((as_alice, 1), (as_charlie, 0), (anonymous, 0)):
        assert len(api.get("jobs?kind=run").ok()["items"]) == count


def test_a_run_is_deleted_by_its_owner(as_alice: Api, target: Target) -> None:
    uuid = requested(as_alice, target)["job"]["uuid"]
    assert as_alice.delete(f"jobs/{uuid}/run").code == "not_ended"
    finish(target)
    as_alice.delete(f"jobs/{uuid}/run").ok(204)
    run = as_alice.get(f"jobs/{uuid}/run").ok()
    assert (run["outputs_url"], run["samples_ns"], run["inputs"]) == (None, None, [])


def test_a_run_is_cancelled_by_its_owner(as_alice: Api, target: Target) -> None:
    uuid = requested(as_alice, target)["job"]["uuid"]
    claim(target)
    assert as_alice.post(f"jobs/{uuid}/cancel").ok()["cancel_requested"]


def test_impossible_runs_are_refused(as_alice: Api, anonymous: Api, target: Target) -> None:
    as_alice.upload(DATA, DIGEST)
    good = {"target": target.slug, "inputs": DIGEST}
    assert anonymous.post(RUNS, good).code == "not_authenticated"
    cases: list[tuple[dict[str, object], str]] = [
        ({"target": "nothing"}, "target_not_found"),
        ({"inputs": "0" * 64}, "blob_not_found"),
        ({"inputs": "not a digest"}, "invalid_request"),
        ({"revision": "nothing"}, "revision_not_found"),
        ({"tolerance": "sloppy"}, "invalid_request"),
        ({"build": "nothing"}, "invalid_request"),
        ({"build": "0b8e5c1a-8f5e-4b77-9a3b-2f4d4c1f0e11"}, "build_not_found"),
        ({"build": "0b8e5c1a-8f5e-4b77-9a3b-2f4d4c1f0e11", "tolerance": "fp16"}, "invalid_request"),
        ({"seed": 1}, "invalid_request"),
    ]
    for options, code in cases:
        assert as_alice.post(RUNS, good | options).code == code, options
    assert as_alice.post("models/lab/nothing/runs", good).code == "model_not_found"


def test_inputs_that_do_not_fit_are_named(as_alice: Api, target: Target) -> None:
    data = npz(x=np.ones((2, 5), np.float32))
    digest = hashlib.sha256(data).hexdigest()
    as_alice.upload(data, digest)
    answer = as_alice.post(RUNS, {"target": target.slug, "inputs": digest})
    assert answer.code == "invalid_inputs"
    assert answer.json["fields"] == {"x": "is float32[2,5], the network takes float32[N,4]"}


def test_the_build_of_a_load_runs_unless_another_is_named(as_alice: Api, scene: Scene) -> None:
    scene.graph.signature = SIGNATURE
    scene.graph.save()
    assert requested(as_alice, scene.target)["build"]["uuid"] == str(scene.fast.uuid)
    named = requested(as_alice, scene.target, build=str(scene.baseline.uuid))
    assert named["build"]["uuid"] == str(scene.baseline.uuid)
    # No build is accurate enough: the published network runs, and the reason is given.
    Build.objects.update(accuracy=0.9)
    plain = requested(as_alice, scene.target, min_accuracy=1.0)
    assert (plain["build"], "no build" in plain["reason"]) == (None, True)
