"""Reads of published artefacts, and the choice of one for a machine."""

from collections.abc import Collection, Container, Iterable, Sequence
from dataclasses import dataclass, field

from django.db.models import Prefetch, QuerySet

from registry.errors import NotFound
from registry.ids import parse_uuid
from registry.selectors.access import Actor, readable_builds
from registry.selectors.results.graph import graph_of
from registry.selectors.results.reproduction import passed_over, unreproduced_of
from registry.states import RecordKind, ToleranceClass, Verdict
from registry.tables import Build, BuildFile, Graph, Job, Revision, Target

_STRICTEST_FIRST = list(ToleranceClass)
_NONE: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class BuildChoice:
    """The build a machine should load, and why.

    Attributes:
        build: ``None`` where nothing published fits: load the published network then.
        reason: One sentence for people.
        others: What else the machine could load, best first.
    """

    build: Build | None
    reason: str
    others: list[Build] = field(default_factory=list)


def build_get(actor: Actor, uuid: str) -> Build:
    """The build of that UUID, withdrawn ones too, with its files.

    Raises:
        NotFound: ``build_not_found``, also for a build the actor may not know of.
    """
    build = _with_relations(readable_builds(actor)).filter(uuid=parse_uuid(uuid)).first()
    if build is None:
        raise NotFound("build_not_found", f"There is no build {uuid[:64]!r}.")
    return build


def build_file_get(build: Build, path: str) -> BuildFile:
    """One file of a build.

    Raises:
        NotFound: ``file_not_found``.
    """
    # Compared here: SQL would choke on the odd characters a stranger puts into an address.
    for file in build.files.select_related("blob"):
        if file.path == path:
            return file
    raise NotFound("file_not_found", f"Build {build.uuid} has no file {path[:200]!r}.")


def has_headlines(job_uuid: str) -> bool:
    """Whether the job's network has builds on its target that were measured in fresh processes."""
    job = Job.objects.select_related("revision").get(uuid=parse_uuid(job_uuid))
    live = Build.objects.filter(
        graph=graph_of(job.revision), target=job.target_id, withdrawn_at=None
    )
    return live.filter(record__kind=RecordKind.HEADLINE).exists()


def builds_of(revision: Revision, target: Target | None = None) -> QuerySet[Build]:
    """Builds of the revision that are not withdrawn: by target, fastest first, with files."""
    rows = _with_relations(Build.objects.filter(graph__revision=revision, withdrawn_at=None))
    if target:
        rows = rows.filter(target=target)
    return rows.order_by("target__slug", "ratio", "id")


def best_build(
    revision: Revision,
    *,
    architecture: str,
    features: Collection[str],
    runtimes: dict[str, str],
    tolerance: str,
) -> BuildChoice:
    """The build a machine should load.

    Of the targets whose architecture is the machine's and whose features it has, the one of
    highest rank counts; among its builds for a runtime the machine has, no laxer than
    ``tolerance``, the one of lowest ratio that is proven faster than the baseline, else the
    baseline. A target of lower rank is asked only if that one offers neither. A build whose newest
    reproduction found it wanting is passed over; but for a baseline, if there is nothing else: it
    is the published network, which would be loaded without it.

    Args:
        features: Instruction-set and accelerator features of the machine.
        runtimes: Runtimes installed there, name to version.
        tolerance: Laxest precision class the user accepts.
    """
    graph = graph_of(revision)
    published = list(_published(graph)) if graph else []
    fitting = [build for build in published if _fits(build.target, architecture, features)]
    loadable = [build for build in fitting if build.runtime in runtimes]
    accepted = [build for build in loadable if tolerance in _accepting(build.tolerance)]
    faults = unreproduced_of(accepted) if accepted else {}
    others = sorted(accepted, key=lambda one: (*_closest_first(one.target), one.ratio, one.pk))
    sound = [build for build in others if build.pk not in faults]
    best = _closest_best(sound, faults) or _closest_best(others, faults)
    if best:
        others.remove(best)
        reason = _reason(best, tolerance) + passed_over(best, others, faults)
        return BuildChoice(best, reason, others)
    if graph is None:
        reason = "Nothing is known of this revision's network: not inspected yet."
    elif not published:
        reason = "Nothing is published for this revision yet: not tuned yet."
    elif not fitting:
        slugs = ", ".join(sorted({build.target.slug for build in published}))
        reason = f"No target fits this {architecture} machine; there are builds for {slugs}."
    elif not loadable:
        names = ", ".join(sorted({build.runtime for build in fitting}))
        reason = f"The builds for this machine need a runtime it lacks: {names}."
    elif not accepted:
        reason = f"No build for this machine is within tolerance {tolerance!r}."
    else:
        reason = "None of the builds this machine can load is proven faster than the baseline."
        return BuildChoice(None, reason + passed_over(None, others, faults), others)
    return BuildChoice(None, reason)


def best_of(builds: Iterable[Build], faults: Container[int] = _NONE) -> Build | None:
    """Of builds for one target: the fastest proven faster than the baseline, else the baseline.

    Args:
        faults: Keys of builds that are not chosen, being not reproduced; a baseline is.
    """
    faster, baseline = [], None
    for build in builds:
        if build.is_baseline:
            baseline = build
        elif build.verdict == Verdict.FASTER and build.pk not in faults:
            faster.append(build)
    return min(faster, key=lambda build: (build.ratio, build.pk), default=baseline)


def best_builds(graphs: Collection[int]) -> set[int]:
    """Of the graphs with these keys, keys of the builds that are the best of their tolerance.

    Such a build is what a machine of its target loads that accepts its tolerance and no laxer one.
    """
    rows = Build.objects.filter(graph__in=graphs, withdrawn_at=None)
    groups: dict[tuple[int, int], list[Build]] = {}
    for build in rows.defer("candidate", "runtime_options", "deviation", "provenance"):
        groups.setdefault((build.graph_id, build.target_id), []).append(build)
    faults = unreproduced_of(one for builds in groups.values() for one in builds)
    best = set()
    for builds in groups.values():
        for tolerance in _STRICTEST_FIRST:
            accepted = [build for build in builds if tolerance in _accepting(build.tolerance)]
            found = best_of(accepted, faults)
            if found and found.tolerance == tolerance:
                best.add(found.pk)
    return best


def best_per_target(revision: Revision, *, tolerance: str = ToleranceClass.EXACT) -> list[Build]:
    """The best build within ``tolerance`` for each target, by target."""
    by_target: dict[str, list[Build]] = {}
    for build in builds_of(revision):
        if tolerance in _accepting(build.tolerance):
            by_target.setdefault(build.target.slug, []).append(build)
    faults = unreproduced_of(one for builds in by_target.values() for one in builds)
    return [best for builds in by_target.values() if (best := best_of(builds, faults))]


def best_ratios(
    revisions: Collection[Revision], *, tolerance: str = ToleranceClass.EXACT
) -> dict[int, dict[str, float]]:
    """For lists: revision's primary key to target's slug to the ratio of its best build.

    The ratio is 1 where the baseline is the best build.
    """
    rows = Build.objects.filter(
        graph__revision__in=revisions, graph__is_primary=True, withdrawn_at=None
    ).select_related("graph", "target")
    groups: dict[tuple[int, str], list[Build]] = {}
    for build in rows:
        if tolerance in _accepting(build.tolerance):
            groups.setdefault((build.graph.revision_id, build.target.slug), []).append(build)
    faults = unreproduced_of(one for builds in groups.values() for one in builds)
    found: dict[int, dict[str, float]] = {}
    for (revision_id, slug), builds in sorted(groups.items()):
        if best := best_of(builds, faults):
            ratio = 1.0 if best.is_baseline else best.ratio
            found.setdefault(revision_id, {})[slug] = ratio
    return found


def _published(graph: Graph) -> QuerySet[Build]:
    return _with_relations(Build.objects.filter(graph=graph, withdrawn_at=None))


def _with_relations(rows: QuerySet[Build]) -> QuerySet[Build]:
    files = BuildFile.objects.select_related("blob").order_by("path")
    rows = rows.select_related("target", "record", "graph__revision__mlmodel__namespace")
    # A record's document holds all raw samples, which no list of builds shows.
    return rows.defer("record__document").prefetch_related(Prefetch("files", queryset=files))


def _fits(target: Target, architecture: str, features: Collection[str]) -> bool:
    return target.architecture == architecture and set(target.features) <= set(features)


def _closest_first(target: Target) -> tuple[int, str]:
    return -target.rank, target.slug


def _closest_best(builds: Sequence[Build], faults: Container[int]) -> Build | None:
    """The best build of the closest target that offers one."""
    for target in sorted({build.target for build in builds}, key=_closest_first):
        if best := best_of((build for build in builds if build.target == target), faults):
            return best
    return None


def _accepting(tolerance: str) -> list[ToleranceClass]:
    """The classes under which a build of class ``tolerance`` is accepted, its own first."""
    return _STRICTEST_FIRST[_STRICTEST_FIRST.index(ToleranceClass(tolerance)) :]


def _reason(build: Build, tolerance: str) -> str:
    if build.is_baseline:
        return (
            f"On {build.target.slug} nothing within tolerance {tolerance!r} is proven faster than "
            f"the defaults of {build.runtime}."
        )
    return (
        f"On {build.target.slug} it is the fastest within tolerance {tolerance!r}: "
        f"{build.ratio:.3f} of the latency of the runtime's defaults."
    )
