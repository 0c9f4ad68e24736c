"""Two hubs as two processes: a bundle for the one without a network, and a mirror over HTTP."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from benchmarks import servers
from benchmarks.lifetime import ending_with_us
from hpcfair.client import Client
from hpcfair.config import Config
from hpcfair.mirror import MirroredModel
from hpcfair.resolution import PlainModelWarning
from tests.factories import tiny_onnx
from tests.migrated import migrated_data
from tests.ports import reserved_ports
from tests.programs import needs

pytestmark = [
    pytest.mark.slow,
    needs("cryptography"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::hpcfair.trust.hubkeys.NewKeyWarning"),
]


#: What the hub's worker does with the jobs that wait.
_INSPECT = """
import django
django.setup()
from registry.states import JobKind
from workers.jobs.run import drain
drain([JobKind.INSPECT], here=None)
"""
#: The operator's command, in the same process.
_TRUST = """
import sys
from django.core.management import call_command
call_command("keys", "trust", *sys.argv[1:])
"""


@dataclass(frozen=True)
class RunningHub:
    """A hub in a process of its own, and a client of its user ``lab``."""

    data: Path
    client: Client

    def python(self, program: str, *words: str) -> str:
        """The output of a program beside the hub."""
        return subprocess.run(
            [sys.executable, "-c", program, *words],
            cwd=servers.ROOT,
            env=os.environ | {"HPCFAIR_DATA": str(self.data)},
            check=True,
            capture_output=True,
            text=True,
        ).stdout


@contextmanager
def running(data: Path, port: int, token: str) -> Iterator[RunningHub]:
    """A hub's web server, without the proxy and the workers that tests of `serve` start."""
    url = servers.address(port)
    command = ending_with_us(sys.executable, "-m", "gunicorn", "hub.wsgi")
    command += ["--bind", f"127.0.0.1:{port}", "--threads", "4", "--log-level", "warning"]
    environment = os.environ | {"HPCFAIR_DATA": str(data), "HPCFAIR_URL": url}
    process = subprocess.Popen(command, cwd=servers.ROOT, env=environment)
    try:
        config = Config(url, token, data.parent / "cache", keys=data.parent / "keys.json")
        with Client(config=config) as client:
            yield RunningHub(data, client)
    finally:
        process.terminate()
        process.wait()


@pytest.fixture
def hubs(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[RunningHub, RunningHub]]:
    """The hub that publishes, and the one that copies."""
    folder = tmp_path_factory.mktemp("hubs")
    monkeypatch.setenv("DJANGO_SETTINGS_MODULE", "hub.settings.production")
    monkeypatch.setenv("HPCFAIR_QUIET", "1")
    monkeypatch.setenv("HPCFAIR_CONFIG", str(folder / "config"))
    for name in ("DATABASE_URL", "HPCFAIR_URL"):
        monkeypatch.delenv(name, raising=False)
    places = [folder / name / "data" for name in ("a", "b")]
    token = servers.token(migrated_data(tmp_path_factory, places[0]), "lab")
    shutil.copytree(places[0], places[1])
    with (
        reserved_ports(2) as ports,
        running(places[0], ports[0], token) as there,
        running(places[1], ports[1], token) as here,
    ):
        yield there, here


def states(done: Iterator[MirroredModel]) -> dict[str, str]:
    return {one.name: one.state for one in done}


def test_a_model_is_carried_by_a_bundle_and_kept_up_to_date_by_a_mirror(
    hubs: tuple[RunningHub, RunningHub], tmp_path: Path
) -> None:
    there, here = hubs
    there.client.save(tiny_onnx(), "lab/tiny", card={"license": "mit"}, wait=False)
    there.python(_INSPECT)
    bundle = str(tmp_path / "tiny.hpcfair")
    there.client.bundle("lab/tiny", bundle)

    here.client.import_model(bundle, "lab/carried")

    source = there.client.config.url
    keyid = there.client.http.get("/api/v1/keys")["items"][0]["keyid"]
    assert here.python(_INSPECT + _TRUST, source, keyid) == f"{source}\t{keyid}\n"
    with pytest.warns(PlainModelWarning), here.client.load("lab/carried") as model:
        assert model(np.ones((2, 4), np.float32)).shape == (2, 3)
    assert states(here.client.mirror(source, "lab/*")) == {"lab/tiny": "new"}
    assert states(here.client.mirror(source, "lab/*")) == {"lab/tiny": "unchanged"}
    there.client.save(tiny_onnx(features=5), "lab/tiny", wait=False)
    assert states(here.client.mirror(source, "lab/tiny")) == {"lab/tiny": "updated"}

    version = there.client.http.get("/api/v1/models/lab/tiny/identifiers")["items"][1]["ark"]
    name, revision = here.client.locate(version)
    assert (name, revision) == ("lab/tiny", here.client.info("lab/tiny").revision)

    why = {"reason": "wrong labels"}
    there.client.http.json("DELETE", "/api/v1/models/lab/tiny", params=why)
    (gone,) = here.client.mirror(source, "lab/tiny")
    assert gone.state == "gone"
    assert "wrong labels" in gone.reason
    assert here.client.info("lab/tiny").files
