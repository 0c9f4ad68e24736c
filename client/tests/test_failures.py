"""What goes wrong on a user's machine is told in one line, with a remedy and a status."""

import errno
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
import typer.main
from typer.testing import CliRunner, Result

from hpcfair import cli, errors
from hpcfair.client import Client
from hpcfair.commands.exitstatus import exit_status
from hpcfair.config import Config, config_file, keep_token
from hpcfair.localfiles import local_files
from hpcfair.transport import Transport

X = np.arange(8, dtype=np.float32).reshape(2, 4)
ID = "ab" * 32
#: Every command that needs the hub, with arguments; ``{}`` is a folder with files.
COMMANDS = [
    "login",
    "whoami",
    "search",
    "info lab/tiny",
    "pull lab/tiny {}/here",
    "push {}/model.onnx lab/tiny --license mit",
    "import hf:far/net lab/tiny",
    "mirror https://far.test lab/tiny",
    "doi lab/tiny",
    "load lab/tiny",
    "prefetch lab/tiny --target cpu",
    "run lab/tiny {}/x.npy",
    "reproduce lab/tiny",
    "verify lab/tiny",
    "trust",
    "bundle lab/tiny -o {}/tiny.hpcfair",
    "tune lab/tiny",
    "graph lab/tiny",
    "perf lab/tiny",
    "compare lab/tiny",
    "workloads",
    f"ablate {ID}",
    "principles",
    "profiles list lab/tiny",
    "profiles show 1",
    "profiles import {}/profile.json lab/tiny --target cpu",
    "profiles delete 1",
    "targets",
    "devices list",
    "devices show bench-1",
    "devices drain bench-1",
    "devices resume bench-1",
    "devices maintenance bench-1",
    "devices quarantine bench-1",
    "devices retire bench-1",
    "devices code",
    "bench list",
    f"bench show {ID}",
    f"bench reproduce {ID}",
    "bench server lab/tiny --bound-ms 50",
    "jobs list",
    "jobs show 1",
    "jobs wait 1",
    "jobs cancel 1",
    "jobs outputs 1",
    "run-on cpu lab/tiny --input {}/x.npy",
]
#: Commands that need this machine only.
LOCAL = {"logout", "targets detect", "cache list", "cache pin", "cache prune", "cache verify"}


@pytest.fixture
def files(tmp_path: Path, tiny: bytes) -> Path:
    np.save(tmp_path / "x.npy", X)
    (tmp_path / "model.onnx").write_bytes(tiny)
    (tmp_path / "profile.json").write_text("[]")
    return tmp_path


@pytest.fixture
def run(client: Client) -> Callable[..., Result]:
    """Runs the command with the fake hub."""
    return lambda line, **more: CliRunner().invoke(cli.app, line.split(), obj=client, **more)


@pytest.fixture
def no_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    """A client of an address where nobody listens, which does not wait between attempts."""
    pytest.importorskip("cryptography")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        monkeypatch.setenv("HPCFAIR_URL", url)
        monkeypatch.setattr("hpcfair.retry.Retry.wait_s", lambda *_: 0.0)
        with Client(config=Config(url, None, tmp_path / "cache")) as client:
            client.http = Transport(client.config, sleep=lambda _: None)
            yield client


def test_the_list_of_commands_is_complete() -> None:
    group: Any = typer.main.get_command(cli.app)
    every = set()
    for name, command in group.commands.items():
        every |= {f"{name} {below}" for below in getattr(command, "commands", ())} or {name}
    listed = {line for line in every if any(f"{one} ".startswith(f"{line} ") for one in COMMANDS)}
    assert every == listed | LOCAL


@pytest.mark.parametrize("line", COMMANDS)
def test_a_hub_that_is_down_is_told(no_hub: Client, files: Path, line: str) -> None:
    words = [*line.format(files).split(), "--json"]

    result = CliRunner().invoke(cli.app, words, obj=no_hub, input="hpf_x\n")

    assert result.exit_code == 5, result.output
    assert json.loads(result.stdout)["error"]["code"] == "hub_unreachable"
    assert result.stderr.startswith(f"hpcfair: The hub at {no_hub.config.url} does not answer")
    assert "HPCFAIR_URL" in result.stderr
    assert isinstance(result.exception, SystemExit)


@pytest.mark.parametrize("line", ["load lab/tiny", "pull lab/tiny {}/here", "verify lab/tiny"])
def test_offline_is_told(
    client: Client, files: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    monkeypatch.setenv("HPCFAIR_OFFLINE", "1")

    result = CliRunner().invoke(cli.app, line.format(files).split())

    assert result.exit_code == 5
    assert "[offline]" in result.stderr


@pytest.mark.parametrize("answer", [b"[]", b"3", b"{}", b"[" * 10_000])
def test_an_answer_that_is_none_of_a_hub_is_told(
    hub: Any, run: Callable[..., Result], answer: bytes
) -> None:
    hub.on("POST", "/api/v1/models/lab/tiny/resolve", answer)

    result = run("load lab/tiny")

    assert result.exit_code == 5
    assert "HPCFAIR_URL" in result.stderr
    hub.faults = [httpx.ConnectError("refused")] * 4
    assert run("load lab/tiny").exit_code == 5


def test_an_address_that_cannot_be_used_is_told(
    run: Callable[..., Result], resolution: dict[str, Any]
) -> None:
    resolution["files"][0]["url"] = "http://hub.test:99999999/x"

    result = run("load lab/tiny")

    assert result.exit_code == 5
    assert "named an address that cannot be used" in result.stderr


def test_a_cache_that_is_a_file_is_told(
    client: Client, run: Callable[..., Result], resolution: dict[str, Any]
) -> None:
    client.cache.root.write_text("a file")

    result = run("load lab/tiny")

    assert result.exit_code == 1
    assert "set HPCFAIR_CACHE to another folder" in result.stderr
    assert "[storage_failed]" in result.stderr
    with pytest.raises(OSError, match="HPCFAIR_CACHE") as failure:
        client.load("lab/tiny")
    assert failure.value.errno in {errno.ENOTDIR, errno.EEXIST}


def test_a_cached_model_is_loaded_although_answers_cannot_be_kept(
    client: Client, resolution: dict[str, Any]
) -> None:
    client.load("lab/tiny")
    answers = client.cache.root / "answers"
    for answer in answers.iterdir():
        answer.unlink()
    answers.rmdir()
    answers.write_text("a file")

    assert client.load("lab/tiny")(X).shape == (2, 3)


def test_a_folder_that_is_a_file_is_told(
    hub: Any, run: Callable[..., Result], build: dict[str, Any], files: Path
) -> None:
    revision = {"oid": "1" * 40, "files": build["files"]}
    hub.on("GET", "/api/v1/models/lab/tiny", {"name": "lab/tiny", "default_branch": "main"})
    hub.on("GET", "/api/v1/models/lab/tiny/revisions/main", revision)

    result = run(f"pull lab/tiny {files}/x.npy")

    assert result.exit_code == 1
    assert f"{files}/x.npy" in result.stderr
    assert "HPCFAIR_CACHE" not in result.stderr


def test_a_configuration_that_cannot_be_written_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    # Nobody makes folders there, not even root.
    monkeypatch.setenv("HPCFAIR_CONFIG", "/proc/hpcfair")

    with pytest.raises(errors.StorageFailed, match="HPCFAIR_CONFIG"):
        keep_token("https://hub.test", "hpf_x")
    assert not config_file().exists()


@pytest.mark.parametrize("name", ["nowhere/y.npz", "cache"])
def test_outputs_that_cannot_be_written_are_told(
    run: Callable[..., Result], resolution: dict[str, Any], files: Path, name: str
) -> None:
    (files / "cache.npz").mkdir()

    result = run(f"run lab/tiny {files}/x.npy -o {files / name}")

    assert result.exit_code == 1
    assert "[storage_failed]" in result.stderr


@pytest.mark.parametrize(
    ("code", "number", "says"),
    [
        ("disk_full", errno.ENOSPC, "The disk of /a/cache is full: .* HPCFAIR_CACHE"),
        ("disk_full", errno.EDQUOT, "The quota for /a/cache is used up: .* HPCFAIR_CACHE"),
        ("file_too_large", errno.EFBIG, "ulimit"),
        ("not_permitted", errno.EROFS, "read-only .* HPCFAIR_CACHE"),
        ("not_permitted", errno.EACCES, "is not accessible: .* HPCFAIR_CACHE"),
        ("storage_failed", errno.EIO, "cannot be used: Input/output error. Check the disk"),
    ],
)
def test_each_failure_of_a_disk_says_what_helps(code: str, number: int, says: str) -> None:
    with (
        pytest.raises(errors.StorageFailed, match=says) as failure,
        local_files(Path("/a/cache"), "HPCFAIR_CACHE"),
    ):
        raise OSError(number, os.strerror(number))
    assert (failure.value.code, failure.value.errno) == (code, number)
    assert exit_status(failure.value) == 1


def test_a_file_elsewhere_is_not_moved_by_the_variable() -> None:
    with (
        pytest.raises(errors.StorageFailed, match=r"/models/net\.onnx") as failure,
        local_files(Path("/a/cache"), "HPCFAIR_CACHE"),
    ):
        raise PermissionError(errno.EACCES, "Permission denied", "/models/net.onnx")
    assert "HPCFAIR_CACHE" not in str(failure.value)


@pytest.mark.parametrize("error", [ConnectionResetError("x"), TimeoutError("x")])
def test_errors_of_connections_are_none_of_disks(error: OSError) -> None:
    with pytest.raises(type(error)) as failure, local_files(None):
        raise error
    assert failure.value is error


@pytest.mark.parametrize(
    ("variable", "value", "status", "says"),
    [
        ("ALL_PROXY", "nonsense://proxy", 2, "HTTPS_PROXY"),
        ("ALL_PROXY", "socks5://127.0.0.1:1", 1, "pip install 'httpx[socks]'"),
        ("HPCFAIR_TOKEN", "hpf_\nsecret", 2, "The token contains"),
        ("HPCFAIR_TOKEN", "hpf_sécret", 2, "The token contains"),
        ("HPCFAIR_URL", "http://[half", 2, "not the address of a hub"),
        ("HPCFAIR_URL", "http://user:secret@hub:port", 2, "not the address of a hub"),
    ],
)
def test_a_wrong_setting_is_told_without_its_secrets(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, status: int, says: str
) -> None:
    if value.startswith("socks5"):
        monkeypatch.setitem(sys.modules, "socksio", None)
    monkeypatch.setenv(variable, value)

    result = CliRunner().invoke(cli.app, ["whoami"])

    assert result.exit_code == status, result.output
    assert says in result.stderr
    assert "cret" not in result.stderr


def test_certificates_that_are_not_there_are_told() -> None:
    # In a process of its own: those of this one may have been read already.
    command = [sys.executable, "-c", "from hpcfair.cli import app; app()", "whoami"]
    environment = {**os.environ, "SSL_CERT_FILE": "/nowhere/ca.pem"}

    result = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)

    assert result.returncode == 2, result.stderr
    assert "Correct HTTP_PROXY" in result.stderr
    assert "SSL_CERT_FILE" in result.stderr


@pytest.mark.parametrize("content", [b"PK\3\4 is no archive", b"PK\5\6" + b"\0" * 18])
def test_a_broken_archive_is_told(
    run: Callable[..., Result], resolution: dict[str, Any], files: Path, content: bytes
) -> None:
    (files / "x.npz").write_bytes(content)

    result = run(f"run lab/tiny {files}/x.npz")

    assert result.exit_code == 2


@pytest.mark.parametrize(
    ("readme", "says"),
    [
        ("---\nlicense: mit\n---\nMüller".encode("latin-1"), "UTF-8"),
        (b"---\nlicense: mit\ndate: 2026-13-45\n---\n", "not YAML"),
    ],
)
def test_a_card_that_cannot_be_read_is_told(
    run: Callable[..., Result], files: Path, readme: bytes, says: str
) -> None:
    (files / "README.md").write_bytes(readme)

    result = run(f"push {files}/model.onnx lab/tiny --title x")

    assert result.exit_code == 2
    assert says in result.stderr


@pytest.mark.parametrize(
    "how",
    [
        {"labels": ["cat", "dog"], "example_inputs": (X,)},
        {"example_inputs": {"x": [[1.0], [1.0, 2.0]]}},
        {"card": {"license": "mit", "weight": np.float32(1)}},
    ],
)
def test_arguments_that_cannot_be_published_are_refused(
    hub: Any, client: Client, tiny: bytes, how: dict[str, Any]
) -> None:
    with pytest.raises((errors.BadInput, errors.BadCard)):
        client.save(tiny, "lab/tiny", **{"card": {"license": "mit"}, **how})
    assert not hub.blobs


def test_a_file_that_is_no_onnx_is_refused_as_such(hub: Any, client: Client) -> None:
    entry = hub.keep(b"not onnx", "model.onnx")
    model = {"name": "lab/tiny", "default_branch": "main"}
    hub.on("GET", "/api/v1/models/lab/tiny", model)
    revision = {"oid": "1" * 40, "files": [entry]}
    hub.on("GET", "/api/v1/models/lab/tiny/revisions/main", revision)

    with pytest.raises(errors.Corrupt, match="is no ONNX network"):
        client.reuse("lab/tiny", as_="onnx")


def test_a_wait_that_is_too_long_is_an_error_of_ours(hub: Any, client: Client) -> None:
    job = {"uuid": "j1", "kind": "tune", "model": "lab/tiny", "state": "queued"}
    hub.on("GET", "/api/v1/jobs/j1", job)

    with pytest.raises(TimeoutError, match="hpcfair jobs show j1") as late:
        client.job("j1").wait(0.1)
    assert isinstance(late.value, errors.HpcfairError)
    assert exit_status(late.value) == 5


@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        ("not_authenticated", "No. Run `hpcfair login`, or set HPCFAIR_TOKEN. ["),
        ("token_expired", "No. Make one. Run `hpcfair login`, or set HPCFAIR_TOKEN. ["),
    ],
)
def test_a_request_without_a_valid_token_names_the_command_that_stores_one(
    hub: Any,
    run: Callable[..., Result],
    answer: Callable[..., httpx.Response],
    code: str,
    remedy: str,
) -> None:
    hint = "Make one." if code == "token_expired" else "Send `Authorization: Bearer hpf_...`."
    hub.on("GET", "/api/v1/whoami", answer(401, code, "No.", hint))
    result = run("whoami")
    assert (result.exit_code, remedy in result.stderr) == (4, True)
