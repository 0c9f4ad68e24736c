"""The landing page of a model or a data set, and how to cite it."""

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render

from hub.fair.headers import typed
from hub.fair.negotiation import negotiated
from hub.pages import markdown
from hub.pages.addresses import newest_first
from hub.pages.cite import cited, embedded_record, fair_share
from hub.pages.factcard import FactCard, fact_card
from hub.pages.frame import frame, repository_page
from hub.pages.modelimport import ImportPanel, import_panel
from hub.pages.progress import summary_of
from hub.pages.querypanel import QueryPanel, UnmeasuredPanel, query_panel, unmeasured_panel
from hub.pages.speedpanel import SpeedPanel, speed_panel
from hub.pages.targetchoice import keep_choice
from hub.pages.ways import ways_of
from registry.fair.description import Description
from registry.scenarios import QUERY_SCENARIOS
from registry.selectors.fair.description import describe
from registry.selectors.fair.former import former_holders
from registry.selectors.fair.versions import version_list, versions_of
from registry.selectors.repository.findings import findings_of
from registry.selectors.repository.revision import readme_of, revision_get
from registry.selectors.repository.weights import weights_of_version
from registry.selectors.results.generation import BuildGeneration, generation_of
from registry.states import RepositoryKind, Visibility
from registry.tables import MLModel, Revision

#: Upper bound on the tables of a data set whose columns its page shows.
_TABLES = 3


@repository_page
def card(request: HttpRequest, mlmodel: MLModel) -> HttpResponseBase:
    """The landing page, or the metadata record in the format that the client accepts."""
    revision = revision_get(mlmodel, request.GET.get("revision") or None)
    # Avoids a query: this row has its namespace.
    revision.mlmodel = mlmodel
    record = negotiated(request, lambda: describe(revision))
    if record is not None:
        return record
    description = describe(revision)
    context = frame(request, mlmodel, tab="card", revision=revision)
    graph = context["graph"]
    # Snippets name a revision only where the reader chose one.
    name = "" if context["revision_name"] == mlmodel.default_branch else context["revision_name"]
    is_model = mlmodel.kind == RepositoryKind.MODEL
    is_offered = is_model and graph is not None and context["not_runnable"] is None
    panel = speed_panel(request, revision, graph, name) if is_offered else None
    queries: list[QueryPanel] = []
    unmeasured: list[UnmeasuredPanel] = []
    generation: list[BuildGeneration] = []
    if panel and panel.comparison:
        generation = generation_of(graph, panel.comparison)
        place = (mlmodel, graph, name, panel.comparison.target.slug)
        shown = {each: query_panel(*place, each) for each in QUERY_SCENARIOS}
        queries = [one for one in shown.values() if one]
        missing = (unmeasured_panel(*place, each) for each, one in shown.items() if one is None)
        # One reason suffices: it mostly holds for the other scenarios as well.
        unmeasured = [one for one in missing if one][:1]
    readme = markdown.render(readme_of(revision))
    context |= {
        "description": description,
        "panel": panel,
        "queries": queries,
        "unmeasured": unmeasured,
        "generation": generation,
        "ways": ways_of(mlmodel, settings.HUB_URL, name),
        "readme": readme,
        "fact_card": None if readme.html.strip() else _fact_card(description, panel),
        "tables": [file for file in description.files if file.table][:_TABLES],
        "weights": weights_of_version(revision) if is_model and context["may_fetch"] else None,
        "findings": findings_of(revision) if context["may_write"] else (),
        "former_holders": former_holders(request.user, mlmodel),
        "record": embedded_record(description),
        "fair_share": fair_share(description),
        "summary": summary_of(revision) if is_model else None,
        "imported": _imported(request, mlmodel, revision, description),
    }
    response = render(request, "mlmodel/card.html", context)
    keep_choice(request, response, [one.slug for one in panel.targets] if panel else [])
    return typed(response, description, request, description.landing)


@repository_page
def cite(request: HttpRequest, mlmodel: MLModel) -> HttpResponseBase:
    """Citations, identifiers, metadata formats, people and versions."""
    context = frame(request, mlmodel, tab="cite")
    revision = context["revision"]
    versions, older = newest_first(versions_of(mlmodel), request)
    context |= {
        "versions": version_list(versions),
        "older": older,
        "is_older": "before" in request.GET,
        **cited(describe(revision)),
    }
    return render(request, "mlmodel/citing.html", context)


def _imported(
    request: HttpRequest, mlmodel: MLModel, revision: Revision, description: Description
) -> ImportPanel | None:
    # A model that was made for an import is private at first.
    is_imported = any(one.relation == "import" for one in description.derived_from)
    is_model = mlmodel.kind == RepositoryKind.MODEL
    if is_model and (is_imported or mlmodel.visibility == Visibility.PRIVATE):
        return import_panel(request.user, mlmodel, revision)
    return None


def _fact_card(description: Description, panel: SpeedPanel | None) -> FactCard:
    offers = [offer.words for offer in panel.offers if offer.words] if panel else []
    slug = panel.comparison.target.slug if panel and panel.comparison else ""
    return fact_card(description, slug, offers)
