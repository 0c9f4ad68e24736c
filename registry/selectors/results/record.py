"""Reads of benchmark records."""

from django.db.models import QuerySet

from registry.errors import NotFound
from registry.selectors.access import Actor, readable_records
from registry.selectors.repository.mlmodel import mlmodel_get
from registry.tables import Record

_RELATED = ("revision__mlmodel__namespace", "target", "device", "job", "added_by")


def record_get(actor: Actor, record_id: str) -> Record:
    """The readable record of that id. Raises ``NotFound``: ``record_not_found``."""
    rows = readable_records(actor).select_related(*_RELATED)
    record = None if "\0" in record_id else rows.filter(pk=record_id).first()
    if record is None:
        raise NotFound("record_not_found", f"There is no record {record_id[:64]!r}.")
    return record


def records_of(
    actor: Actor,
    *,
    mlmodel: str | None = None,
    revision_oid: str | None = None,
    target: str | None = None,
) -> QuerySet[Record]:
    """Records the actor may see, newest first.

    Raises ``NotFound``: ``model_not_found``: no readable model is named ``mlmodel``
    (``namespace/name``).
    """
    rows = readable_records(actor).select_related(*_RELATED).order_by("-created_at", "-id")
    if mlmodel:
        rows = rows.filter(revision__mlmodel=mlmodel_get(actor, mlmodel))
    if revision_oid:
        rows = rows.filter(revision__oid=revision_oid)
    if target:
        rows = rows.filter(target__slug=target)
    return rows
