"""Which compiler passes each architecture class needs, from the trials that the actor may read.

Only readable trials count, also in numbers of networks: portfolios are computed from all networks,
and their counts would reveal private ones.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import exp, log, sqrt
from typing import Any, Final

from registry.selectors.access import Actor, readable_jobs
from registry.states import ArchitectureClass, TrialOutcome
from registry.tables import PassPortfolio, PassTrial

#: Largest ratio of latencies that counts as equally fast, as in studies.
LOSS: Final = 1.02
_FINAL, _ABLATION = "final", "ablation"
#: Half of a 95 % interval in standard deviations.
_Z: Final = 1.96


@dataclass(frozen=True, slots=True)
class MeanRatio:
    """Geometric mean of ratios over networks, below 1 is better.

    ``low`` and ``high`` are its 95 % interval from the intervals of the single measurements; how
    networks differ is in ``least`` and ``most``, the ratios of the best and the worst of them.
    """

    value: float
    low: float
    high: float
    least: float
    most: float
    networks: int


@dataclass(frozen=True, slots=True)
class ListEvidence:
    """A list of passes beside the compiler's own.

    Attributes:
        is_chosen: Whether it is in the portfolio that searches of the class try first.
        compile: Compile time; ``None`` if it was not measured.
        latency: Latency of the code.
        same_code: Number of networks for which both lists generate the same code.
    """

    passes: str
    is_chosen: bool
    compile: MeanRatio | None
    latency: MeanRatio | None
    same_code: int
    networks: int

    @property
    def is_lossless(self) -> bool:
        """Whether it compiles faster and its code is not proved slower."""
        is_faster = self.compile is not None and self.compile.high < 1
        return is_faster and (self.latency is None or self.latency.low <= LOSS)


@dataclass(frozen=True, slots=True)
class PassEffect:
    """The effect of leaving out one pass on compile time and latency.

    Attributes:
        failures: Number of networks that do not compile or compute wrongly without it.
    """

    name: str
    compile: MeanRatio | None
    latency: MeanRatio | None
    networks: int
    failures: int

    @property
    def verdict(self) -> str:
        """``needed``, ``faster without``, ``costs compile time only`` or ``no effect shown``."""
        if self.failures == self.networks or (self.latency and self.latency.low > LOSS):
            return "needed"
        if self.failures:
            return "needed by some"
        if self.latency and self.latency.high < 1:
            return "faster without"
        if self.compile and self.compile.high < 1:
            return "costs compile time only"
        return "no effect shown"


@dataclass(frozen=True, slots=True)
class ClassPasses:
    """The evidence of one class of networks, on one target with one toolchain."""

    target: str
    backend: str
    toolchain: str
    architecture_class: str
    networks: int
    lists: list[ListEvidence]
    effects: list[PassEffect]

    @property
    def title(self) -> str:
        return str(ArchitectureClass(self.architecture_class).label)


def class_passes(
    actor: Actor, *, target: str = "", backend: str = "", architecture_class: str = ""
) -> list[ClassPasses]:
    """The evidence of each class, target, backend and toolchain; empty filters do not restrict."""
    rows = PassTrial.objects.filter(job__in=readable_jobs(actor)).select_related("target")
    filters = {"target__slug": target, "backend": backend, "architecture_class": architecture_class}
    rows = rows.filter(**{name: value for name, value in filters.items() if value})
    studies: dict[tuple[str, str, str, str], list[PassTrial]] = {}
    for trial in rows.defer("measurement", "failure_detail").order_by("pk"):
        key = trial.target.slug, trial.backend, trial.toolchain, trial.architecture_class
        studies.setdefault(key, []).append(trial)
    chosen = _chosen()
    return [
        ClassPasses(
            *key,
            networks=len({trial.graph_hash for trial in trials}),
            lists=sorted(_lists(trials, chosen.get(key, set())), key=_list_order),
            effects=sorted(_effects(trials), key=_effect_order),
        )
        for key, trials in sorted(studies.items(), key=lambda item: (item[0][3], *item[0]))
    ]


def mean_ratio(ratios: Sequence[tuple[float, float, float]]) -> MeanRatio | None:
    """The geometric mean of ratios with their intervals, ``(value, low, high)``; ``None`` without
    any. Errors of different networks are independent, so their variances add up on a logarithmic
    scale."""
    positive = [each for each in ratios if min(each) > 0]
    if not positive:
        return None
    mean = sum(log(value) for value, _, _ in positive) / len(positive)
    variances = [(log(high / low) / (2 * _Z)) ** 2 for _, low, high in positive]
    half = _Z * sqrt(sum(variances)) / len(positive)
    values = [value for value, _, _ in positive]
    return MeanRatio(
        exp(mean), exp(mean - half), exp(mean + half), min(values), max(values), len(positive)
    )


def _chosen() -> dict[tuple[str, str, str, str], set[str]]:
    """Key of a portfolio to its lists; only those with readable evidence are shown."""
    rows = PassPortfolio.objects.select_related("target")
    return {
        (row.target.slug, row.backend, row.toolchain, row.architecture_class): {
            str(each["passes"]) for each in row.lists
        }
        for row in rows
    }


def _lists(trials: Sequence[PassTrial], chosen: set[str]) -> Iterator[ListEvidence]:
    """Evidence of lists that were confirmed, or are in the portfolio."""
    by_list: dict[str, dict[str, PassTrial]] = {}
    for trial in trials:
        is_shown = trial.role == _FINAL or trial.passes in chosen
        if is_shown and trial.outcome == TrialOutcome.MEASURED:
            # A confirmation replaces what came before it.
            best = by_list.setdefault(trial.passes, {})
            if trial.role == _FINAL or trial.graph_hash not in best:
                best[trial.graph_hash] = trial
    for passes, of_network in by_list.items():
        own = list(of_network.values())
        yield ListEvidence(
            passes,
            passes in chosen,
            mean_ratio(list(_ratios(own, "compile_ratio"))),
            mean_ratio(list(_ratios(own, "ratio"))),
            sum(trial.same_code for trial in own),
            len(own),
        )


def _effects(trials: Sequence[PassTrial]) -> Iterator[PassEffect]:
    by_pass: dict[str, dict[str, PassTrial]] = {}
    for trial in trials:
        is_verdict = trial.outcome not in {TrialOutcome.INFRASTRUCTURE, TrialOutcome.PRUNED}
        if trial.role == _ABLATION and trial.about and is_verdict:
            by_pass.setdefault(trial.about, {})[trial.graph_hash] = trial
    for name, of_network in by_pass.items():
        own = list(of_network.values())
        measured = [trial for trial in own if trial.outcome == TrialOutcome.MEASURED]
        yield PassEffect(
            name,
            mean_ratio(list(_ratios(measured, "compile_ratio"))),
            mean_ratio(list(_ratios(measured, "ratio"))),
            len(own),
            len(own) - len(measured),
        )


def _ratios(trials: Iterable[PassTrial], column: str) -> Iterator[tuple[float, float, float]]:
    for trial in trials:
        value: Any = getattr(trial, column)
        if value is None:
            continue
        low, high = getattr(trial, f"{column}_low"), getattr(trial, f"{column}_high")
        yield value, value if low is None else low, value if high is None else high


def _list_order(each: ListEvidence) -> tuple[bool, float]:
    return not each.is_chosen, each.compile.value if each.compile else 1.0


def _effect_order(each: PassEffect) -> tuple[int, float]:
    order = ["needed", "needed by some", "faster without", "costs compile time only"]
    at = order.index(each.verdict) if each.verdict in order else len(order)
    return at, each.compile.value if each.compile else 1.0
