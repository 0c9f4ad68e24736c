"""How light and fast the client is: its import, a warm load, and a pull of large files.

``make bench NAME=light [ARGS="--quick"]``. The subjects take turns within each round:

- ``python -c "import hpcfair"`` and ``python -c pass``;
- a load of a cached model, with its request to the hub, and the runtime's session on the same file;
- pulls by ``hpcfair`` and by ``huggingface_hub`` without Xet, of one large file and of several, and
  the bounds: SHA-256 on one core, writing to the disk, receiving from the hub, and the share of the
  processors that a pull and its hub occupy.
"""

import argparse
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from benchmarks import clients, servers
from benchmarks.load import Connection
from benchmarks.report import Figure, counted, environment, ratio, report, say, spread
from benchmarks.rounds import take_turns
from benchmarks.wire import Hub
from examples.models.catalogue import make
from hpcfair import Client, Config
from hpcfair.errors import HpcfairError

_ONE, _SEVERAL, _NETWORK = "bench/one", "bench/several", "bench/network"
_FILES = 8
_BLOCK_BYTES = 2**20
_PATIENCE_S = 120.0
_WITHOUT_XET = {"HF_HUB_DISABLE_XET": "1"}
_BASELINE = (
    "python -c pass; onnxruntime.InferenceSession on the same file; hf_hub_download and "
    "snapshot_download without Xet"
)


def main() -> None:
    """Measure and report the figures."""
    options = _options()
    arguments = {name: value for name, value in vars(options).items() if name != "folder"}
    facts = environment("huggingface_hub", "onnxruntime", "httpx", "numpy", arguments=arguments)
    figures = _imports(options.imports)
    with (
        tempfile.TemporaryDirectory(prefix="hpcfair-bench-", dir=options.folder) as name,
        _hub(Path(name), options.mib) as hub,
    ):
        figures |= _loads(hub, Path(name), options.loads)
        figures |= _pulls(hub, Path(name), options.mib, options.rounds)
    report("light", figures, baseline=_BASELINE, environment=facts)


def _imports(rounds: int) -> dict[str, Figure]:
    times = take_turns(
        "import",
        {"import": partial(_start, "import hpcfair"), "pass": partial(_start, "pass")},
        rounds,
    )
    pairs = zip(times["import"], times["pass"], strict=True)
    modules = (
        "import sys; before = len(sys.modules); import hpcfair; print(len(sys.modules) - before)"
    )
    done = subprocess.run([sys.executable, "-c", modules], capture_output=True, check=True)
    return {
        "import_ms": spread([(whole - bare) * 1000 for whole, bare in pairs], "ms"),
        "import_modules": counted(int(done.stdout), "modules"),
    }


def _start(code: str) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - began


@contextmanager
def _hub(folder: Path, mib: int) -> Iterator[Hub]:
    """A hub with a network that can be loaded, one large file, and several of the same size."""
    data = folder / "data"
    # Workers inspect the network; they must not compute while others are timed.
    with _running(data, workers=True) as address:
        token = servers.token(data, "bench")
        _publish_network(Hub(address, token), folder)
    with _running(data, workers=False) as address:
        hub = Hub(address, token)
        say(f"publishing {mib} MiB, in one file and in {_FILES}")
        for name, count in ((_ONE, 1), (_SEVERAL, _FILES)):
            hub.create(name)
            sizes = [(mib << 20) // count] * count
            contents = {f"{number}.bin": os.urandom(size) for number, size in enumerate(sizes)}
            for content in contents.values():
                hub.put_large(name, content)
            hub.commit(name, large=contents)
        yield hub


@contextmanager
def _running(data: Path, *, workers: bool) -> Iterator[str]:
    port = servers.free_port()
    own = {"HPCFAIR_URL": servers.address(port)}
    with servers.hub(data, port, own, workers=workers):
        yield servers.address(port)


def _publish_network(hub: Hub, folder: Path) -> None:
    model = make("squeezenet", folder / "network")
    config = Config(hub.address, hub.token, folder / "cache", keys=folder / "keys.json")
    with Client(config=config) as client:
        client.save(model, _NETWORK, message="Publish")
        deadline = time.monotonic() + _PATIENCE_S
        while not _is_loadable(client):
            if time.monotonic() > deadline:
                raise RuntimeError("the network was not inspected")
            time.sleep(0.2)


def _is_loadable(client: Client) -> bool:
    try:
        client.load(_NETWORK, target=None).close()
    except HpcfairError:
        return False
    return True


def _loads(hub: Hub, folder: Path, rounds: int) -> dict[str, Figure]:
    variables = {
        "HPCFAIR_URL": hub.address,
        "HPCFAIR_TOKEN": hub.token,
        "HPCFAIR_CACHE": str(folder / "cache"),
        "HPCFAIR_CONFIG": str(folder),
        "HPCFAIR_QUIET": "1",
    }
    command = [sys.executable, "-m", "benchmarks.warmload", _NETWORK, str(rounds)]
    first, more = [], []
    for _ in range(3):
        done = subprocess.run(
            command,
            env=os.environ | variables,
            stdout=subprocess.PIPE,
            check=True,
            cwd=servers.ROOT,
        )
        times = json.loads(done.stdout)
        adds = [a - b for a, b in zip(times["load"], times["session"], strict=True)]
        first.append(adds[0] * 1000)
        more += [each * 1000 for each in adds[1:]]
    return {
        "warm_load_adds_ms": spread(more, "ms"),
        "first_load_adds_ms": spread(first, "ms"),
    }


def _pulls(hub: Hub, folder: Path, mib: int, rounds: int) -> dict[str, Figure]:
    content = os.urandom(mib << 20)
    busy: dict[str, list[float]] = defaultdict(list)

    def pull(name: str, verb: str, repository: str, file: str = "") -> float:
        os.sync()
        transfer = clients.run(verb, hub, repository, file, folder, **_WITHOUT_XET)
        busy[name].append(transfer.busy)
        return transfer.seconds

    times = take_turns(
        "pull",
        {
            "one": partial(pull, "one", "hpcfair", _ONE),
            "one_hf": partial(pull, "one_hf", "hf", _ONE, "0.bin"),
            "several": partial(pull, "several", "hpcfair", _SEVERAL),
            "several_hf": partial(pull, "several_hf", "snapshot", _SEVERAL),
            "sha256": partial(_hash, content),
            "disk": partial(_write, content, folder),
            "receive": partial(_receive, hub),
        },
        rounds,
        unit_of=mib,
    )
    figures = {
        "pull_vs_hf": ratio(times["one_hf"], times["one"]),
        "pull_several_vs_hf": ratio(times["several_hf"], times["several"]),
        "pull_vs_sha256": ratio(times["sha256"], times["one"]),
        "pull_vs_disk": ratio(times["disk"], times["one"]),
        "pull_several_vs_disk": ratio(times["disk"], times["several"]),
    }
    for name, series in times.items():
        figures[f"rate_{name}"] = spread([mib / seconds for seconds in series], "MiB/s")
    for name, shares in busy.items():
        # Without the warm-up round.
        figures[f"busy_{name}"] = spread(shares[-rounds:], "fraction")
    return figures


def _hash(content: bytes) -> float:
    view, digest = memoryview(content), hashlib.sha256()
    began = time.perf_counter()
    for at in range(0, len(view), _BLOCK_BYTES):
        digest.update(view[at : at + _BLOCK_BYTES])
    return time.perf_counter() - began


def _write(content: bytes, folder: Path) -> float:
    view, place = memoryview(content), folder / f"{random.randbytes(6).hex()}.bin"  # noqa: S311
    # Nothing of others is left to write.
    os.sync()
    began = time.perf_counter()
    with place.open("wb", buffering=0) as file:
        for at in range(0, len(view), _BLOCK_BYTES):
            file.write(view[at : at + _BLOCK_BYTES])
    seconds = time.perf_counter() - began
    place.unlink()
    return seconds


def _receive(hub: Hub) -> float:
    with Connection(hub.address) as connection:
        return connection.ask("GET", f"/{_ONE}/resolve/main/0.bin").last_byte_s


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=1024, help="size of the large files together")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of pulls")
    parser.add_argument("--imports", type=int, default=15, help="rounds of imports")
    parser.add_argument("--loads", type=int, default=10, help="loads of each of three processes")
    parser.add_argument("--folder", help="where clients write: the disk that is measured")
    parser.add_argument("--quick", action="store_true", help="does it run? no figures to quote")
    options = parser.parse_args()
    if options.quick:
        options.mib, options.rounds, options.imports, options.loads = 64, 1, 2, 3
    return options


if __name__ == "__main__":
    main()
