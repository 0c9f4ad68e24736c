"""Published builds with a profile, and the one that a page shows."""

from collections.abc import Sequence

from registry.errors import NotFound
from registry.selectors.access import Actor
from registry.selectors.results.best import best_builds
from registry.selectors.results.build import build_get
from registry.selectors.results.profile import profile_of
from registry.tables import Build, Graph, MLModel


def profiled_builds(graph: Graph) -> list[Build]:
    """Published builds of a network with a profile, with target and record: real targets first,
    then by ratio."""
    rows = Build.objects.filter(graph=graph, withdrawn_at=None, profile__isnull=False)
    rows = rows.select_related(
        "target", "profile", "record__device", "graph__revision__mlmodel__namespace"
    )
    rows = rows.defer("record__document", "record__envelope", "provenance")
    return sorted(rows, key=lambda one: (one.target.is_emulated, one.ratio, one.pk))


def default_build(builds: Sequence[Build], target: str = "") -> Build | None:
    """The build that a page shows first: the best of the target, or of the target with most
    profiles."""
    on_target = [build for build in builds if not target or build.target.slug == target]
    if not target and on_target:
        slugs = [build.target.slug for build in on_target]
        real = {build.target.slug for build in on_target if not build.target.is_emulated}
        slug = max(slugs, key=lambda one: (one in real, slugs.count(one), -slugs.index(one)))
        on_target = [build for build in on_target if build.target.slug == slug]
    best = best_builds({build.graph_id for build in on_target}).of_class
    return next((build for build in on_target if build.pk in best), next(iter(on_target), None))


def chosen_build(
    actor: Actor, mlmodel: MLModel, builds: Sequence[Build], *, uuid: str = "", target: str = ""
) -> Build | None:
    """The build that an address names, also one that a newer search replaced, by default
    :func:`default_build`.

    Args:
        builds: Of :func:`profiled_builds`.
        uuid: Of a build. So that a link stays right when a later search has published other builds,
            also ``default`` for the runtime as it comes, or a tolerance class or a backend for its
            fastest build.
        target: Excludes a listed build of another target.

    Raises:
        NotFound: ``build_not_found``, ``profile_not_found``.
    """
    if shown := default_build(builds, target):
        # By ratio, so that the first is the fastest.
        beside = [one for one in builds if one.target_id == shown.target_id]
        if named := next((build for build in beside if _is_named(build, uuid)), None):
            return named
        if uuid == "default":
            return shown
    listed = next((build for build in builds if str(build.uuid) == uuid), None)
    if listed is not None and target in {"", listed.target.slug}:
        return listed
    if uuid and listed is None:
        build = build_get(actor, uuid)
        if build.graph.revision.mlmodel != mlmodel:
            raise NotFound("build_not_found", f"{mlmodel.full_name} has no build {uuid[:64]!r}.")
        profile_of(build)
        return build
    return default_build(builds, target)


def _is_named(build: Build, name: str) -> bool:
    if build.is_baseline:
        return name == "default"
    return name in {build.tolerance, build.candidate["backend"]}
