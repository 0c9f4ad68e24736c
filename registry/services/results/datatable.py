"""Columns of data sets' files, stored by the jobs that read them."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from registry.services.work.lease import held_job
from registry.tables import DataTable
from registry.validation.texts import check_json


def data_tables_store(
    *, job_uuid: str, fence: int, tables: Mapping[str, Mapping[str, Any]]
) -> None:
    """Store the tables of blobs of the job's revision; those already stored stay.

    Args:
        tables: Digest of a blob to ``{"format", "rows", "columns"}``.

    Raises ``Conflict`` ``lease_lost``; ``Invalid`` ``invalid_request``.
    """
    values = {digest: check_json(dict(table)) for digest, table in tables.items()}
    with transaction.atomic():
        revision = held_job(job_uuid=job_uuid, fence=fence).revision
        present = revision.files.filter(blob__in=values).values_list("blob_id", flat=True)
        DataTable.objects.bulk_create(
            [DataTable(blob_id=digest, **values[digest]) for digest in sorted(set(present))],
            ignore_conflicts=True,
        )
