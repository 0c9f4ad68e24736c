"""The command: right output for people and programs, right status, no tracebacks."""

import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from typer.testing import CliRunner, Result

from hpcfair import cli, errors
from hpcfair.client import Client
from hpcfair.commands import account
from hpcfair.commands.exitstatus import exit_status
from hpcfair.config import config_file

HIT = {
    "name": "lab/tiny",
    "task": "image-classification",
    "license": "MIT",
    "signature": "float32[N,4] -> float32[N,3]",
    "builds": {"x86-64-avx2": 0.61, "x86-64-avx512": 0.52},
}
JOB = {"uuid": "j1", "kind": "tune", "model": "lab/tiny", "target": "x86-64-avx2"}
X = np.arange(8, dtype=np.float32).reshape(2, 4)


@pytest.fixture
def run(client: Client) -> Callable[..., Result]:
    """Runs the command with the fake hub."""
    runner = CliRunner()
    return lambda *words, **more: runner.invoke(
        cli.app, [str(w) for w in words], obj=client, **more
    )


def test_search_prints_a_line_a_model_in_a_pipe(hub: Any, run: Callable[..., Result]) -> None:
    hub.on("GET", "/api/v1/models", {"items": [HIT], "next": None, "total": 1, "facets": {}})

    result = run("search", "galaxy", "--license", "mit")

    assert result.stdout == (
        "lab/tiny\timage-classification\tMIT\tfloat32[N,4] -> float32[N,3]\t0.52 on x86-64-avx512\n"
    )
    assert dict(hub.requests[0].url.params) == {"q": "galaxy", "license": "mit", "limit": "30"}


def test_search_sends_the_words_of_the_grammar(hub: Any, run: Callable[..., Result]) -> None:
    hub.on("GET", "/api/v1/models", {"items": [], "next": None, "total": 0, "facets": {}})
    words = {
        "latency": "<5ms",
        "gain": ">2",
        "accuracy": ">0.9",
        "parameters": "<10M",
        "size": "<100MB",
        "fair": ">80",
        "target": "x86-64-avx2",
        "tolerance": "int8",
        "by": "lab",
        "similar": "lab/tiny",
        "sort": "latency",
    }

    options = [part for name, value in words.items() for part in (f"--{name}", value)]
    result = run("search", *options, "--class", "mlp")

    assert result.exit_code == 0
    sent = dict(hub.requests[0].url.params)
    assert sent == {**words, "architecture_class": "mlp", "limit": "30"}


def test_search_shows_the_speed_that_was_asked_about(hub: Any, run: Callable[..., Result]) -> None:
    speed = {
        "build": "b1",
        "target": "x86-64-avx512",
        "latency_ns": 8300,
        "default_ns": 17_264,
        "gain": 2.08,
        "tolerance": "int8",
    }
    default = {**speed, "gain": 1.0, "latency_ns": 17_264, "tolerance": "exact"}
    likeness = {"score": 0.93, "alike": ["both are mlp", "same inputs and outputs"]}
    items = [
        {**HIT, "speed": speed, "similarity": likeness},
        {**HIT, "speed": default, "similarity": None},
    ]
    hub.on("GET", "/api/v1/models", {"items": items, "next": None, "total": 2, "facets": {}})

    first, second = run("search", "--similar-to", "lab/other").stdout.splitlines()

    fast, alike = first.split("\t")[-2:]
    assert fast.endswith(" µs on x86-64-avx512, 2.1 times as fast [int8]")
    assert alike == "93%: both are mlp; same inputs and outputs"
    assert second.split("\t")[-2:] == ["17.3 µs on x86-64-avx512", ""]


def test_search_shows_the_throughput_that_was_asked_about(
    hub: Any, run: Callable[..., Result]
) -> None:
    times = {"latency_ns": 51_600_000, "default_ns": 129_000_000, "gain": 2.5}
    execution = {"batch": 16, "streams": "cores"}
    speed = {"build": "b1", "target": "avx512", **times, "throughput_per_s": 1240.0}
    items = [{**HIT, "speed": {**speed, "execution": execution}, "similarity": None}]
    hub.on("GET", "/api/v1/models", {"items": items, "next": None, "total": 1, "facets": {}})

    shown = run("search", "--sort", "throughput").stdout.split("\t")[-1].strip()

    assert shown == (
        "1240 samples/s on avx512, batch 16, one stream per core, 2.5 times as fast [exact]"
    )


def test_a_vain_search_says_what_there_is(hub: Any, run: Callable[..., Result]) -> None:
    hint = "No model has task:imag. Did you mean image-classification?"
    hub.on("GET", "/api/v1/models", {"items": [], "next": None, "total": 0, "hints": [hint]})

    result = run("search", "--task", "imag")

    assert result.stdout == ""
    assert result.stderr == f"No model matches. {hint}\n"


def test_search_in_json_has_hits_total_and_facets(hub: Any, run: Callable[..., Result]) -> None:
    facets = {"task": [["image-classification", 1]]}
    hub.on("GET", "/api/v1/models", {"items": [HIT], "next": None, "total": 1, "facets": facets})

    found = json.loads(run("search", "--json").stdout)

    assert found["items"][0]["name"] == "lab/tiny"
    assert (found["total"], found["facets"]) == (1, facets)


def test_search_follows_pages_up_to_the_limit(hub: Any, run: Callable[..., Result]) -> None:
    def page(request: httpx.Request) -> Any:
        count = int(request.url.params["limit"])
        return {"items": [HIT] * count, "next": "more", "total": 500, "facets": {}}

    hub.on("GET", "/api/v1/models", page)

    result = run("search", "--limit", "150")

    assert len(result.stdout.splitlines()) == 150
    assert "150 of 500" in result.stderr


def test_info_shows_card_files_and_builds(
    hub: Any, run: Callable[..., Result], build: dict[str, Any]
) -> None:
    model = {**HIT, "files": build["files"], "refs": [], "inspection": {"state": "succeeded"}}
    hub.on("GET", "/api/v1/models/lab/tiny", model)
    hub.on("GET", "/api/v1/models/lab/tiny/builds", {"items": [build]})

    text = run("info", "lab/tiny").stdout

    for part in ("MIT", "model.onnx", "onnxruntime threads=one [exact]", "0.610", "ab" * 32):
        assert part in text


def test_load_explains(run: Callable[..., Result], resolution: dict[str, Any]) -> None:
    result = run("load", "lab/tiny")

    assert result.exit_code == 0
    assert "It is the fastest." in result.stdout


def test_run_reads_arrays_and_writes_outputs(
    run: Callable[..., Result], resolution: dict[str, Any], tmp_path: Path
) -> None:
    np.save(tmp_path / "x.npy", X)

    result = run("run", "lab/tiny", tmp_path / "x.npy", "-o", tmp_path / "y.npz")

    assert result.stdout == "y\tfloat32\t2, 3\n"
    expected = np.repeat(X.sum(axis=1, keepdims=True) * 0.5, 3, axis=1)
    np.testing.assert_allclose(np.load(tmp_path / "y.npz")["y"], expected)


def test_run_takes_a_samples_file(
    run: Callable[..., Result], resolution: dict[str, Any], tmp_path: Path
) -> None:
    samples: dict[str, Any] = {"inputs/x": X, "labels": np.zeros(2)}
    np.savez(tmp_path / "samples.npz", **samples)

    result = run("run", "lab/tiny", tmp_path / "samples.npz", "-o", tmp_path / "y.npy", "--json")

    assert json.loads(result.stdout)["outputs"] == [
        {"name": "y", "dtype": "float32", "shape": [2, 3]}
    ]
    assert np.load(tmp_path / "y.npy").shape == (2, 3)


@pytest.mark.parametrize("content", [b"not numpy", b""])
def test_run_refuses_a_file_that_holds_no_arrays(
    run: Callable[..., Result], tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "x.npy").write_bytes(content)

    result = run("run", "lab/tiny", tmp_path / "x.npy")

    assert result.exit_code == 2
    assert "not a .npy or .npz" in result.stderr


def test_push_needs_a_license(run: Callable[..., Result], tmp_path: Path, tiny: bytes) -> None:
    (tmp_path / "model.onnx").write_bytes(tiny)

    result = run("push", tmp_path / "model.onnx", "lab/tiny")

    assert result.exit_code == 6
    assert "license_missing" in result.stderr


@pytest.mark.parametrize(
    ("words", "right"),
    [
        ("push lab/tiny {}", "push {} lab/tiny"),
        ("push lab/tiny {}/model.onnx", "push {}/model.onnx lab/tiny"),
        ("pull {} lab/tiny", "pull lab/tiny {}"),
        ("run {}/model.onnx lab/tiny", "run lab/tiny {}/model.onnx"),
        ("import lab/tiny hf:org/net", "import hf:org/net lab/tiny"),
        ("import lab/tiny net.hpcfair", "import net.hpcfair lab/tiny"),
    ],
)
def test_swapped_arguments_are_refused_with_the_right_order(
    hub: Any, run: Callable[..., Result], tmp_path: Path, words: str, right: str
) -> None:
    (tmp_path / "model.onnx").write_bytes(b"")

    result = run(*words.format(tmp_path).split())

    assert result.exit_code == 2
    assert f"Write: hpcfair {right.format(tmp_path)}" in result.stderr
    assert not hub.requests


def test_a_folder_named_like_a_model_is_not_taken_for_a_swapped_one(
    run: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("lab/tiny").mkdir(parents=True)

    result = run("push", "models/tin", "lab/tiny")

    assert "Write: hpcfair" not in result.stderr


def test_tune_waits_and_lists_its_jobs(hub: Any, run: Callable[..., Result]) -> None:
    job = {**JOB, "state": "succeeded", "created_at": "2026-01-02T03:04:05Z"}
    hub.on("POST", "/api/v1/models/lab/tiny/tune", {"items": [job]})

    result = run("tune", "lab/tiny", "--budget", "10min")

    assert result.stdout.startswith("j1\ttune\tlab/tiny\tx86-64-avx2\tsucceeded")


def test_a_failed_job_ends_with_its_own_status(hub: Any, run: Callable[..., Result]) -> None:
    failure = {"class": "invalid", "code": "onnx_invalid", "detail": "Node 3 has no input."}
    hub.on("GET", "/api/v1/jobs/j1", {**JOB, "state": "failed", "failure": failure})

    result = run("jobs", "wait", "j1")

    assert result.exit_code == 7
    assert "Node 3 has no input." in result.stderr


def test_targets_mark_this_machine(hub: Any, run: Callable[..., Result]) -> None:
    hub.on("GET", "/api/v1/targets", {"items": [{"slug": "pdp-11", "title": "Old"}], "next": None})

    result = run("targets")

    assert result.stdout == "pdp-11\tOld\tyes\t\n"
    assert "This machine is" in result.stderr


def test_the_cache_is_listed_verified_and_pruned(
    run: Callable[..., Result], resolution: dict[str, Any]
) -> None:
    run("load", "lab/tiny")

    assert run("cache", "list").stdout.startswith("lab/tiny\t1\t")
    assert run("cache", "verify").exit_code == 0
    assert json.loads(run("cache", "prune", "--days", "0", "--json").stdout)["entries"] == 1


def test_a_damaged_cache_ends_verify_with_status_1(
    run: Callable[..., Result], client: Client, resolution: dict[str, Any]
) -> None:
    run("load", "lab/tiny")
    blob = client.cache.blob(resolution["files"][0]["sha256"])
    blob.chmod(0o644)
    blob.write_bytes(b"bad")

    result = run("cache", "verify")

    assert result.exit_code == 1
    assert "lab/tiny: model.onnx" in result.stdout


def test_login_checks_and_keeps_a_token_from_standard_input(
    hub: Any, run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.on("GET", "/api/v1/whoami", {"name": "alice"})
    monkeypatch.setattr(account, "Client", lambda url, token: Client(url, token, transport=hub))

    result = run("login", "https://hub.test", input="hpf_new\n")

    assert "as alice" in result.stderr
    assert "hpf_new" not in result.output
    assert hub.requests[0].headers["Authorization"] == "Bearer hpf_new"
    assert stat.S_IMODE(config_file().stat().st_mode) == 0o600
    assert "Signed out" in run("logout", "https://hub.test").stderr


def test_a_token_the_hub_does_not_take_is_not_kept(
    hub: Any,
    run: Callable[..., Result],
    monkeypatch: pytest.MonkeyPatch,
    answer: Callable[..., httpx.Response],
) -> None:
    hub.on("GET", "/api/v1/whoami", answer(401, "token_invalid", "Nobody has it."))
    monkeypatch.setattr(account, "Client", lambda url, token: Client(url, token, transport=hub))

    result = run("login", "https://hub.test", input="hpf_wrong\n")

    assert result.exit_code == 4
    assert not config_file().exists()


def test_login_without_a_token_is_refused(hub: Any, run: Callable[..., Result]) -> None:
    result = run("login", "https://hub.test", input="\n")

    assert result.exit_code == 2
    assert hub.requests == []


def test_the_stale_answer_warning_is_a_line_not_a_python_warning(
    hub: Any, run: Callable[..., Result], resolution: dict[str, Any]
) -> None:
    run("load", "lab/tiny")
    hub.faults = [httpx.ConnectError("refused")] * 4

    result = run("load", "lab/tiny")

    assert result.exit_code == 0
    assert result.stderr.startswith("hpcfair: The hub at https://hub.test does not answer")


def test_ctrl_c_ends_cleanly(run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Client, "targets", interrupt)

    result = run("targets")

    assert result.exit_code == 130
    assert result.stderr.strip() == "Interrupted."


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (errors.ModelNotFound("x"), 3),
        (errors.NoModelFile("x"), 3),
        (errors.Unauthenticated("x"), 4),
        (errors.Forbidden("x"), 4),
        (errors.Unavailable("x"), 5),
        (errors.Offline("x"), 5),
        (errors.TimedOut("x"), 5),
        (errors.Conflict("x"), 6),
        (errors.LicenseMissing("x"), 6),
        (errors.InvalidModelFile("x"), 7),
        (errors.JobFailed("x"), 7),
        (errors.BadInput("x"), 2),
        (errors.Corrupt("x"), 1),
        (errors.RuntimeFailed("x"), 1),
    ],
)
def test_each_kind_of_error_has_its_status(error: errors.HpcfairError, status: int) -> None:
    assert exit_status(error) == status


@pytest.mark.parametrize(
    "words", [[], ["search"], ["push"], ["run"], ["bench", "reproduce"], ["jobs", "list"]]
)
def test_every_command_explains_itself(run: Callable[..., Result], words: list[str]) -> None:
    result = run(*words, "--help")

    assert result.exit_code == 0
    assert "Usage" in result.stdout


def test_wrong_usage_ends_with_status_2(run: Callable[..., Result]) -> None:
    assert run("search", "--no-such-option").exit_code == 2
