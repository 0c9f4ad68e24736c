"""An isolated model computes as before, in a process that reaches nothing else."""

import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hpcfair.client import Client
from hpcfair.errors import BadInput, NotSupported, RuntimeFailed
from hpcfair.runtimes import registry
from hpcfair.runtimes.isolated import IsolatedRuntime, WeakIsolationWarning

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are confined on Linux")

X = np.arange(8, dtype=np.float32).reshape(2, 4)
Y = np.repeat(X.sum(axis=1, keepdims=True) * 0.5, 3, axis=1)


@pytest.fixture
def model(client: Client, resolution: dict[str, Any]) -> Iterator[Any]:
    with client.load("lab/tiny", isolated=True) as loaded:
        yield loaded


def test_an_isolated_model_runs_and_says_how_it_is_confined(model: Any) -> None:
    np.testing.assert_allclose(model(X), Y)
    np.testing.assert_allclose(model(X), Y)
    assert model.isolation in {"landlock", "seccomp", "landlock+seccomp"}
    assert f"isolation  {model.isolation}" in model.explain()


def test_bad_input_is_reported_as_before(model: Any) -> None:
    with pytest.raises(BadInput):
        model(X.astype(np.float64))
    np.testing.assert_allclose(model(X), Y)


def test_it_outlives_the_thread_that_loaded_it(client: Client, resolution: dict[str, Any]) -> None:
    loaded: list[Any] = []
    thread = threading.Thread(target=lambda: loaded.append(client.load("lab/tiny", isolated=True)))
    thread.start()
    thread.join()
    with loaded[0] as model:
        np.testing.assert_allclose(model(X), Y)


def test_after_close_nothing_is_left(client: Client, resolution: dict[str, Any]) -> None:
    model = client.load("lab/tiny", isolated=True)
    pid = model._runner.runtime._child._process.pid
    folder = Path(model._runner.runtime._folder.name)
    assert folder.exists()
    model.close()
    model.close()
    assert not folder.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    with pytest.raises(RuntimeFailed, match="closed"):
        model(X)


HOSTILE = """
import os, socket, subprocess
import numpy as np
from hpcfair.runtimes.base import TensorInfo

class Hostile:
    name = "hostile"
    pins_workers = False
    def __init__(self, path, options):
        self.inputs = (TensorInfo("x", "float32", (1,)),)
        self.outputs = (TensorInfo("y", "int64", (4,)),)
        self.secret, self.port = options["secret"], options["port"]
    def run(self, inputs):
        if inputs["x"][0] > 0:
            os.abort()
        def tried(act):
            try:
                act()
                return 1
            except OSError:
                return 0
        return {"y": np.array([
            tried(lambda: open(self.secret).read()),
            tried(lambda: open(self.secret, "a")),
            tried(lambda: socket.create_connection(("127.0.0.1", self.port))),
            tried(lambda: subprocess.run(["true"])),
        ])}
    def close(self): pass
    def version(self): return "1"
"""


@pytest.fixture
def hostile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[], IsolatedRuntime]]:
    """Opens a runtime that does what native code could do, from an installed package."""
    packages = tmp_path / "site-packages"
    packages.mkdir()
    (packages / "hostile_runtime.py").write_text(HOSTILE)
    info = packages / "hostile_runtime-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: hostile-runtime\nVersion: 1\n")
    (packages / "hostile_entry.py").write_text(
        "from hpcfair.runtimes.registry import RuntimeEntry\n"
        'ENTRY = RuntimeEntry("hostile_runtime:Hostile", "hostile-runtime", "hostile-runtime")\n'
    )
    (info / "entry_points.txt").write_text("[hpcfair.runtimes]\nhostile = hostile_entry:ENTRY\n")
    monkeypatch.syspath_prepend(str(packages))
    folder = tmp_path / "build"
    folder.mkdir()
    (folder / "model.bin").write_bytes(b"")
    secret = tmp_path / "secret"
    secret.write_text("private")
    opened: list[Any] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        options = {"secret": str(secret), "port": server.getsockname()[1]}

        def start() -> IsolatedRuntime:
            opened.append(registry.open_isolated("hostile", folder / "model.bin", options))
            return opened[-1]

        yield start
    for runtime in opened:
        runtime.close()


def test_native_code_reaches_no_file_no_network_and_no_program(
    hostile: Callable[[], IsolatedRuntime],
) -> None:
    runtime = hostile()
    if runtime.isolation != "landlock+seccomp":
        pytest.skip("this kernel lacks Landlock or seccomp")
    (reached,) = runtime.run({"x": np.zeros(1, np.float32)}).values()
    assert reached.tolist() == [0, 0, 0, 0]


def test_a_crash_ends_the_model_and_not_the_program(
    hostile: Callable[[], IsolatedRuntime],
) -> None:
    runtime = hostile()
    with pytest.raises(RuntimeFailed, match="SIGABRT"):
        runtime.run({"x": np.ones(1, np.float32)})
    with pytest.raises(RuntimeFailed):
        runtime.run({"x": np.zeros(1, np.float32)})


def test_a_kernel_without_a_layer_is_said_and_one_without_any_refused(
    hostile: Callable[[], IsolatedRuntime], monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = hostile()
    with pytest.warns(WeakIsolationWarning, match="seccomp only"):
        assert runtime._checked("seccomp") == "seccomp"
    with pytest.raises(NotSupported):
        runtime._checked("rlimits")
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(NotSupported, match="Linux"):
        registry.open_isolated("onnxruntime", Path("x"), {})
