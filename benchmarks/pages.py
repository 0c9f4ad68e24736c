"""Pages of analyses in a browser: payload, first answer, and how long a person waits for a chart or
a graph: ``make bench NAME=pages``.

One hub with planted rows: a network of ``--nodes`` nodes, and a workload with ``--trials`` schedule
trials. A headless Chromium opens each page, alone and without a cache, in random order in each
round. Pages of the same hub without a chart take turns with them and are the baseline; budgets are
in README.md.

Figures are of the page that is worst in the median of the rounds. Kilobytes are what nginx's gzip
makes of all that a page loads, since the hub serves it that way.
"""

import argparse
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from playwright.sync_api import Browser, Page, Response, sync_playwright

from benchmarks import servers
from benchmarks.report import Figure, counted, environment, report, say, spread
from tests.programs import path_of

_BASELINE = "pages of the same hub without charts and graphs, in the same run"
_PLAIN = ("builds", "jobs")
#: Longest wait for a page: one that takes minutes is a finding, not a failure.
_PATIENCE_MS = 300_000
#: Time at which the graph of a page is drawn and takes keys.
_WATCH_GRAPH = """
window.graphDrawn = new Promise(done => {
  const look = () => {
    const drawn = document.querySelector('[data-graph][data-ready]');
    if (drawn) requestAnimationFrame(() => done(performance.now()));
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
});
"""
#: Milliseconds from a drag over a chart's middle to the second frame after it.
_FRAMES = """() => new Promise(done => {
  const began = performance.now();
  requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - began)));
})"""


def main() -> None:
    """Fill a hub, open its pages and report the figures."""
    options = _options()
    with tempfile.TemporaryDirectory(prefix="pages-") as folder:
        data = Path(folder)
        port = servers.free_port()
        variables = {"HPCFAIR_URL": servers.address(port), "HPCFAIR_DATA": str(data)}
        with servers.hub(data, port, variables, start_s=600):
            say("rows")
            addresses = _fill(data, options)
            rounds = _measure(servers.address(port), addresses, options.rounds)
    facts = environment("Django", arguments=vars(options))
    report("pages", _figures(rounds), baseline=_BASELINE, environment=facts, details=rounds)


def _fill(data: Path, options: argparse.Namespace) -> dict[str, str]:
    """Addresses by name, from a process that writes the rows."""
    command = [
        sys.executable, "-m", "benchmarks.pages_rows", str(options.nodes), str(options.trials),
    ]  # fmt: skip
    variables = {"HPCFAIR_DATA": str(data), "DJANGO_SETTINGS_MODULE": "hub.settings.production"}
    written = subprocess.run(
        command,
        env={**os.environ, **variables},
        cwd=servers.ROOT,
        check=True,
        stdout=subprocess.PIPE,
    )
    addresses: dict[str, str] = json.loads(written.stdout.splitlines()[-1])
    return addresses


def _measure(
    base: str, addresses: Mapping[str, str], rounds: int
) -> dict[str, dict[str, list[float]]]:
    """Page to measure to a value of each round."""
    chance = random.Random(0)  # noqa: S311 - not a secret
    values: dict[str, dict[str, list[float]]] = {name: {} for name in addresses}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path_of("chromium"), args=["--no-sandbox"]
        )
        for number in range(rounds + 1):
            order = list(addresses)
            chance.shuffle(order)
            for name in order:
                measured = _visit(browser, base + addresses[name])
                # The first round fills the hub's caches.
                for measure, value in measured.items() if number else ():
                    values[name].setdefault(measure, []).append(value)
            say(f"round {number} of {rounds}")
        browser.close()
    return values


def _visit(browser: Browser, address: str) -> dict[str, float]:
    """Open a page as somebody does who never was there."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.add_init_script(_WATCH_GRAPH)
    page = context.new_page()
    page.set_default_timeout(_PATIENCE_MS)
    answers: list[Response] = []

    def keep(answer: Response) -> None:
        answers.append(answer)

    page.on("response", keep)
    page.goto(address, wait_until="load")
    measured = {"first_html_ms": _first_html(page)}
    if page.locator("[data-graph]").count():
        measured["graph_ms"] = float(page.evaluate("window.graphDrawn"))
    if page.locator("[data-chart] [data-plot] svg, [data-chart] [data-plot] canvas").count():
        measured["brush_ms"] = _brush(page)
    page.wait_for_load_state("networkidle")
    sizes = {"script": 0.0, "all": 0.0}
    for answer in answers:
        packed = len(gzip.compress(answer.body(), 6)) / 1024 if answer.ok else 0.0
        sizes["all"] += packed
        if answer.request.resource_type == "script":
            sizes["script"] += packed
    measured |= {"kilobytes_gz": sizes["all"], "script_kilobytes_gz": sizes["script"]}
    context.close()
    return measured


def _first_html(page: Page) -> float:
    """From the request to the first byte of its answer."""
    entry = "performance.getEntriesByType('navigation')[0]"
    return float(page.evaluate(f"{entry}.responseStart - {entry}.requestStart"))


def _brush(page: Page) -> float:
    """Slowest answer to a drag over the chart with most marks: until the frame that shows it."""
    plot = page.locator("[data-chart] [data-plot]").first
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    if box is None:
        return 0.0
    left, middle = box["x"] + box["width"] * 0.3, box["y"] + box["height"] * 0.5
    page.mouse.move(left, middle)
    page.mouse.down()
    slowest = 0.0
    for step in range(1, 9):
        page.mouse.move(left + 0.05 * step * box["width"], middle + step)
        slowest = max(slowest, float(page.evaluate(_FRAMES)))
    page.mouse.up()
    return max(slowest, float(page.evaluate(_FRAMES)))


def _figures(values: Mapping[str, Mapping[str, list[float]]]) -> dict[str, Figure]:
    figures: dict[str, Figure] = {}
    for measure, unit in (
        ("kilobytes_gz", "kB"),
        ("script_kilobytes_gz", "kB"),
        ("graph_ms", "ms"),
        ("brush_ms", "ms"),
        ("first_html_ms", "ms"),
    ):
        rows = [
            spread(each[measure], unit)
            for name, each in values.items()
            if measure in each and name not in _PLAIN
        ]
        if rows:
            figures[measure] = max(rows, key=lambda figure: figure.value)
    plain = [value for name in _PLAIN for value in values[name]["first_html_ms"]]
    figures["plain_first_html_ms"] = spread(plain, "ms")
    heaviest = max(spread(values[name]["kilobytes_gz"], "kB").value for name in _PLAIN)
    figures["plain_kilobytes_gz"] = counted(heaviest, "kB")
    return figures


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--trials", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--quick", action="store_true", help="few rows and rounds; no figures")
    options = parser.parse_args()
    if options.quick:
        options.nodes, options.trials, options.rounds = 300, 400, 2
    return options


if __name__ == "__main__":
    started = time.monotonic()
    main()
    say(f"{time.monotonic() - started:.0f} s in all")
