"""What contract suites do with builds."""

import hashlib
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from workers.engine.ports import Array
from workers.engine.types import BuildResult


def digests(build: BuildResult) -> dict[str, str]:
    """Each file of a build with the SHA-256 of its bytes."""
    assert build.directory is not None, build.detail
    return {
        str(path.relative_to(build.directory)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(build.directory.rglob("*"))
        if path.is_file()
    }


def run_as_a_user(build: BuildResult, inputs: dict[str, Array], folder: Path) -> dict[str, Array]:
    """Outputs of a build in a fresh process that knows the client alone."""
    assert build.directory is not None
    np.savez(folder / "inputs.npz", **inputs)  # type: ignore[arg-type]  # names are the tensors'
    code = (
        "import numpy as np; from pathlib import Path; from hpcfair.runtimes import registry\n"
        f"path = Path({str(build.directory / build.entry_point)!r})\n"
        f"runtime = registry.open({build.runtime!r}, path, {build.runtime_options!r})\n"
        f"with np.load({str(folder / 'inputs.npz')!r}) as inputs:\n"
        "    outputs = runtime.run(dict(inputs))\n"
        f"np.savez({str(folder / 'outputs.npz')!r}, **outputs)\n"
        "import sys; assert 'workers' not in sys.modules"
    )
    python(code)
    with np.load(folder / "outputs.npz") as outputs:
        return dict(outputs)


def timeless(build: BuildResult) -> BuildResult:
    """A build without what differs from run to run."""
    return replace(build, directory=None, compile_s=0.0, peak_rss_bytes=None)


def assert_close(one: Array, other: Array) -> None:
    """Equal but for the order of float32 sums."""
    np.testing.assert_allclose(one.astype(np.float64), other.astype(np.float64), 1e-5, 1e-6)


def python(code: str) -> str:
    """What ``code`` prints in a fresh process that can import what this one can."""
    path = ":".join(entry for entry in sys.path if entry)
    return subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": path, "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
