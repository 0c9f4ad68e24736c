"""Helpers of the contract suites: digests, users' processes, checks of profiles."""

import hashlib
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np

from workers.engine.ports import Array
from workers.engine.profile import Grade, Profile
from workers.engine.space import Space, plain
from workers.engine.types import BuildResult, Options


def digests(build: BuildResult) -> dict[str, str]:
    """SHA-256 of each file of a build, by relative path."""
    assert build.directory is not None, build.detail
    return {
        str(path.relative_to(build.directory)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(build.directory.rglob("*"))
        if path.is_file()
    }


def opened_otherwise(opening: frozenset[str], options: Options, space: Space) -> Options:
    """The options with another value of one that affects opening; unchanged if there is none."""
    for name in sorted(opening & options.keys()):
        for value in plain(space.parameters[name]).values:
            changed = {**options, name: value}
            if value != options[name] and space.contains(changed):
                return changed
    return options


def run_as_a_user(
    builds: Sequence[BuildResult], inputs: dict[str, Array], folder: Path
) -> list[dict[str, Array]]:
    """Outputs of each build, in a new process that imports only the client. On Linux, the first
    build must give the same outputs in an isolated process."""
    np.savez(folder / "inputs.npz", **inputs)  # type: ignore[arg-type]  # names are the tensors'
    results, arguments = [], []
    for number, build in enumerate(builds):
        assert build.directory is not None
        results.append(folder / f"outputs-{number}.npz")
        paths = (str(build.directory / build.entry_point), str(results[-1]))
        arguments.append((build.runtime, build.runtime_options, paths))
    python(
        "import numpy as np; from pathlib import Path; from hpcfair.runtimes import registry\n"
        f"with np.load({str(folder / 'inputs.npz')!r}) as file:\n"
        "    inputs = dict(file)\n"
        f"for name, options, (path, outputs) in {arguments!r}:\n"
        "    runtime = registry.open(name, Path(path), options)\n"
        "    np.savez(outputs, **runtime.run(inputs))\n"
        "    runtime.close()\n"
        "import sys\n"
        f"if sys.platform == 'linux':\n"
        f"    name, options, (path, outputs) = {arguments[0]!r}\n"
        "    isolated = registry.open_isolated(name, Path(path), options)\n"
        "    with np.load(outputs) as file:\n"
        "        for tensor, array in isolated.run(inputs).items():\n"
        "            np.testing.assert_allclose(array, file[tensor], rtol=1e-3, atol=1e-4)\n"
        "    isolated.close()\n"
        "assert 'workers' not in sys.modules"
    )
    outputs = []
    for path in results:
        with np.load(path) as file:
            outputs.append(dict(file))
    return outputs


def timeless(build: BuildResult) -> BuildResult:
    """A build without the fields that differ from run to run."""
    provenance = {name: v for name, v in build.provenance.items() if not name.endswith("_s")}
    return replace(build, directory=None, compile_s=0.0, peak_rss_bytes=None, provenance=provenance)


def check_profile(profile: Profile, nodes: int, code: Path) -> None:
    """Check that call sites are timed and named, and that each node is linked or folded."""
    assert profile.method
    assert profile.total_ns > 0
    assert profile.call_sites
    linked = set()
    for site in profile.call_sites:
        assert site.name
        assert site.operator
        assert min(site.median_ns, site.mad_ns) >= 0
        assert site.runs >= 1
        assert site.kernel is None or site.kernel in {k.symbol for k in profile.kernels}
        assert all(link.grade in get_args(Grade) for link in site.nodes)
        linked |= {link.index for link in site.nodes}
    assert linked.isdisjoint(profile.folded)
    assert linked | set(profile.folded) == set(range(nodes))
    for kernel in profile.kernels:
        assert all((code / path).is_file() for path in kernel.code.values())


def assert_close(one: Array, other: Array) -> None:
    """Assert equality except for the order of float32 sums."""
    np.testing.assert_allclose(one.astype(np.float64), other.astype(np.float64), 1e-5, 1e-6)


def python(code: str) -> str:
    """What ``code`` prints in a new process with the same import path. Raises AssertionError with
    its standard error if it fails."""
    path = ":".join(entry for entry in sys.path if entry)
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": path, "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
