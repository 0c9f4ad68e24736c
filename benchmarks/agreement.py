"""How often trials and confirmations agree, how many searches end undecided, how fast trials are.

``make bench NAME=agreement [ARGS="--searches 3 --budget 40"]``. Example models are searched in
turns, each round with another seed and without the experience of the others. A trial and the
confirmation of its candidate agree if their 95 % intervals of the ratio to the baseline overlap.
"""

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from math import sqrt
from pathlib import Path

from benchmarks.calm import wait
from benchmarks.networks import example
from benchmarks.report import Figure, environment, report, say, spread
from benchmarks.searchoptions import SearchOptions
from benchmarks.serving import SearchSetup
from hpcfair.measurement.types import Interval
from workers.backends import registry
from workers.device.best import best_result
from workers.device.inconclusive import inconclusive_of
from workers.engine.local import LocalDevice
from workers.engine.search_result import SearchResult
from workers.engine.trial_store import MemoryTrialStore
from workers.engine.tune import tune
from workers.engine.types import Network
from workers.fleet.energy import counters_of
from workers.fleet.probe import this_machine

#: Three of 1 to 5 GMAC, three smaller ones.
MODELS = ("resnet50", "densenet121", "inception_v1", "bert_small", "squeezenet", "mobilenetv2")
QUICK = ("digits",)
#: Networks whose trials count for ``trials_per_s``, by multiply-accumulates of a run.
_LEAST_MACS, _MOST_MACS = 1_000_000_000, 5_000_000_000
#: Gain that is considerable if it is left undecided.
CONSIDERABLE_GAIN = 0.05
_BASELINE = "the aims of each figure; trials_per_s: the commit before, by the same command"


@dataclass(frozen=True, slots=True)
class Search:
    """A finished search.

    Attributes:
        pairs: The ratio of each confirmed candidate by its trial and by its confirmation.
        undecided_gain: Largest relative gain over what is served that is left open, 0 without any.
        trials_s: Seconds of all trials together.
    """

    model: str
    macs: int
    trials: int
    pruned: int
    trials_s: float
    pairs: tuple[tuple[Interval, Interval], ...]
    undecided_gain: float


def main() -> None:
    """Search, report the figures."""
    options = _options()
    here = this_machine(None).spec
    backends, missing = registry.available(here, options.backends, formats={"onnx"})
    setup = SearchSetup(here, backends, missing, options.budget, 0, registry.reference_for(here))
    facts = environment("onnxruntime", "openvino", "nncf", "apache-tvm", target=here.slug)
    facts |= {"budget_s": options.budget, "searches": options.searches}
    searches = [
        _search(name, options.cache, setup, seed)
        for seed in range(options.searches)
        for name in options.models
    ]
    report(
        "agreement",
        figures_of(searches),
        baseline=_BASELINE,
        environment=facts,
        details={"searches": [asdict(each) for each in searches]},
    )


def figures_of(searches: Sequence[Search]) -> dict[str, Figure]:
    """The figures of at least one search."""
    pairs = [pair for search in searches for pair in search.pairs]
    agreed = sum(trial.overlaps(confirmation) for trial, confirmation in pairs)
    undecided = sum(search.undecided_gain > CONSIDERABLE_GAIN for search in searches)
    rates = [
        search.trials / search.trials_s
        for search in searches
        if _LEAST_MACS <= search.macs <= _MOST_MACS
    ]
    trials = sum(search.trials for search in searches)
    figures = {
        "agreement": share(agreed, len(pairs)),
        "undecided": share(undecided, len(searches)),
        "pruned": share(sum(search.pruned for search in searches), trials),
    }
    return figures | ({"trials_per_s": spread(rates, "1/s")} if rates else {})


def share(count: int, of: int) -> Figure:
    """A share with its 95 % interval (Wilson 1927); 0 to 1 of nothing."""
    if not of:
        return Figure(0.0, 0.0, 1.0, "share")
    z, value = 1.96, count / of
    centre = (value + z * z / (2 * of)) / (1 + z * z / of)
    half = z * sqrt(value * (1 - value) / of + z * z / (4 * of * of)) / (1 + z * z / of)
    return Figure(value, max(0.0, centre - half), min(1.0, centre + half), "share")


def search_of(network: Network, name: str, result: SearchResult) -> Search:
    """What a search says about its trials."""
    pairs = [
        (each.trial.measurement.ratio, each.measurement.ratio)
        for each in result.confirmed_results
        if each.trial.measurement is not None
    ]
    gains = [0.0]
    for one in inconclusive_of(result):
        served = min(best_result(result, one["tolerance"]).measurement.ratio.value, 1.0)
        gains.append(served / one["ratio"] - 1)
    return Search(
        model=name,
        macs=network.macs or 0,
        trials=len(result.trials),
        pruned=sum(trial.outcome == "pruned" for trial in result.trials),
        trials_s=sum(trial.duration_s for trial in result.trials),
        pairs=tuple(pairs),
        undecided_gain=max(gains),
    )


def _search(name: str, cache: Path, setup: SearchSetup, seed: int) -> Search:
    network = example(name, cache)
    wait()
    request = replace(setup.request(network), seed=seed)
    with (
        tempfile.TemporaryDirectory(prefix="hpcfair-bench-") as scratch,
        LocalDevice(request, setup.backends, Path(scratch), counters_of(setup.target)) as device,
    ):
        result = tune(request, setup.backends, device, MemoryTrialStore())
    search = search_of(network, name, result)
    say(
        f"{name} {seed}: {search.trials} trials in {search.trials_s:.0f} s, {search.pruned} "
        f"pruned, {len(search.pairs)} confirmed, undecided gain {search.undecided_gain:.1%}"
    )
    return search


def _options() -> argparse.Namespace:
    options = SearchOptions(__doc__, MODELS, QUICK)
    options.number("budget", 40.0, 8.0, "seconds of a search")
    options.number("searches", 3, 1, "of each model")
    return options.parse()


if __name__ == "__main__":
    main()
