"""Reads of imported profiles."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import QuerySet

from registry.errors import NotFound
from registry.ids import parse_uuid
from registry.selectors.access import Actor, may, person, readable_revisions
from registry.selectors.results.profile import Coverage, coverage
from registry.states import Role
from registry.tables import Build, ImportedCall, ImportedProfile, MLModel, Profile


@dataclass(frozen=True, slots=True)
class ImportedTotals:
    """Figures of an imported profile.

    Attributes:
        sum_ns: Of all calls; ``unlinked_ns`` of those that are linked to no node.
        linked, count: Calls with a link, and all.
        reasons: Why calls are not linked, to their number and time, longest first.
    """

    sum_ns: int
    unlinked_ns: int
    linked: int
    count: int
    coverage: Coverage
    reasons: tuple[tuple[str, int, int], ...]

    @property
    def unlinked_share(self) -> float:
        return self.unlinked_ns / max(self.sum_ns, 1)


def imported_profiles(actor: Actor) -> QuerySet[ImportedProfile]:
    """The imported profiles of readable models, newest first, with model, person and files."""
    return (
        ImportedProfile.objects.filter(graph__revision__in=readable_revisions(actor))
        .select_related("graph__revision__mlmodel__namespace", "actor", "blob", "details")
        .order_by("-id")
    )


def imported_profiles_of(actor: Actor, mlmodel: MLModel) -> QuerySet[ImportedProfile]:
    """Those of one model, of all its revisions."""
    return imported_profiles(actor).filter(graph__revision__mlmodel=mlmodel)


def imported_profile_get(actor: Actor, uuid: str) -> ImportedProfile:
    """The readable imported profile of that UUID. Raises ``NotFound``: ``profile_not_found``."""
    row = imported_profiles(actor).filter(uuid=parse_uuid(uuid)).first()
    if row is None:
        raise NotFound("profile_not_found", f"There is no imported profile {uuid[:64]!r}.")
    return row


def imported_calls(profile: ImportedProfile) -> QuerySet[ImportedCall]:
    """The calls, in the order of the file."""
    return profile.call_sites.order_by("sequence")


def imported_totals(profile: ImportedProfile, calls: Sequence[ImportedCall]) -> ImportedTotals:
    """Figures over all ``calls`` of a profile."""
    unlinked = [call for call in calls if not call.nodes]
    reasons: dict[str, tuple[int, int]] = {}
    for call in unlinked:
        count, spent = reasons.get(call.reason, (0, 0))
        reasons[call.reason] = (count + 1, spent + call.median_ns)
    ordered = sorted(reasons.items(), key=lambda item: -item[1][1])
    return ImportedTotals(
        sum_ns=sum(call.median_ns for call in calls),
        unlinked_ns=sum(call.median_ns for call in unlinked),
        linked=len(calls) - len(unlinked),
        count=len(calls),
        coverage=coverage(profile, calls),
        reasons=tuple((reason, count, spent) for reason, (count, spent) in ordered),
    )


def comparable_builds(profile: ImportedProfile) -> list[Build]:
    """Builds of the same network that the hub has profiled: newest first, of each target and
    backend."""
    rows = Build.objects.filter(graph=profile.graph_id, profile__isnull=False)
    return list(
        rows.select_related("target", "profile").order_by("withdrawn_at", "target__slug", "-id")
    )


def own_profile(profile: ImportedProfile, build: str) -> Profile:
    """The hub's own profile of a build of the same network, to be put beside the imported one.

    Raises ``NotFound``: ``build_not_found``.
    """
    rows = Profile.objects.filter(build__uuid=parse_uuid(build), build__graph=profile.graph_id)
    row = rows.select_related("build__target").first()
    if row is None:
        raise NotFound(
            "build_not_found",
            f"There is no profiled build {build[:64]!r} of this network.",
            "Choose one of the builds that are listed.",
        )
    return row


def may_delete(actor: Actor, profile: ImportedProfile) -> bool:
    """Whether ``actor`` imported the profile and may still write there, or is an admin there."""
    namespace = profile.graph.revision.mlmodel.namespace
    user = person(actor)
    is_importer = user is not None and profile.actor_id == user.pk
    return may(actor, role=Role.WRITE if is_importer else Role.ADMIN, namespace=namespace)
