"""The speed of a model on one target, as its page shows it first."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.http import HttpRequest

from hpcfair.outputlimits import offered_accuracy
from hub.pages import snippets, speedwords
from hub.pages.buildwords import BuildWords, words_of
from hub.pages.chart import Chart, pareto
from hub.pages.snippets import Snippet
from hub.pages.targetchoice import target_choice
from hub.pages.ways import is_closed
from registry.selectors.people.usertarget import usertargets_of
from registry.selectors.results.comparison import TargetComparison, comparisons_of, inputs_of
from registry.selectors.results.inconclusive import inconclusive_classes, probable_gains
from registry.selectors.results.speed import InputShape
from registry.states import ToleranceClass
from registry.tables import Build, Graph, MLModel, Revision

#: Dimensions that a network leaves open are 1 in examples without a measurement.
_OPEN_SIZE = 1


@dataclass(frozen=True, slots=True)
class ShownOffer:
    """The best build of a tolerance class, with the snippets that load it.

    Attributes:
        words: ``None`` for the published network, if there is no build.
    """

    tolerance: str
    words: BuildWords | None
    is_chosen: bool
    python: list[Snippet]
    command: list[Snippet]


@dataclass(frozen=True, slots=True)
class Price:
    """A build with the limit that loads it, and the snippets.

    Attributes:
        name: ``tolerance``: the limit is the largest relative error; or ``min_accuracy``.
    """

    name: str
    limit: float
    words: BuildWords
    snippets: list[Snippet]


@dataclass(frozen=True, slots=True)
class TargetEntry:
    """A target in the switcher. ``gain`` is of its best build over all tolerance classes."""

    slug: str
    gain: str
    is_current: bool
    is_own: bool


@dataclass(frozen=True, slots=True)
class SpeedPanel:
    """Builds, offers and snippets for one target.

    Attributes:
        answer: The answer in one sentence.
        marks: All builds of the target in words.
        slower: Tolerance classes of which no build is the best.
        inconclusive: Tolerance classes whose measurements decided nothing.
        probable: Tolerance class and speed in words, of builds that are still being confirmed.
        prices: Builds that are faster and less close to the reference than exact ones, by error;
            then the fastest build by its accuracy, if that is measured.
        chart: ``None`` without builds, or if none states its error.
    """

    answer: str
    comparison: TargetComparison | None
    offers: list[ShownOffer]
    marks: list[BuildWords]
    targets: list[TargetEntry]
    chart: Chart | None
    slower: list[str] = field(default_factory=list)
    inconclusive: list[str] = field(default_factory=list)
    probable: list[tuple[str, str]] = field(default_factory=list)
    prices: list[Price] = field(default_factory=list)


def speed_panel(
    request: HttpRequest, revision: Revision, graph: Graph, revision_name: str
) -> SpeedPanel:
    """The panel of a revision's network on the target and tolerance class of the address.

    Args:
        revision: With its MLModel and namespace.
        revision_name: As people wrote it; "" for the default branch.
    """
    inconclusive = inconclusive_classes(revision)
    probable = probable_gains(revision) if inconclusive else {}
    comparisons = {one.target.slug: one for one in _ordered(comparisons_of(graph))}
    own = usertargets_of(request.user)
    slug = target_choice(request, list(comparisons), own)
    comparison = comparisons.get(slug)
    writer = _SnippetWriter(revision.mlmodel, graph, revision_name)
    if comparison is None:
        offer = writer.offer(ToleranceClass.EXACT, None, is_chosen=True)
        return SpeedPanel("", None, [offer], [], [], None)
    inputs = inputs_of(comparison.builds)
    words = {
        build.pk: words_of(build, inputs[build.pk], graph, comparison.best)
        for build in comparison.builds
    }
    chosen = _chosen(comparison.offers, request.GET.get("tolerance", ""))
    return SpeedPanel(
        answer=speedwords.answer(
            slug, comparison.best, probable.get(slug, {}), is_inconclusive=slug in inconclusive
        ),
        comparison=comparison,
        offers=[
            writer.offer(
                build.tolerance, words[build.pk], is_chosen=build == chosen, on=inputs[build.pk]
            )
            for build in comparison.offers
        ],
        marks=list(words.values()),
        targets=[
            TargetEntry(one, _best_gain(each), one == slug, one in own)
            for one, each in comparisons.items()
        ],
        chart=pareto(
            comparison.builds,
            comparison.default,
            limits=comparison.limits,
            chosen=str(chosen.uuid) if chosen else "",
        ),
        slower=[one for one in comparison.slower if one not in inconclusive.get(slug, ())],
        inconclusive=sorted(inconclusive.get(slug, frozenset()) - probable.get(slug, {}).keys()),
        probable=[
            (tolerance, speedwords.speed(1 / gain))
            for tolerance, gain in probable.get(slug, {}).items()
        ],
        prices=[
            writer.price(words[key], inputs[key], name, limit)
            for key, name, limit in _prices(comparison)
        ],
    )


def _prices(comparison: TargetComparison) -> Iterator[tuple[int, str, float]]:
    """Keys of builds with the name and the number of the limit that loads them."""
    for key, limit in comparison.prices.items():
        yield key, "tolerance", limit
    best = comparison.best
    if best is not None and not best.is_baseline and best.accuracy is not None:
        yield best.pk, "min_accuracy", offered_accuracy(best.accuracy)


def _ordered(comparisons: Sequence[TargetComparison]) -> list[TargetComparison]:
    """Real targets before emulated ones; within each, most builds first, then by slug."""
    return sorted(
        comparisons,
        key=lambda one: (one.target.is_emulated, -len(one.builds), one.target.slug),
    )


def _chosen(offers: Sequence[Build], tolerance: str) -> Build | None:
    """The last offer that a user who accepts ``tolerance`` gets; the strictest by default."""
    classes = list(ToleranceClass)
    wish = ToleranceClass(tolerance) if tolerance in classes else classes[0]
    accepted = classes[: classes.index(wish) + 1]
    within = [build for build in offers if build.tolerance in accepted]
    return within[-1] if within else next(iter(offers), None)


def _best_gain(comparison: TargetComparison) -> str:
    best = comparison.best
    return "" if best is None or best.is_baseline else f"{speedwords.times(1 / best.ratio)}×"


class _SnippetWriter:
    """Writes the snippets of one revision of a model."""

    def __init__(self, mlmodel: MLModel, graph: Graph, revision_name: str) -> None:
        self._graph = graph
        self._place: dict[str, Any] = {
            "hub_url": settings.HUB_URL,
            "name": mlmodel.full_name,
            "revision": revision_name,
        }
        self._sign_in = is_closed(mlmodel)

    def offer(
        self,
        tolerance: str,
        words: BuildWords | None,
        *,
        is_chosen: bool,
        on: Sequence[InputShape] = (),
    ) -> ShownOffer:
        """An offer; ``on`` are the inputs of its measurement, which the snippets run it on."""
        runtime = words.build.runtime if words else snippets.PLAIN_RUNTIME
        return ShownOffer(
            tolerance=tolerance,
            words=words,
            is_chosen=is_chosen,
            python=snippets.load(
                **self._place,
                runtime=runtime,
                limits={"tolerance": tolerance},
                inputs=on or declared_inputs(self._graph),
                sign_in=self._sign_in,
            ),
            command=snippets.command(
                **self._place, runtime=runtime, tolerance=tolerance, sign_in=self._sign_in
            ),
        )

    def price(self, words: BuildWords, on: Sequence[InputShape], name: str, limit: float) -> Price:
        """A build with the snippets that load it by a limit on its error or its accuracy."""
        python = snippets.load(
            **self._place,
            runtime=words.build.runtime,
            limits={name: limit},
            inputs=on or declared_inputs(self._graph),
            sign_in=self._sign_in,
        )
        return Price(name, limit, words, python)


def declared_inputs(graph: Graph) -> list[InputShape]:
    """Inputs of a network as its signature declares them, with open dimensions of one."""
    return [
        InputShape(
            one["name"],
            one["dtype"],
            tuple(size if isinstance(size, int) else _OPEN_SIZE for size in one["shape"]),
        )
        for one in graph.signature["inputs"]
    ]
