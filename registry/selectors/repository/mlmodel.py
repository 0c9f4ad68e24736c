"""Reads of MLModels and data sets."""

import re

from django.db.models import Count, QuerySet
from django.db.models.functions import Lower
from django.db.models.lookups import Exact

from registry.errors import NotFound
from registry.ids import NAME_RE
from registry.selectors.access import Actor, readable_repositories, require
from registry.selectors.people.account import named
from registry.states import RepositoryKind, Role
from registry.tables import FormerName, MLModel, Namespace

_OID_START = re.compile(r"[0-9a-f]{7,40}")


def mlmodel_get(actor: Actor, full_name: str) -> MLModel:
    """The MLModel ``namespace/name``, in any case.

    Raises ``NotFound``: ``model_not_found``, also for one that the actor may not read.
    """
    return repository_get(actor, RepositoryKind.MODEL, full_name)


def repository_get(actor: Actor, kind: RepositoryKind, full_name: str) -> MLModel:
    """The readable MLModel or data set ``namespace/name``, in any case.

    Raises ``NotFound``: ``model_not_found`` or ``dataset_not_found``, also for an unreadable one.
    """
    namespace, _, name = full_name.partition("/")
    mlmodel = (
        named(readable_repositories(actor).filter(kind=kind), name)
        .filter(namespace__in=named(Namespace.objects.all(), namespace))
        .select_related("namespace")
        .first()
    )
    if mlmodel is None:
        raise NotFound(
            f"{kind.value}_not_found",
            f"There is no {kind.value} {full_name[:200]!r}, or you may not read it.",
            "Check the name; sign in if it is private.",
        )
    return mlmodel


def repository_moved(actor: Actor, kind: RepositoryKind, full_name: str) -> MLModel | None:
    """The readable repository that was moved away from the free name ``namespace/name``."""
    namespace, _, name = full_name.partition("/")
    return (
        readable_repositories(actor)
        .filter(former_names__in=former_names(kind, namespace, name).filter(replaced_at=None))
        .select_related("namespace")
        .first()
    )


def former_names(kind: RepositoryKind, namespace: str, name: str) -> QuerySet[FormerName]:
    """What was moved away from ``namespace/name``, in any case; at most one row redirects."""
    # Also keeps NUL, which PostgreSQL rejects, out of the query.
    if not (NAME_RE.fullmatch(namespace) and NAME_RE.fullmatch(name)):
        return FormerName.objects.none()
    return FormerName.objects.filter(
        Exact(Lower("namespace"), namespace.lower()), Exact(Lower("name"), name.lower()), kind=kind
    )


def record_names(kind: RepositoryKind, full_name: str) -> list[str]:
    """Last names, in lower case, of the repositories that may have left a record at ``full_name``:
    the one moved away last if the name is free, those deleted there, those moved away earlier."""
    namespace, _, name = full_name.lower().partition("/")
    # Also keeps NUL, which PostgreSQL rejects, out of the query.
    if not (NAME_RE.fullmatch(namespace) and NAME_RE.fullmatch(name)):
        return []
    free: list[str] = []
    earlier: list[str] = []
    moved = former_names(kind, namespace, name).filter(mlmodel=None).order_by("-replaced_at")
    for last_name, replaced_at in moved.values_list("full_name", "replaced_at"):
        (earlier if replaced_at else free).append(last_name.lower())
    return list(dict.fromkeys((*free, full_name.lower(), *earlier)))


def repository_replaced(
    actor: Actor, kind: RepositoryKind, full_name: str, rev: str
) -> MLModel | None:
    """The readable repository that had the name ``full_name`` before the present one, and that
    has or had the version ``rev``, a commit id or at least its first 7 digits; else ``None``."""
    if not _OID_START.fullmatch(rev.lower()):
        return None
    namespace, _, name = full_name.partition("/")
    rows = former_names(kind, namespace, name).filter(
        replaced_at__isnull=False,
        mlmodel__in=readable_repositories(actor),
        mlmodel__identifiers__oid__startswith=rev.lower(),
    )
    row = rows.select_related("mlmodel__namespace").order_by("-replaced_at", "-pk").first()
    return row.mlmodel if row else None


def repositories_of(actor: Actor, namespace: Namespace) -> tuple[QuerySet[MLModel], int]:
    """The repositories in ``namespace``, for its members, and their total bytes.

    Raises the errors of :func:`registry.selectors.access.require`.
    """
    require(actor, role=Role.READ, namespace=namespace)
    rows = namespace.mlmodels.select_related("namespace").order_by("-pk")
    namespace.refresh_from_db(fields=["used_bytes"])
    return rows, namespace.used_bytes


def counts_of(actor: Actor, namespace: Namespace) -> dict[str, int]:
    """Kind to the number of repositories in ``namespace`` that ``actor`` may read."""
    rows = readable_repositories(actor).filter(namespace=namespace)
    return dict(rows.values_list("kind").annotate(Count("pk")))
