"""Lists of models or data sets by exact properties: names, labels, numbers.

Full-text search is in :mod:`registry.selectors.search.catalogue`. A list here can be read to its
end; all pages cost the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from django.contrib.auth.models import AnonymousUser
from django.db.models import CharField, Count, F, Q, QuerySet, Value, Window
from django.db.models.functions import Concat, RowNumber
from django.db.models.lookups import IContains

from registry.pagination import Page, keyset_page
from registry.search import names
from registry.search.digests import digest
from registry.selectors.access import Actor, readable_repositories
from registry.selectors.people.account import named
from registry.selectors.repository.details import Details
from registry.selectors.repository.file import MAX_LISTED
from registry.states import Gate, RefKind, RepositoryKind
from registry.tables import File, Label, MLModel, Namespace, Ref, Revision
from registry.validation import labels
from registry.validation.texts import unseen

_MOST_TAGS = 1000
#: Label of data sets that the operator of a hub declares as benchmarks; there are none.
_BENCHMARK = "benchmark:"

#: Least and largest number, both included.
Bounds = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Listing:
    """Filters and order of a list.

    Attributes:
        words: Each must be part of ``namespace/name``, in any case.
        author: Name of the namespace; "" for all.
        labels: Labels that a repository must have.
        task: Label of the task; "" for all.
        gated: Whether files must be gated; ``None`` for both.
        parameters: Bounds of the number of parameters; ``None`` for all, also those of unknown
            number.
        is_served: Whether an inference provider must serve it; none serves models of this hub.
        order: ``created_at``, ``updated_at``, ``likes`` or ``downloads``, descending; of equal
            values the newest first.
    """

    kind: RepositoryKind
    words: Sequence[str] = ()
    author: str = ""
    labels: Sequence[str] = ()
    task: str = ""
    gated: bool | None = None
    parameters: Bounds | None = None
    is_served: bool = False
    order: str = "updated_at"


def listing_page(
    actor: Actor, listing: Listing, *, cursor: str | None = None, limit: int
) -> Page[MLModel]:
    """A page of the matching readable repositories, with their namespaces.

    Raises ``Invalid``: ``invalid_cursor``, also for a cursor of another order.
    """
    rows = _matching(actor, listing, limit).select_related("namespace")
    return keyset_page(
        rows,
        name=f"listing.{listing.order}",
        cursor=cursor,
        limit=limit,
        order=(f"-{listing.order}", "-id"),
    )


def details_of(rows: Sequence[MLModel], *, with_paths: bool) -> list[Details]:
    """Details of repositories at the heads of their default branches; a constant number of queries.

    ``with_paths``: whether the paths of their files are needed.
    """
    keys = [row.pk for row in rows]
    labels_by_key: dict[int, list[labels.LabelValue]] = {pk: [] for pk in keys}
    for label in Label.objects.filter(mlmodel__in=keys).order_by("pk"):
        labels_by_key[label.mlmodel_id].append(labels.LabelValue(label.kind, label.value))
    heads = Ref.objects.filter(
        mlmodel__in=keys, kind=RefKind.BRANCH, name=F("mlmodel__default_branch")
    )
    head_of = {head.mlmodel_id: head.revision for head in heads.select_related("revision")}
    short = [head for head in head_of.values() if head.file_count <= MAX_LISTED]
    paths = _paths_of(short) if with_paths else {}
    return [
        Details(
            row,
            head,
            paths=paths.get(head.pk, []) if with_paths else None,
            labels=labels_by_key[row.pk],
        )
        for row in rows
        if (head := head_of.get(row.pk)) is not None
    ]


def labels_in_use(kind: RepositoryKind) -> list[tuple[str, str]]:
    """Kind and value of the labels of public repositories, most frequent first.

    Of a large hub as last counted; see :mod:`registry.search.digests`.
    """
    rows = digest(f"labels-{kind}", partial(_count_labels, kind)) or []
    return [(label_kind, value) for label_kind, value in rows]


def _count_labels(kind: RepositoryKind) -> list[tuple[str, str]]:
    everybody = readable_repositories(AnonymousUser()).filter(kind=kind)
    counted = Label.objects.filter(mlmodel__in=everybody).values("kind", "value")
    most = counted.annotate(uses=Count("pk")).order_by("-uses", "value")[:_MOST_TAGS]
    return [(row["kind"], row["value"]) for row in most]


def models_by_task(most: int) -> dict[str, list[MLModel]]:
    """The tasks of public models, in order, each with its ``most`` most liked models.

    Of a large hub as last counted, without models that are not public any more.
    """
    keys = digest(f"tasks-{most}", partial(_keys_by_task, most)) or {}
    everybody = readable_repositories(AnonymousUser()).select_related("namespace")
    models = everybody.in_bulk({key for of_task in keys.values() for key in of_task})
    return {
        task: [models[key] for key in of_task if key in models] for task, of_task in keys.items()
    }


def _keys_by_task(most: int) -> dict[str, list[int]]:
    everybody = readable_repositories(AnonymousUser()).filter(kind=RepositoryKind.MODEL)
    tasks = Label.objects.filter(mlmodel__in=everybody, kind="pipeline_tag")
    values = tasks.order_by("value").values_list("value", flat=True).distinct()[:_MOST_TAGS]
    keys: dict[str, list[int]] = {value: [] for value in values}
    # The database finds the place of each model among those of its task.
    place = Window(RowNumber(), partition_by="value", order_by=["-mlmodel__likes", "mlmodel"])
    rows = tasks.annotate(place=place).filter(place__lte=most, value__in=keys)
    for value, key in rows.order_by("value", "place").values_list("value", "mlmodel"):
        keys[value].append(key)
    return keys


def _matching(actor: Actor, listing: Listing, limit: int) -> QuerySet[MLModel]:
    rows = readable_repositories(actor).filter(kind=listing.kind)
    # Names and labels have no such characters, and databases reject some of them.
    if any(map(unseen, [*listing.words, *listing.labels, listing.task])):
        return rows.none()
    # Authors write tags, so a tag does not make a data set a benchmark.
    if listing.is_served or any(label.startswith(_BENCHMARK) for label in listing.labels):
        return rows.none()
    if listing.author:
        rows = rows.filter(namespace__in=named(Namespace.objects.all(), listing.author))
    if listing.words:
        keys = names.keys_containing(listing.kind, listing.words, limit=limit)
        rows = rows if keys is None else rows.filter(pk__in=keys)
    for word in listing.words:
        full_name = Concat("namespace__name", Value("/"), "name", output_field=CharField())
        rows = rows.filter(IContains(full_name, word))
    for value in listing.labels:
        rows = rows.filter(pk__in=Label.objects.filter(value=value).values("mlmodel"))
    if listing.task:
        tasks = Label.objects.filter(kind="pipeline_tag", value=listing.task)
        rows = rows.filter(pk__in=tasks.values("mlmodel"))
    if listing.gated is not None:
        rows = rows.exclude(gate=Gate.OPEN) if listing.gated else rows.filter(gate=Gate.OPEN)
    if listing.parameters is not None:
        rows = _with_parameters(rows, listing.parameters)
    return rows


def _with_parameters(rows: QuerySet[MLModel], bounds: Bounds) -> QuerySet[MLModel]:
    """Models by the parameters of their safetensors files, or else of their primary network."""
    heads = Ref.objects.filter(
        kind=RefKind.BRANCH,
        name=F("mlmodel__default_branch"),
        revision__graphs__is_primary=True,
        revision__graphs__parameters__range=bounds,
    )
    counted = Q(parameters__range=bounds)
    return rows.filter(counted | Q(pk__in=heads.values("mlmodel"), parameters=None))


def _paths_of(revisions: list[Revision]) -> dict[int, list[str]]:
    paths: dict[int, list[str]] = {}
    rows = File.objects.of({one.pk for one in revisions}).order_by("path")
    for revision, path in rows.values_list("series__revisions", "path"):
        paths.setdefault(revision, []).append(path)
    return paths
