"""The front page, and the list of data sets."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render

from hub.pages import snippets, speedwords
from hub.pages.addresses import newest_first
from hub.pages.cards import ANY_TOLERANCE, cards_of
from hub.pages.progress import progress_of, title_of
from hub.pages.snippets import Snippet
from hub.pages.speedpanel import declared_inputs
from hub.pages.views import listed, page
from hub.pages.ways import is_closed
from registry.selectors.access import Actor, readable_records
from registry.selectors.repository.dataset import datasets_matching
from registry.selectors.results.best import largest_gains
from registry.selectors.results.comparison import inputs_of
from registry.selectors.search import hub as hub_selector
from registry.selectors.search.catalogue import CataloguePage, catalogue_search
from registry.selectors.search.entry import CatalogueEntry
from registry.selectors.search.speeds import TuningProgress
from registry.selectors.work.job import jobs_of
from registry.states import JobState
from registry.tables import Build, MLModel

_GAINS, _SHORT, _CARDS = 8, 4, 6
#: Best builds that are read for the gains: a model may have several, on as many targets.
_READ = 5 * _GAINS


@dataclass(frozen=True, slots=True)
class Sample:
    """A program for the front page; ``about`` says what it does."""

    about: str
    snippets: list[Snippet]


@page
def home(request: HttpRequest) -> HttpResponseBase:
    """The front page: largest gains, most used models, newest records, running jobs."""
    actor = request.user
    figures = hub_selector.figures()
    newest = listed(lambda: _models(actor, "updated", _CARDS))
    used = listed(lambda: _models(actor, "downloads", _SHORT))
    cards = cards_of(request, newest) if newest else []
    gains = _gains(actor)
    records = readable_records(actor).select_related("revision__mlmodel__namespace", "target")
    running = jobs_of(actor, state=JobState.LEASED)[:_SHORT]
    context = {
        "counts": figures
        and [
            ("Models", figures.mlmodels),
            ("Targets", figures.targets),
            ("Candidates measured", figures.trials),
            ("Benchmark records", figures.records),
        ],
        "sample": _sample(gains, cards),
        "gains": gains,
        "is_available": newest is not None,
        "cards": cards,
        "used": [one for one in used.items if one.downloads] if used else [],
        "records": records.defer("document", "envelope").order_by("-created_at", "-id")[:_SHORT],
        "running": [(job, title_of(job), progress_of(job)) for job in running],
    }
    return render(request, "home.html", context)


@page
def datasets(request: HttpRequest) -> HttpResponseBase:
    """Data sets, newest first, filtered by words."""
    query = request.GET.get("q", "").strip()
    shown, older = newest_first(datasets_matching(request.user, query), request)
    context = {"section": "datasets", "dataset_query": query, "shown": shown, "older": older}
    return render(request, "dataset/list.html", context)


def _models(actor: Actor, sort: str, limit: int) -> CataloguePage:
    return catalogue_search(
        actor, sort=sort, limit=limit, tolerance=str(ANY_TOLERANCE), with_counts=False
    )


def _gains(actor: Actor) -> list[Build]:
    """The largest gain of each model over all tolerance classes and targets."""
    best: dict[int, Build] = {}
    for build in largest_gains(actor, tolerance=ANY_TOLERANCE, limit=_READ):
        best.setdefault(build.graph.revision.mlmodel_id, build)
    return list(best.values())[:_GAINS]


def _sample(gains: Sequence[Build], newest: Sequence[CatalogueEntry]) -> Sample:
    """Load the model of the largest gain, else the newest one that runs, else publish one."""
    if gains:
        return _load_build(gains[0])
    runnable = (one for one in newest if one.state.progress != TuningProgress.NOT_RUNNABLE)
    entry = next((one for one in runnable if one.graph), None)
    if entry is not None and entry.graph is not None:
        mlmodel = entry.mlmodel
        program = snippets.load(
            settings.HUB_URL,
            mlmodel.full_name,
            inputs=declared_inputs(entry.graph),
            sign_in=is_closed(mlmodel),
        )
        return Sample(f"Load {mlmodel.full_name}", program)
    return Sample("Publish the first model", snippets.publish(settings.HUB_URL, "you/your-model"))


def _load_build(build: Build) -> Sample:
    mlmodel: MLModel = build.graph.revision.mlmodel
    program = snippets.load(
        settings.HUB_URL,
        mlmodel.full_name,
        runtime=build.runtime,
        limits={"tolerance": build.tolerance},
        inputs=inputs_of([build])[build.pk],
        sign_in=is_closed(mlmodel),
    )
    speed = speedwords.speed(build.ratio)
    return Sample(f"{mlmodel.full_name}, {speed} on {build.target.slug}", program)
