"""Bytes that clients fetch for a second version of a large file, over the size of the file.

``make bench NAME=second_version [ARGS="--client hf_xet_1_2=PYTHON"]``, where ``PYTHON`` is the
interpreter of an environment with another release of ``huggingface_hub``. Each client fetches the
first version into an empty cache, then the second. All bytes that the hub sends are counted, heads
and lists of chunks included.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks import servers
from benchmarks.proxy import CountingProxy
from benchmarks.report import Figure, environment, report, say

_REPOSITORY = "bench/versions"
_FILE = "large.bin"
_UPLOAD = f"""
import sys
from huggingface_hub import HfApi
api = HfApi()
api.create_repo({_REPOSITORY!r}, exist_ok=True)
done = api.upload_file(path_or_fileobj=sys.argv[1], path_in_repo={_FILE!r}, repo_id={_REPOSITORY!r})
print(done.oid)
"""
_STOCK = f"""
import sys
from huggingface_hub import hf_hub_download
print(hf_hub_download({_REPOSITORY!r}, {_FILE!r}, revision=sys.argv[1]))
"""
_HPCFAIR = f"""
import sys
from hpcfair import Client
with Client() as client:
    client.pull({_REPOSITORY!r}, sys.argv[2], revision=sys.argv[1])
print(sys.argv[2] + "/{_FILE}")
"""
_BASELINE = "the size of the file"
# Without it, releases of hf_xet that contain a cache of chunks do not use it.
_CACHE_BYTES = str(10 * 2**30)


@dataclass(frozen=True)
class _Subject:
    """A client: its interpreter, and the program that fetches a version."""

    name: str
    python: str
    program: str


@dataclass(frozen=True)
class _Hub:
    """The hub behind the proxy, with a token of its user."""

    proxy: CountingProxy
    token: str
    folder: Path

    def run(self, python: str, program: str, *arguments: str, home: Path) -> str:
        """The last line that ``program`` prints, run with the caches in ``home``."""
        url = servers.address(self.proxy.port)
        variables = {
            "HF_ENDPOINT": url,
            "HF_HOME": str(home),
            "HF_TOKEN": self.token,
            "HF_HUB_DISABLE_PROGRESS_BARS": "1",
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "HF_XET_CHUNK_CACHE_SIZE_BYTES": _CACHE_BYTES,
            "HPCFAIR_CACHE": str(home / "hpcfair"),
            "HPCFAIR_CONFIG": str(home),
            "HPCFAIR_QUIET": "1",
            "HPCFAIR_TOKEN": self.token,
            "HPCFAIR_URL": url,
        }
        done = subprocess.run(
            [python, "-c", program, *arguments],
            env=os.environ | variables,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            cwd=servers.ROOT,
        )
        return done.stdout.split()[-1]


def main() -> None:
    """Measure and report the figures."""
    options = _options()
    subjects = [
        _Subject("hpcfair", sys.executable, _HPCFAIR),
        _Subject("stock", sys.executable, _STOCK),
        *(
            _Subject(name, python, _STOCK)
            for name, _, python in (client.partition("=") for client in options.client)
        ),
    ]
    facts = environment("huggingface_hub", "hf-xet", arguments={"mib": options.mib})
    with tempfile.TemporaryDirectory(prefix="hpcfair-bench-") as folder:
        figures = _measure(Path(folder), options.mib, subjects)
    report("second_version", figures, baseline=_BASELINE, environment=facts)


def _measure(folder: Path, mib: int, subjects: list[_Subject]) -> dict[str, Figure]:
    data, ports = folder / "data", [servers.free_port(), servers.free_port()]
    proxy = CountingProxy(*ports)
    own = {"HPCFAIR_URL": servers.address(proxy.port)}
    say(f"publishing versions of {mib} MiB")
    with servers.hub(data, ports[0], own), proxy.running():
        hub = _Hub(proxy, servers.token(data, "bench"), folder)
        contents = _versions(mib)
        oids = []
        for number, content in enumerate(contents):
            file = folder / str(number)
            file.write_bytes(content)
            oids.append(hub.run(sys.executable, _UPLOAD, str(file), home=folder / "upload"))
        first, *others = oids
        figures = {}
        for subject in subjects:
            parts = []
            for oid, content in zip(others, contents[1:], strict=True):
                home = folder / f"{subject.name}-{oid}"
                home.mkdir()
                hub.run(subject.python, subject.program, first, str(home / "files"), home=home)
                before = proxy.sent_bytes
                arguments = (oid, str(home / "files"))
                path = hub.run(subject.python, subject.program, *arguments, home=home)
                parts.append((proxy.sent_bytes - before) / len(content))
                if Path(path).read_bytes() != content:
                    raise RuntimeError(f"{subject.name} received other bytes")
            say(f"{subject.name}: {parts[0]:.4f} overwritten, {parts[1]:.4f} inserted")
            figures[f"{subject.name}_fraction"] = Figure(parts[0], min(parts), max(parts), "ratio")
    return figures


def _versions(mib: int) -> list[bytes]:
    """A file, the same with 1/64 of it overwritten, and with as much inserted."""
    noise = random.Random(0)  # noqa: S311
    first, change = noise.randbytes(mib << 20), noise.randbytes(mib << 14)
    middle = len(first) // 2
    overwritten = first[:middle] + change + first[middle + len(change) :]
    return [first, overwritten, first[:middle] + change + first[middle:]]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=64, help="size of the file")
    parser.add_argument(
        "--client", action="append", default=[], help="NAME=PYTHON of another huggingface_hub"
    )
    parser.add_argument("--quick", action="store_true", help="does it run? no figures to quote")
    options = parser.parse_args()
    if options.quick:
        options.mib = 8
    return options


if __name__ == "__main__":
    main()
