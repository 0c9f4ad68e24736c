"""Conversions, stored by inspections."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from registry.services.storage.blob import blobs_hold
from registry.services.work.lease import held_job
from registry.tables import Conversion, ConversionFile
from registry.validation.texts import check_json


def conversion_store(
    *, job_uuid: str, fence: int, files: Mapping[str, str], provenance: Mapping[str, Any]
) -> Conversion:
    """Store the conversion of the job's revision, replacing an earlier one.

    Args:
        files: Path to digest of stored bytes.
        provenance: See :class:`registry.tables.results.conversion.Conversion`.

    Raises ``Conflict`` ``lease_lost``; ``Invalid`` ``blob_missing``, ``invalid_request``.
    """
    values = check_json(dict(provenance))
    with transaction.atomic():
        revision = held_job(job_uuid=job_uuid, fence=fence).revision
        blobs_hold(set(files.values()))
        Conversion.objects.filter(revision=revision).delete()
        conversion = Conversion.objects.create(revision=revision, provenance=values)
        ConversionFile.objects.bulk_create(
            ConversionFile(conversion=conversion, path=path, blob_id=sha256)
            for path, sha256 in sorted(files.items())
        )
    return conversion
