"""Runs on devices of the hub: inputs are bound and sent, outputs awaited, fetched and deleted."""

import base64
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from typer.testing import CliRunner, Result

from hpcfair import cli
from hpcfair.arrays import read_arrays, write_arrays
from hpcfair.client import Client
from hpcfair.errors import BadInput, Corrupt, JobFailed, NotFound

SIGNATURE = {
    "inputs": [{"name": "x", "dtype": "float32", "shape": ["N", 4]}],
    "outputs": [{"name": "y", "dtype": "float32", "shape": ["N", 3]}],
}
JOB = {"uuid": "j1", "kind": "run", "model": "lab/tiny", "target": "arm64-neon", "device": "pi"}
DONE = {
    "build": None,
    "reason": "No build is published.",
    "samples_ns": [2_000_000, 1_000_000, 3_000_000],
    "first_ns": 9_000_000,
    "deviation": {"max_absolute": 1e-7, "max_relative": 1e-7, "relative_l2": 1e-8, "cosine": 1.0},
    "not_compared": "",
    "expires_at": "2026-01-09T03:04:05Z",
}
RUNS = "/api/v1/models/lab/tiny/runs"
RUN = "/api/v1/jobs/j1/run"
X = np.arange(8, dtype=np.float32).reshape(2, 4)
Y = np.ones((2, 3), np.float32)


@pytest.fixture
def outputs(tmp_path: Path) -> bytes:
    """The run as the hub stores it."""
    write_arrays(tmp_path / "made.npz", {"y": Y})
    return (tmp_path / "made.npz").read_bytes()


@pytest.fixture
def hub(hub: Any, outputs: bytes) -> Any:
    """A hub whose device has already done the run."""
    ended = {"job": {**JOB, "state": "succeeded"}, **DONE}
    digest = base64.b64encode(hashlib.sha256(outputs).digest()).decode()
    served = httpx.Response(200, content=outputs, headers={"Repr-Digest": f"sha-256=:{digest}:"})
    hub.on("GET", "/api/v1/models/lab/tiny/graph", SIGNATURE)
    hub.on("POST", RUNS, {"job": {**JOB, "state": "queued"}, "build": None, "reason": "First."})
    hub.on("GET", "/api/v1/jobs/j1", ended["job"])
    hub.on("GET", RUN, ended)
    hub.on("GET", f"{RUN}/outputs", served)
    hub.on("DELETE", RUN, httpx.Response(204))
    return hub


@pytest.fixture
def command(client: Client) -> Callable[..., Result]:
    """Runs the command with the fake hub."""
    runner = CliRunner()
    return lambda *words: runner.invoke(cli.app, [str(word) for word in words], obj=client)


def test_inputs_are_sent_and_outputs_fetched(
    hub: Any, client: Client, sent: Callable[[httpx.Request], Any], tmp_path: Path
) -> None:
    run = client.run_on("arm64-neon", "lab/tiny", X)

    (request,) = hub.calls("POST", RUNS)
    body = sent(request)
    assert (body["target"], body.keys()) == ("arm64-neon", {"target", "inputs"})
    (tmp_path / "sent.npz").write_bytes(hub.blobs[body["inputs"]])
    np.testing.assert_array_equal(read_arrays(tmp_path / "sent.npz")["x"], X)
    np.testing.assert_array_equal(run.outputs["y"], Y)
    assert (run.median_ns, run.job.device, run.uuid) == (2_000_000, "pi", "j1")
    assert "median     2 ms of 3 runs" in str(run)
    assert "relative L2" in str(run)
    assert repr(run) == "<RemoteRun j1 lab/tiny on arm64-neon: succeeded>"
    # They are fetched once.
    assert run.outputs is run.outputs
    assert len(hub.calls("GET", f"{RUN}/outputs")) == 1


@pytest.mark.parametrize(
    "inputs", [{"x": X.tolist()}, [X], (X.astype(np.float16),), {"x": X.astype(np.float16)}]
)
def test_inputs_are_bound_as_for_a_loaded_model(
    hub: Any, client: Client, inputs: Any, tmp_path: Path
) -> None:
    client.run_on("arm64-neon", "lab/tiny", inputs)

    (data,) = hub.blobs.values()
    (tmp_path / "sent.npz").write_bytes(data)
    array = read_arrays(tmp_path / "sent.npz")["x"]
    assert array.dtype == np.float32
    np.testing.assert_array_equal(array, X)


def test_inputs_that_do_not_fit_are_not_sent(hub: Any, client: Client) -> None:
    for inputs in (X[0], {"z": X}, X.astype(np.float64), [X, X]):
        with pytest.raises(BadInput):
            client.run_on("arm64-neon", "lab/tiny", inputs)
    assert not hub.blobs
    assert not hub.calls("POST", RUNS)


def test_limits_and_builds_are_passed_on(
    hub: Any, client: Client, sent: Callable[[httpx.Request], Any]
) -> None:
    client.run_on("t", "lab/tiny", X, tolerance="int8", min_accuracy=0.9, revision="v1", wait=False)
    client.run_on("t", "lab/tiny", X, build="b1", wait=False)
    first, second = map(sent, hub.calls("POST", RUNS))
    assert (first["tolerance"], first["min_accuracy"], first["revision"]) == ("int8", 0.9, "v1")
    assert second.keys() == {"target", "inputs", "build"}
    with pytest.raises(BadInput, match="a build or limits"):
        client.run_on("t", "lab/tiny", X, build="b1", tolerance="int8")


def test_outputs_wait_for_the_end(hub: Any, client: Client) -> None:
    run = client.run_on("arm64-neon", "lab/tiny", X, wait=False)

    assert (run.job.state, run.median_ns, run.reason) == ("queued", None, "First.")
    np.testing.assert_array_equal(run.outputs["y"], Y)
    assert run.reason == "No build is published."


def test_a_failed_run_raises_the_reason(hub: Any, client: Client) -> None:
    failure = {"class": "timeout", "code": "job_timeout", "detail": "It took too long."}
    failed = {**JOB, "state": "failed", "failure": failure}
    hub.on("GET", "/api/v1/jobs/j1", failed)
    with pytest.raises(JobFailed, match="It took too long"):
        client.run_on("arm64-neon", "lab/tiny", X)


def test_damaged_outputs_are_refused(hub: Any, client: Client, outputs: bytes) -> None:
    headers = {"Repr-Digest": f"sha-256=:{base64.b64encode(bytes(32)).decode()}:"}
    hub.on("GET", f"{RUN}/outputs", httpx.Response(200, content=outputs, headers=headers))
    with pytest.raises(Corrupt):
        _ = client.remote_run("j1").outputs


def test_a_run_is_deleted(hub: Any, client: Client) -> None:
    run = client.remote_run("j1")
    run.delete()
    assert hub.calls("DELETE", RUN)
    gone = {"code": "outputs_not_found", "detail": "Deleted.", "hint": ""}
    hub.on("GET", f"{RUN}/outputs", httpx.Response(404, json=gone))
    with pytest.raises(NotFound):
        _ = run.outputs


def test_the_command_runs_and_writes_outputs(
    hub: Any, command: Callable[..., Result], tmp_path: Path
) -> None:
    np.save(tmp_path / "x.npy", X)
    np.savez(tmp_path / "x.npz", x=X)
    out = tmp_path / "y.npz"
    for argument in (f"x={tmp_path / 'x.npy'}", tmp_path / "x.npy", tmp_path / "x.npz"):
        result = command("run-on", "arm64-neon", "lab/tiny", "--input", argument, "-o", out)
        assert result.exit_code == 0, result.output
        assert "median     2 ms of 3 runs" in result.output
        np.testing.assert_array_equal(np.load(out)["y"], Y)
        out.unlink()


def test_the_command_fetches_outputs_later(
    hub: Any, command: Callable[..., Result], tmp_path: Path
) -> None:
    np.save(tmp_path / "x.npy", X)
    words = ("run-on", "arm64-neon", "lab/tiny", "-i", tmp_path / "x.npy", "--no-wait")
    assert "hpcfair jobs outputs j1" in command(*words).output
    result = command("jobs", "outputs", "j1", "-o", tmp_path / "y.npy", "--json")
    assert result.exit_code == 0, result.output
    assert '"median_ns"' in result.stdout
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), Y)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("x.npy", "x.npy"), "has no name"),
        (("x=x.npz",), "several arrays"),
        (("x=missing.npy",), "There is no file missing.npy"),
    ],
)
def test_wrong_inputs_of_the_command_are_usage_errors(
    hub: Any,
    command: Callable[..., Result],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    reason: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", X)
    np.savez("x.npz", x=X)
    inputs = [word for argument in arguments for word in ("--input", argument)]
    result = command("run-on", "arm64-neon", "lab/tiny", *inputs)
    assert (result.exit_code, reason in result.output) == (2, True), result.output


def test_archives_take_any_name_and_no_pickles(tmp_path: Path) -> None:
    arrays = {"file": X, "a/b": np.array(["one", "three"]), "scalar": np.array(1.5)}
    write_arrays(tmp_path / "x.npz", arrays)
    read = read_arrays(tmp_path / "x.npz")
    assert read.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(read[name], array)
    with pytest.raises(ValueError, match="Object arrays"):
        write_arrays(tmp_path / "y.npz", {"x": np.array([{}])})
    for data in (b"", b"no archive", (tmp_path / "x.npz").read_bytes()[:-30]):
        (tmp_path / "bad.npz").write_bytes(data)
        with pytest.raises(ValueError, match=r"bad\.npz|pickle"):
            read_arrays(tmp_path / "bad.npz")
