"""The packages of the images, installed by the script that the Dockerfile runs.

Environments are kept in ``.images/``; those of the processor image share their files with the
environment of the tests. The GPU image is resolved, and not installed: it has gigabytes.
"""

import fcntl
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.composefile import ROOT
from tests.environments import index_variables
from workers.backends.registry import BACKENDS

pytestmark = pytest.mark.slow

INSTALL = ROOT / "docker" / "install.sh"
KEPT = ROOT / ".images"
#: What decides which packages are installed.
SOURCES = ("pyproject.toml", "client/pyproject.toml", "constraints.txt", "docker/install.sh")
#: Backends that serve processors, which the image must have.
_ON_PROCESSORS = [
    name for name, entry in BACKENDS.items() if not entry.accelerator and not entry.on_request
]
_PROBE = """
import importlib, json, sys
from workers.backends import registry
from workers.fleet.probe import this_machine

for module in ("boto3", "hub", "hpcfair", "nncf", "psycopg2", "registry", "workers"):
    importlib.import_module(module)
backends, problems = registry.available(this_machine("processor").spec)
# Heavy libraries are imported by those who use them.
libraries = ("onnxruntime", "openvino", "tvm", "torch", "ai_edge_litert")
versions = {name: importlib.import_module(name).__version__ for name in libraries}
print(json.dumps({"backends": sorted(backends), "problems": problems, "versions": versions,
                  "hub": importlib.import_module("hub").__file__}))
"""


def environment_of(python: Path) -> dict[str, str]:
    """Variables with which the script installs into the environment of ``python``."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    return os.environ | index_variables() | {"PATH": path, "VIRTUAL_ENV": str(python.parents[1])}


@pytest.fixture(scope="module")
def image() -> Path:
    """The interpreter of an environment with the packages of the image ``cpu``."""
    digest = hashlib.sha256(b"".join((ROOT / name).read_bytes() for name in SOURCES))
    folder = KEPT / f"cpu-{digest.hexdigest()[:12]}"
    python = folder / "bin" / "python"
    KEPT.mkdir(exist_ok=True)
    with (KEPT / "cpu.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not python.exists():
            uv("venv", "--quiet", "--python", sys.executable, str(folder))
        # Of a kept environment, only the wheels of this checkout are built anew.
        own = ("--reinstall-package=hpcfair", "--reinstall-package=hpcfair-hub")
        # Byte code of gigabytes takes most of the time; what is imported here is compiled then.
        options = ("--quiet", "--system-certs", "--no-compile-bytecode")
        install("cpu", python, *options, *own)
    return python


def uv(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "uv", *arguments], check=True)


def install(name: str, python: Path, *options: str) -> str:
    """Run the script; what it printed."""
    done = subprocess.run(
        [str(INSTALL), name, *options],
        env=environment_of(python),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout + done.stderr


def test_the_image_has_every_compiler_for_processors(image: Path, tmp_path: Path) -> None:
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "HPCFAIR_DATA": str(tmp_path / "data"),
        "DJANGO_SETTINGS_MODULE": "hub.settings.production",
    }
    options = {"env": environment, "cwd": tmp_path, "capture_output": True, "text": True}
    done = subprocess.run([str(image), "-c", _PROBE], **options, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert not set(_ON_PROCESSORS) - set(told["backends"]), told["problems"]
    # What the wheels carry, not the checkout.
    assert str(ROOT / "hub") not in told["hub"]
    # As the Dockerfile does, and as the container starts.
    hub = str(image.with_name("hpcfair-hub"))
    subprocess.run([hub, "collectstatic", "--noinput"], **options, check=True)
    assert list((tmp_path / "data" / "static" / "admin").iterdir())
    subprocess.run([hub, "check", "--tag", "hub"], **options, check=True)


def test_the_gpu_image_can_be_installed_over_it(image: Path) -> None:
    plan = install("gpu", image, "--dry-run", "--system-certs")
    added = set(re.findall(r"^ \+ ([\w-]+==\S+)$", plan, re.MULTILINE))
    pinned = (ROOT / "docker" / "constraints-gpu.txt").read_text().splitlines()
    assert added == {line for line in pinned if not line.startswith("#")}, plan
    assert any(line.startswith("tensorrt==") for line in added)
    # Nothing that the processor image has is exchanged for something else.
    removed = set(re.findall(r"^ - ([\w-]+)==", plan, re.MULTILINE))
    assert removed <= {"hpcfair", "hpcfair-hub"}, plan


def test_an_unknown_image_is_refused() -> None:
    done = subprocess.run([str(INSTALL), "tpu"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "choose cpu or gpu" in done.stderr
