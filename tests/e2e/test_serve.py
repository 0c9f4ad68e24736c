"""``manage.py serve``: its proxy and web servers, under attack and at their end."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from benchmarks import servers
from benchmarks.sampling import slow_clients, upload_slowly
from benchmarks.wire import Hub
from tests.migrated import migrated_data
from tests.ports import reserved_ports

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::ResourceWarning")]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of the hub."""
    return migrated_data(tmp_path_factory, tmp_path_factory.mktemp("serve") / "data")


@pytest.fixture(scope="module")
def hub(data: Path) -> Iterator[tuple[Hub, int]]:
    """A running hub with a user, and the supervisor's process id. The last test kills it."""
    with pytest.MonkeyPatch.context() as patch, reserved_ports(1) as (port,):
        # Its own settings, not those of the tests.
        patch.setenv("DJANGO_SETTINGS_MODULE", "hub.settings.production")
        for name in ("DATABASE_URL", "HPCFAIR_URL"):
            patch.delenv(name, raising=False)
        with servers.hub(data, port, {}) as process:
            yield Hub(servers.address(port), servers.token(data, "alice")), process


def test_a_ready_hub_takes_uploads(hub: tuple[Hub, int]) -> None:
    # First of all: uploads have a web server of their own, which must not start after /readyz.
    assert httpx.put(f"{hub[0].address}/api/lfs/upload/-", timeout=20).status_code < 500


def test_commands_in_another_shell_know_its_address(hub: tuple[Hub, int], data: Path) -> None:
    printed = subprocess.run(
        [sys.executable, "manage.py", "device", "code"],
        cwd=servers.ROOT,
        env=os.environ | {"HPCFAIR_DATA": str(data)},
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert printed.endswith(f" --hub {hub[0].address}\n")


def test_slow_clients_of_all_kinds_stop_nobody(hub: tuple[Hub, int]) -> None:
    api, _ = hub
    with slow_clients(api.address, api.token, 200) as tally:
        for path in ("/healthz", "/", "/models", "/static/hub/hub.css"):
            assert httpx.get(f"{api.address}{path}", timeout=20).status_code == 200
        assert upload_slowly(api, 3)
    assert tally["connected"].keys() == {"head", "body", "reader", "idle"}


def test_a_killed_supervisor_leaves_no_proxy_behind(hub: tuple[Hub, int]) -> None:
    api, process = hub
    assert httpx.get(f"{api.address}/models").status_code == 200
    os.kill(process, signal.SIGKILL)
    port = int(api.address.rpartition(":")[2])
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with contextlib.closing(socket.socket()) as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return
        time.sleep(0.1)
    raise AssertionError("the proxy still listens")
