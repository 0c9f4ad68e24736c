"""The rule that decides which build is best. Pure; every reader of a best build goes through it.

For a machine and the deviation from the reference that its user accepts:

1. A build is loadable if the machine has the architecture and all features of the build's target,
   the build's runtime is installed and its outputs are accepted. These are limited by a tolerance
   class or a number, the largest relative error, and optionally by the least accuracy
   (:mod:`hpcfair.outputlimits`); a figure that was not measured meets no limit, also of the
   baseline. Tolerance classes are ordered: accepting one implies accepting all stricter classes.
   Only builds that were measured in the scenario of the request count; if none of them is
   loadable, those for a single stream do.
2. Targets are considered by rank, highest first, then by name.
3. Within a target the lowest ratio wins, of equal ones the older build, among those that are proved
   faster than the baseline, were measured by a trusted device, and did not fail to reproduce.
4. Without such a build the baseline wins, under the last two conditions.
5. If no target has a winner, step 4 is repeated without conditions: a baseline is the published
   network, which would be loaded without it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product

from hpcfair import reasons
from hpcfair.outputlimits import (
    BuildFacts,
    accepts,
    is_accepted,
    laxer_limits,
    lower_accuracy,
    offered_error,
)
from hpcfair.precisions import TOLERANCES, Tolerance
from hpcfair.scenarios import SINGLE_STREAM


@dataclass(frozen=True, slots=True)
class TargetFacts:
    """The properties of a target that decide whether a machine can load its builds."""

    slug: str
    architecture: str
    features: frozenset[str]
    rank: int


@dataclass(frozen=True, slots=True)
class LoadRequest:
    """A machine and the deviation from the reference that its user accepts.

    Attributes:
        features: Instruction-set and accelerator features of the machine.
        runtimes: Names of the installed runtimes.
        tolerance: The laxest tolerance class, or a number: the largest relative error.
        min_accuracy: The least accuracy, 0 to 1; ``None``: any.
        scenario: What the build is to be fast at: see :mod:`hpcfair.scenarios`.
    """

    architecture: str
    features: Collection[str]
    runtimes: Collection[str]
    tolerance: str | float
    min_accuracy: float | None = None
    scenario: str = SINGLE_STREAM


@dataclass(frozen=True, slots=True)
class Looser:
    """A faster build that a laxer request would bring.

    Attributes:
        key: Of the build.
        limits: What to state in place of the limits of the request, by name: ``tolerance`` as a
            class or a number, or ``min_accuracy``.
    """

    key: int
    limits: Mapping[str, str | float]


@dataclass(frozen=True, slots=True)
class Selection:
    """The rule's answer to a :class:`LoadRequest`.

    Attributes:
        best: Key of the build to load; ``None`` to load the published network.
        others: Keys of the other loadable builds: closest target first, then by ratio.
        reason: One or two sentences for people.
        looser: What laxer limits would bring, strictest first. Only builds that the request does
            not accept, each faster than ``best`` and the ones before.
    """

    best: int | None
    others: tuple[int, ...]
    reason: str
    looser: tuple[Looser, ...] = ()


_Offer = tuple[TargetFacts, BuildFacts]


def best_of(
    builds: Iterable[BuildFacts], tolerance: str | float, min_accuracy: float | None = None
) -> BuildFacts | None:
    """The best of one network's builds for a target within these limits, by steps 3 to 5."""
    accepted = [build for build in builds if is_accepted(build, tolerance, min_accuracy)]
    return _winner(accepted, faulty_baseline=True)


def best_of_each_class(builds: Collection[BuildFacts]) -> dict[Tolerance, BuildFacts]:
    """:func:`best_of` for each tolerance class, strictest first; classes without a build left out.
    A build appears under several classes where laxer ones offer nothing better."""
    winners = {tolerance: best_of(builds, tolerance) for tolerance in TOLERANCES}
    return {tolerance: build for tolerance, build in winners.items() if build is not None}


def best_of_each_limit(builds: Collection[BuildFacts]) -> dict[float, BuildFacts]:
    """:func:`best_of` for each number worth stating, strictest first.

    This is the Pareto front of ratio and relative error: each number brings a build that no smaller
    one brings. The numbers are errors of builds, rounded up to two digits.
    """
    errors = (build.relative_error for build in builds)
    limits = sorted({offered_error(error) for error in errors if error is not None})
    front: dict[float, BuildFacts] = {}
    for limit in limits:
        best = best_of(builds, limit)
        if limit <= 1 and best is not None and best not in front.values():
            front[limit] = best
    return front


def choose(
    published: Mapping[TargetFacts, Collection[BuildFacts]],
    request: LoadRequest,
    inconclusive: Mapping[str, Collection[str]] | None = None,
) -> Selection:
    """The build to load of those published for one network, by the whole rule.

    ``inconclusive``: slug of a target to tolerance classes whose measurements were disturbed.
    """
    offers = [
        (target, build)
        for target, builds in published.items()
        for build in builds
        if build.scenario == request.scenario
    ]
    same = (offer for offer in offers if offer[0].architecture == request.architecture)
    fitting = [offer for offer in same if offer[0].features <= frozenset(request.features)]
    fitting.sort(key=_order)
    installed = [offer for offer in fitting if offer[1].runtime in request.runtimes]
    loadable = [offer for offer in installed if _accepted(request, offer)]
    if not loadable and request.scenario != SINGLE_STREAM:
        selection = choose(published, replace(request, scenario=SINGLE_STREAM), inconclusive)
        return replace(selection, reason=reasons.unmeasured(request.scenario, selection.reason))
    best = _best(loadable)
    accepted = reasons.limits(request.tolerance, request.min_accuracy)
    if best is not None:
        reason = _reason(best, accepted)
    elif loadable:
        reason = "No build that this machine can load is proved faster than the baseline."
    elif installed:
        best_accuracy = lower_accuracy((each for _, each in installed), request.min_accuracy)
        reason = reasons.none_within(accepted, best_accuracy)
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
    considered = [best[0]] if best else [target for target, _ in fitting]
    doubts = _doubts(considered, request, inconclusive or {})
    return Selection(
        best=winner.key if winner else None,
        others=tuple(build.key for build in others),
        reason=" ".join([reason, *doubts, *_faults(winner, others)]),
        looser=_looser(installed, request, winner),
    )


def _accepted(request: LoadRequest, offer: _Offer) -> bool:
    return is_accepted(offer[1], request.tolerance, request.min_accuracy)


def _order(offer: _Offer) -> tuple[int, str, float, int]:
    """Closest target first, then by ratio."""
    target, build = offer
    return -target.rank, target.slug, build.ratio, build.key


def _best(loadable: list[_Offer]) -> _Offer | None:
    """Steps 2 to 5 of the rule."""
    targets = dict.fromkeys(target for target, _ in loadable)
    for faulty_baseline, target in product((False, True), targets):
        builds = (build for of, build in loadable if of == target)
        if winner := _winner(builds, faulty_baseline=faulty_baseline):
            return target, winner
    return None


def _looser(
    offers: list[_Offer], request: LoadRequest, best: BuildFacts | None
) -> tuple[Looser, ...]:
    """:attr:`Selection.looser` of sorted offers."""
    fastest = best.ratio if best and best.is_proved_faster else 1.0
    looser = []
    builds = [build for _, build in offers]
    for limits in laxer_limits(builds, request.tolerance, request.min_accuracy):
        laxer = replace(request, **limits)
        offer = _best([offer for offer in offers if _accepted(laxer, offer)])
        if offer is None or _accepted(request, offer) or not offer[1].is_proved_faster:
            continue
        if offer[1].ratio < fastest:
            looser.append(Looser(offer[1].key, limits))
            fastest = offer[1].ratio
    return tuple(looser)


def _winner(builds: Iterable[BuildFacts], *, faulty_baseline: bool) -> BuildFacts | None:
    faster, baseline = [], None
    for build in builds:
        if build.is_baseline and (faulty_baseline or not build.fault):
            baseline = build
        elif build.is_proved_faster and not build.fault:
            faster.append(build)
    return min(faster, key=lambda build: (build.ratio, build.key), default=baseline)


def _reason(best: _Offer, accepted: str) -> str:
    target, build = best
    if build.is_baseline:
        return reasons.default_is_best(target.slug, accepted, build.runtime, build.scenario)
    return reasons.fastest(target.slug, accepted, build.ratio, build.scenario)


def _doubts(
    targets: Iterable[TargetFacts],
    request: LoadRequest,
    inconclusive: Mapping[str, Collection[str]],
) -> Iterator[str]:
    """A sentence for each target with accepted classes whose measurements decided nothing."""
    limit = request.tolerance
    accepted = [one for one in TOLERANCES if not isinstance(limit, str) or accepts(limit, one)]
    for slug in dict.fromkeys(target.slug for target in targets):
        if classes := [one for one in accepted if one in inconclusive.get(slug, ())]:
            yield reasons.doubt(slug, classes)


def _faults(winner: BuildFacts | None, others: Iterable[BuildFacts]) -> Iterator[str]:
    """Sentences on the builds that have a fault."""
    if winner is not None and winner.fault:
        yield reasons.faulty_without_alternative(winner.fault)
    if excluded := [(one.backend, one.ratio, one.fault) for one in others if one.fault]:
        yield reasons.exclusions(excluded)
