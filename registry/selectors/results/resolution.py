"""The files that a machine should load: of a build, or of the published network."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hpcfair.choice import LoadRequest
from hpcfair.formats import COMPANIONS
from registry.errors import NotFound
from registry.scenarios import QUERY_SCENARIOS, Scenario
from registry.selectors.repository.revision import files_of
from registry.selectors.results.best import BuildChoice, best_build
from registry.selectors.results.conversion import conversion_files
from registry.selectors.results.graph import graph_of
from registry.selectors.results.queries import unmeasured_queries
from registry.selectors.results.runnable import NotRunnable, not_runnable
from registry.tables import BuildFile, ConversionFile, File, Graph, Revision


@dataclass(frozen=True, slots=True)
class Resolution:
    """The files that a machine should load: of the build or, without one, of the published network.

    ``choice`` has the build, the reason and the alternatives; ``entry_point`` is the path of the
    file that the runtime opens.
    """

    revision: Revision
    graph: Graph
    choice: BuildChoice
    files: Sequence[File | BuildFile | ConversionFile]
    entry_point: str


def resolve(revision: Revision, request: LoadRequest) -> Resolution:
    """The files of a revision that a machine should load.

    Raises:
        NotFound: ``graph_not_found``: files that the hub has not inspected, or that do not run, are
            not served to run.
        Invalid: ``accuracy_not_measured``.
    """
    graph = graph_of(revision)
    if graph is None:
        raise _not_loadable(revision, not_runnable(revision))
    choice = best_build(revision, request)
    if request.scenario in QUERY_SCENARIOS:
        scenario = Scenario(request.scenario)
        choice = _with_doubt(choice, graph, scenario, revision.mlmodel.full_name)
    if choice.build is not None:
        files = list(choice.build.files.all())
        return Resolution(revision, graph, choice, files, choice.build.entry_point)
    if fault := not_runnable(revision):
        raise _not_loadable(revision, fault)
    paths = [graph.path, *graph.facts["external_data"]]
    plain: list[File | ConversionFile] = list(files_of(revision).filter(path__in=paths))
    if not plain:
        plain = list(conversion_files(revision))
    return Resolution(revision, graph, choice, plain, graph.path)


def _with_doubt(choice: BuildChoice, graph: Graph, scenario: Scenario, mlmodel: str) -> BuildChoice:
    """A choice for a scenario that says, if its build is of another one, why none is measured, and
    the next step."""
    build = choice.build
    if build is None or build.scenario == scenario:
        return choice
    unmeasured = unmeasured_queries(graph, build.target.slug, scenario)
    if unmeasured is None:
        return choice
    reason = f"{choice.reason} {unmeasured.reason}"
    if unmeasured.budget_s is not None:
        options = f"--target {unmeasured.target} --budget {unmeasured.budget_s:.0f}s"
        reason += f" Search again: hpcfair tune {mlmodel} {options}"
    return replace(choice, reason=reason)


def companions_of(revision: Revision) -> list[File]:
    """The files of a revision that prepare inputs of its network, such as those of a tokeniser."""
    return list(files_of(revision).filter(path__in=COMPANIONS))


def _not_loadable(revision: Revision, fault: NotRunnable | None) -> NotFound:
    if fault is None:
        hint = "Its inspection has not ended; try again later."
    else:
        hint = f"{fault.reason} ({fault.code}) {fault.remedy}"
    return NotFound(
        "graph_not_found",
        f"Revision {revision.oid[:10]} of {revision.mlmodel.full_name} cannot be loaded.",
        hint,
    )
