"""The rule that decides which build is best. Pure; every reader of a best build goes through it.

For a machine and the tolerance class its user accepts:

1. A build is loadable if the machine has the architecture and all features of the build's target,
   the build's runtime is installed and its tolerance class is accepted. Tolerance classes are
   ordered: accepting one implies accepting all stricter classes.
2. Targets are considered by rank, highest first, then by name.
3. Within a target the lowest ratio wins among the builds that are proved faster than the baseline
   and whose newest reproduction, if there is one, succeeded. Of equal ratios the older build wins.
4. Without such a build the baseline wins, unless its newest reproduction did not succeed.
5. If no target has a winner, step 4 is repeated regardless of reproductions: a baseline is
   the published network, which would be loaded without it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from registry.states import ReproductionOutcome, ToleranceClass, Verdict

_CLASSES = list(ToleranceClass)
_FAULTS: dict[str, str] = {
    ReproductionOutcome.DIFFERS: "gave other outputs when it was run again",
    ReproductionOutcome.FAILED: "did not run again",
}


@dataclass(frozen=True, slots=True)
class TargetFacts:
    """The properties of a target that decide whether a machine can load its builds."""

    slug: str
    architecture: str
    features: frozenset[str]
    rank: int


@dataclass(frozen=True, slots=True)
class BuildFacts:
    """The properties of a build that the rule depends on.

    Attributes:
        key: Identifies the build; the older of two builds has the smaller key.
        tolerance: A value of :class:`~registry.states.ToleranceClass`.
        ratio: Latency over the baseline's; below 1 is faster.
        verdict: A value of :class:`~registry.states.Verdict`.
        reproduction: Outcome of the newest reproduction; "" if there is none.
        backend: Shown in explanations.
    """

    key: int
    tolerance: str
    ratio: float
    verdict: str
    is_baseline: bool = False
    reproduction: str = ""
    runtime: str = ""
    backend: str = ""

    @property
    def is_proved_faster(self) -> bool:
        return not self.is_baseline and self.verdict == Verdict.FASTER

    @property
    def is_faulty(self) -> bool:
        """Whether the newest reproduction did not succeed."""
        return self.reproduction in _FAULTS


@dataclass(frozen=True, slots=True)
class LoadRequest:
    """A machine and the laxest tolerance class that its user accepts.

    Attributes:
        features: Instruction-set and accelerator features of the machine.
        runtimes: Names of the installed runtimes.
    """

    architecture: str
    features: Collection[str]
    runtimes: Collection[str]
    tolerance: str


@dataclass(frozen=True, slots=True)
class Selection:
    """The rule's answer to a :class:`LoadRequest`.

    Attributes:
        best: Key of the build to load; ``None`` to load the published network.
        others: Keys of the other loadable builds: closest target first, then by ratio.
        reason: One or two sentences for people.
    """

    best: int | None
    others: tuple[int, ...]
    reason: str


_Offer = tuple[TargetFacts, BuildFacts]


def accepts(tolerance: str, other: str) -> bool:
    """Whether a user who accepts the class ``tolerance`` accepts builds of the class ``other``."""
    order = _CLASSES.index
    return order(ToleranceClass(other)) <= order(ToleranceClass(tolerance))


def best_of(builds: Iterable[BuildFacts], tolerance: str) -> BuildFacts | None:
    """The best of one network's builds for a target within ``tolerance``, by steps 3 to 5."""
    accepted = [build for build in builds if accepts(tolerance, build.tolerance)]
    return _winner(accepted, faulty_baseline=True)


def best_of_each_class(builds: Collection[BuildFacts]) -> dict[ToleranceClass, BuildFacts]:
    """:func:`best_of` for each tolerance class, strictest first; classes without a build left out.

    A build appears under several classes where laxer ones offer nothing better.
    """
    winners = {tolerance: best_of(builds, tolerance) for tolerance in _CLASSES}
    return {tolerance: build for tolerance, build in winners.items() if build is not None}


def choose(
    published: Mapping[TargetFacts, Collection[BuildFacts]], request: LoadRequest
) -> Selection:
    """The build to load of those published for one network, by the whole rule."""
    offers = [(target, build) for target, builds in published.items() for build in builds]
    fitting = [offer for offer in offers if _fits(offer[0], request)]
    installed = [offer for offer in fitting if offer[1].runtime in request.runtimes]
    loadable = [offer for offer in installed if accepts(request.tolerance, offer[1].tolerance)]
    loadable.sort(key=lambda offer: (*_closeness(offer[0]), offer[1].ratio, offer[1].key))
    best = _closest_winner(loadable, faulty_baseline=False) or _closest_winner(
        loadable, faulty_baseline=True
    )
    if best is not None:
        reason = _reason(best, request.tolerance)
    elif loadable:
        reason = "No build that this machine can load is proved faster than the baseline."
    elif installed:
        reason = f"No build for this machine is within tolerance {request.tolerance!r}."
    elif fitting:
        runtimes = ", ".join(sorted({build.runtime for _, build in fitting}))
        reason = f"Builds for this machine need a runtime that is not installed: {runtimes}."
    elif offers:
        slugs = ", ".join(sorted({target.slug for target, _ in offers}))
        reason = f"No target fits this {request.architecture} machine; builds exist for {slugs}."
    else:
        reason = "No build is published for this revision: it is not tuned yet."
    winner = best[1] if best else None
    others = [build for _, build in loadable if build is not winner]
    return Selection(
        best=winner.key if winner else None,
        others=tuple(build.key for build in others),
        reason=" ".join([reason, *_faults(winner, others)]),
    )


def _fits(target: TargetFacts, request: LoadRequest) -> bool:
    same = target.architecture == request.architecture
    return same and target.features <= frozenset(request.features)


def _closeness(target: TargetFacts) -> tuple[int, str]:
    return -target.rank, target.slug


def _closest_winner(loadable: list[_Offer], *, faulty_baseline: bool) -> _Offer | None:
    for target in dict.fromkeys(target for target, _ in loadable):
        builds = (build for of, build in loadable if of == target)
        if winner := _winner(builds, faulty_baseline=faulty_baseline):
            return target, winner
    return None


def _winner(builds: Iterable[BuildFacts], *, faulty_baseline: bool) -> BuildFacts | None:
    faster, baseline = [], None
    for build in builds:
        if build.is_baseline and (faulty_baseline or not build.is_faulty):
            baseline = build
        elif build.is_proved_faster and not build.is_faulty:
            faster.append(build)
    return min(faster, key=lambda build: (build.ratio, build.key), default=baseline)


def _reason(best: _Offer, tolerance: str) -> str:
    target, build = best
    if build.is_baseline:
        return (
            f"On {target.slug} no build within tolerance {tolerance!r} is proved faster than the "
            f"defaults of {build.runtime}."
        )
    return (
        f"On {target.slug} it is the fastest within tolerance {tolerance!r}: "
        f"{build.ratio:.3f} of the latency of the runtime's defaults."
    )


def _faults(winner: BuildFacts | None, others: Iterable[BuildFacts]) -> Iterator[str]:
    """Sentences on the builds whose newest reproduction did not succeed."""
    if winner is not None and winner.is_faulty:
        yield f"It {_FAULTS[winner.reproduction]}, but there is no other."
    excluded = [
        f"{build.backend} at {build.ratio:.3f}, which {_FAULTS[build.reproduction]}"
        for build in others
        if build.is_faulty
    ]
    if excluded:
        yield f"Excluded: {'; '.join(excluded)}."
