"""Download benchmarks."""

from functools import partial

from benchmarks.load import Connection
from benchmarks.report import Figure, ratio, say, spread
from benchmarks.rounds import take_turns
from benchmarks.scene import BIG, LARGE, MANY, Scene

_BIG_PATH = f"/{BIG}/resolve/main/{LARGE}"


def large(scene: Scene, rounds: int) -> dict[str, Figure]:
    """Throughput of the large file, from three servers."""
    mib = len(scene.large) / 2**20
    times = take_turns(
        "download",
        {
            "hub": partial(_fetch, scene.hub.address, _BIG_PATH),
            "nginx": partial(_fetch, scene.nginx, f"/files/{LARGE}"),
            "loopback": partial(_fetch, scene.loopback, "/"),
        },
        rounds,
        unit_of=mib,
    )
    figures = {
        "download_vs_nginx": ratio(times["nginx"], times["hub"]),
        "download_vs_loopback": ratio(times["loopback"], times["hub"]),
    }
    for name, series in times.items():
        figures[f"download_{name}"] = spread([mib / seconds for seconds in series], "MiB/s")
    return figures


def small(scene: Scene, rounds: int) -> dict[str, Figure]:
    """Rate of many small files, one after another over one connection."""
    prefix = f"/{MANY}/resolve/main"
    times = take_turns(
        "small files",
        {
            "hub": partial(_fetch_all, scene, scene.hub.address, prefix),
            "nginx": partial(_fetch_all, scene, scene.nginx, "/files"),
        },
        rounds,
    )
    figures = {"small_files_vs_nginx": ratio(times["nginx"], times["hub"])}
    for name, series in times.items():
        rates = [len(scene.small) / seconds for seconds in series]
        figures[f"small_files_{name}"] = spread(rates, "files/s")
    return figures


def first_byte(scene: Scene, requests: int) -> dict[str, Figure]:
    """Time from before the request is sent to the first byte of its answer."""
    with Connection(scene.hub.address) as connection:
        waits_ms = []
        for number in range(requests + 20):
            file = scene.small[number % len(scene.small)]
            answer = connection.ask("GET", f"/{MANY}/resolve/main/{file}")
            waits_ms.append(answer.first_byte_s * 1000)
    # The first requests connect to the database.
    waits_ms = waits_ms[20:]
    median = spread(waits_ms, "ms")
    say(f"first byte: {median.value:.2f} ms")
    return {
        "first_byte_ms": median,
        "first_byte_p95_ms": spread(waits_ms, "ms", percentile=95),
    }


def clients(scene: Scene, rounds: int) -> dict[str, Figure]:
    """Throughput of the large file with real clients, into a new folder."""
    mib = len(scene.large) / 2**20
    times = take_turns(
        "clients",
        {verb: partial(scene.client, verb, BIG, LARGE) for verb in ("hf", "hpcfair")},
        rounds,
        unit_of=mib,
    )
    figures = {"client_vs_hf": ratio(times["hf"], times["hpcfair"])}
    for name, series in times.items():
        figures[f"client_{name}"] = spread([mib / seconds for seconds in series], "MiB/s")
    return figures


def _fetch(address: str, path: str) -> float:
    with Connection(address) as connection:
        return connection.ask("GET", path).last_byte_s


def _fetch_all(scene: Scene, address: str, prefix: str) -> float:
    with Connection(address) as connection:
        return sum(connection.ask("GET", f"{prefix}/{name}").last_byte_s for name in scene.small)
