"""Lists of models or data sets by what is exactly known of them: names, labels, numbers.

Full-text search and counts are in :mod:`registry.selectors.search.catalogue`. A list here can be
read to its end, however long it is; every page costs the same.
"""

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.db.models import CharField, Count, F, Q, QuerySet, Value
from django.db.models.functions import Concat
from django.db.models.lookups import IContains

from registry.errors import Invalid
from registry.selectors.access import Actor, readable_repositories
from registry.selectors.people.account import named
from registry.selectors.repository.details import Details
from registry.states import Gate, RefKind, RepositoryKind
from registry.tables import File, Label, MLModel, Namespace, Ref, Revision
from registry.validation import labels
from registry.validation.texts import unseen

_TIMES = {"created_at", "updated_at"}
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


@dataclass(frozen=True, slots=True)
class ListingPage:
    """Rows with their namespaces; there are more if ``following`` is not "".

    Attributes:
        following: Where the next page goes on.
    """

    rows: list[MLModel]
    following: str


def listing_page(actor: Actor, wanted: Listing, *, after: str = "", limit: int) -> ListingPage:
    """The next ``limit`` of what is wanted and may be read.

    Args:
        after: ``following`` of the page before, of the same order.

    Raises:
        Invalid: ``invalid_cursor``.
    """
    rows = _matching(actor, wanted).select_related("namespace")
    if after:
        value, pk = _read_place(after, wanted.order)
        rows = rows.filter(
            Q(**{f"{wanted.order}__lt": value}) | Q(**{wanted.order: value, "pk__lt": pk})
        )
    found = list(rows.order_by(f"-{wanted.order}", "-pk")[: limit + 1])
    shown = found[:limit]
    return ListingPage(shown, _place(shown[-1], wanted.order) if len(found) > limit else "")


def details_of(rows: Sequence[MLModel], *, with_paths: bool) -> list[Details]:
    """What there is to tell of each row at its default branch, looked up for all of them at once.

    Args:
        with_paths: Whether the paths of their files will be asked for.
    """
    keys = [row.pk for row in rows]
    found: dict[int, list[labels.Label]] = {pk: [] for pk in keys}
    for label in Label.objects.filter(mlmodel__in=keys).order_by("pk"):
        found[label.mlmodel_id].append(labels.Label(label.kind, label.value))
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


def _place(row: MLModel, order: str) -> str:
    value = getattr(row, order)
    spelled = value.isoformat() if order in _TIMES else value
    return base64.urlsafe_b64encode(json.dumps([order, spelled, row.pk]).encode()).decode()


def _read_place(place: str, order: str) -> tuple[Any, int]:
    try:
        match json.loads(base64.urlsafe_b64decode(place)):
            case [str(given), str(value), int(pk)] if given == order and order in _TIMES:
                at = datetime.fromisoformat(value)
                if at.tzinfo is not None and 0 <= pk < 2**63:
                    return at, pk
            case [str(given), int(value), int(pk)] if given == order and order not in _TIMES:
                if 0 <= value < 2**63 and 0 <= pk < 2**63:
                    return value, pk
    except (ValueError, RecursionError):
        pass
    raise Invalid(
        "invalid_cursor", "No page of this list ends there.", "Start again from the first page."
    )
