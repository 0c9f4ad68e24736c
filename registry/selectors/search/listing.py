"""Lists of models or data sets by what is exactly known of them: names, labels, numbers.

Full-text search and counts are in :mod:`registry.selectors.search.catalogue`. A list here can be
read to its end, however long it is; every page costs the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.auth.models import AnonymousUser
from django.db.models import CharField, Count, F, QuerySet, Value
from django.db.models.functions import Concat
from django.db.models.lookups import IContains

from registry.pagination import Page, keyset_page
from registry.selectors.access import Actor, readable_repositories
from registry.selectors.people.account import named
from registry.selectors.repository.details import Details
from registry.states import Gate, RefKind, RepositoryKind
from registry.tables import File, Label, MLModel, Namespace, Ref, Revision
from registry.validation import labels
from registry.validation.texts import unseen

_MOST_TAGS = 1000


@dataclass(frozen=True, slots=True)
class Listing:
    """What is wanted.

    Attributes:
        words: Each is to be part of ``namespace/name``, in any case.
        author: The namespace.
        labels: All of them are to be among the labels.
        task: The task's label.
        gated: Whether files are to be behind a gate; ``None``: either way.
        order: ``created_at``, ``updated_at``, ``likes`` or ``downloads``, greatest first; of equal
            ones, the newest first.
    """

    kind: RepositoryKind
    words: Sequence[str] = ()
    author: str = ""
    labels: Sequence[str] = ()
    task: str = ""
    gated: bool | None = None
    order: str = "updated_at"


def listing_page(
    actor: Actor, wanted: Listing, *, cursor: str | None = None, limit: int
) -> Page[MLModel]:
    """A page of the repositories that match and may be read, with their namespaces.

    Raises:
        Invalid: ``invalid_cursor``, also of a list in another order.
    """
    rows = _matching(actor, wanted).select_related("namespace")
    return keyset_page(
        rows,
        name=f"listing.{wanted.order}",
        cursor=cursor,
        limit=limit,
        order=(f"-{wanted.order}", "-id"),
    )


def details_of(rows: Sequence[MLModel], *, with_paths: bool) -> list[Details]:
    """What there is to tell of each row at its default branch, looked up for all of them at once.

    Args:
        with_paths: Whether the paths of their files will be asked for.
    """
    keys = [row.pk for row in rows]
    found: dict[int, list[labels.LabelValue]] = {pk: [] for pk in keys}
    for label in Label.objects.filter(mlmodel__in=keys).order_by("pk"):
        found[label.mlmodel_id].append(labels.LabelValue(label.kind, label.value))
    heads = Ref.objects.filter(
        mlmodel__in=keys, kind=RefKind.BRANCH, name=F("mlmodel__default_branch")
    )
    head_of = {head.mlmodel_id: head.revision for head in heads.select_related("revision")}
    paths = _paths_of(list(head_of.values())) if with_paths else {}
    return [
        Details(
            row, head, paths=paths.get(head.pk, []) if with_paths else None, labels=found[row.pk]
        )
        for row in rows
        if (head := head_of.get(row.pk)) is not None
    ]


def labels_in_use(kind: RepositoryKind) -> list[tuple[str, str]]:
    """Pairs of a label's kind and value, for all that anybody may read; the commonest first."""
    everybody = readable_repositories(AnonymousUser()).filter(kind=kind)
    counted = Label.objects.filter(mlmodel__in=everybody).values("kind", "value")
    most = counted.annotate(uses=Count("pk")).order_by("-uses", "value")[:_MOST_TAGS]
    return [(row["kind"], row["value"]) for row in most]


def _matching(actor: Actor, wanted: Listing) -> QuerySet[MLModel]:
    rows = readable_repositories(actor).filter(kind=wanted.kind)
    # No name and no label holds such characters, and no database takes all of them.
    if any(map(unseen, [*wanted.words, *wanted.labels, wanted.task])):
        return rows.none()
    if wanted.author:
        rows = rows.filter(namespace__in=named(Namespace.objects.all(), wanted.author))
    for word in wanted.words:
        full_name = Concat("namespace__name", Value("/"), "name", output_field=CharField())
        rows = rows.filter(IContains(full_name, word))
    for value in wanted.labels:
        rows = rows.filter(pk__in=Label.objects.filter(value=value).values("mlmodel"))
    if wanted.task:
        tasks = Label.objects.filter(kind="pipeline_tag", value=wanted.task)
        rows = rows.filter(pk__in=tasks.values("mlmodel"))
    if wanted.gated is not None:
        rows = rows.exclude(gate=Gate.OPEN) if wanted.gated else rows.filter(gate=Gate.OPEN)
    return rows


def _paths_of(revisions: list[Revision]) -> dict[int, list[str]]:
    paths: dict[int, list[str]] = {}
    rows = File.objects.filter(revision__in=revisions).order_by("path")
    for revision, path in rows.values_list("revision_id", "path"):
        paths.setdefault(revision, []).append(path)
    return paths
