"""Signs builds and benchmark records.

They are signed in the transaction that publishes them. What could not be signed then, and what an
older hub published, is signed by the background task.
"""

import logging
from collections.abc import Sequence

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from registry.attestations.envelope import IN_TOTO, sign
from registry.attestations.keys import SigningKey, SigningUnavailable
from registry.attestations.statements import (
    BuildProvenance,
    build_statement,
    record_statement,
)
from registry.selectors.results.build import network_digest, with_relations
from registry.services.trust.key import current_key
from registry.states import RecordKind
from registry.tables import Build, HubKey, MLModel, Record

logger = logging.getLogger(__name__)

_COLUMNS = ["envelope", "signed_by", "signed_at"]
_AT_ONCE = 200


def builds_sign(builds: Sequence[Build]) -> None:
    """Sign builds that are being published, if that is possible now."""
    try:
        row, key = current_key()
    except SigningUnavailable as error:
        logger.warning("builds are published without a signature: %s", error)
        return
    _sign_builds(list(_rows(Build.objects.filter(pk__in=[b.pk for b in builds]))), row, key)


def record_sign(record: Record) -> None:
    """Sign a record that is being added, if that is possible now."""
    try:
        row, key = current_key()
    except SigningUnavailable as error:
        logger.warning("a record is stored without a signature: %s", error)
        return
    _sign_records([record], row, key)


def sign_pending(*, limit: int = 20_000) -> int:
    """Sign builds and records that have no signature; returns their number, at most ``limit``.

    Raises SigningUnavailable: see :func:`registry.services.trust.key.current_key`.
    """
    signed = 0
    while signed < limit:
        builds = list(_rows(Build.objects.filter(signed_at=None)).order_by("pk")[:_AT_ONCE])
        records = list(
            Record.objects.filter(signed_at=None)
            .select_related("revision__mlmodel__namespace")
            .defer("document")
            .order_by("pk")[:_AT_ONCE]
        )
        if not builds and not records:
            break
        row, key = current_key()
        _sign_builds(builds, row, key)
        _sign_records(records, row, key)
        signed += len(builds) + len(records)
    return signed


def signatures_drop(mlmodel: MLModel) -> None:
    """Remove the signatures of a model whose name or commit ids change: they state the old ones.
    The background task signs again."""
    nothing = dict.fromkeys(_COLUMNS)
    Build.objects.filter(graph__revision__mlmodel=mlmodel).update(**nothing)
    Record.objects.filter(revision__mlmodel=mlmodel).update(**nothing)


def _rows(builds: QuerySet[Build]) -> QuerySet[Build]:
    return with_relations(builds).select_related("job")


def _sign_builds(builds: Sequence[Build], row: HubKey, key: SigningKey) -> None:
    for build in builds:
        _apply(build, sign(build_statement(_facts(build)), IN_TOTO, key), row)
    with transaction.atomic():
        Build.objects.bulk_update(builds, _COLUMNS)


def _sign_records(records: Sequence[Record], row: HubKey, key: SigningKey) -> None:
    for record in records:
        statement = record_statement(
            record.pk,
            hub=settings.HUB_URL,
            model=record.revision.mlmodel.full_name,
            revision=record.revision.oid,
            kind=record.kind,
            by="user" if record.kind == RecordKind.REPRODUCTION else "hub",
            created_at=record.created_at.isoformat(),
        )
        _apply(record, sign(statement, IN_TOTO, key), row)
    with transaction.atomic():
        Record.objects.bulk_update(records, _COLUMNS)


def _apply(row: Build | Record, envelope: dict[str, object], key: HubKey) -> None:
    row.envelope, row.signed_by, row.signed_at = envelope, key, timezone.now()


def _facts(build: Build) -> BuildProvenance:
    revision = build.graph.revision
    return BuildProvenance(
        hub=settings.HUB_URL,
        uuid=str(build.uuid),
        model=revision.mlmodel.full_name,
        revision=revision.oid,
        network=(build.graph.path, network_digest(build)),
        target=build.target.slug,
        tolerance=build.tolerance,
        candidate=build.candidate,
        runtime=build.runtime,
        runtime_options=build.runtime_options,
        entry_point=build.entry_point,
        files={file.path: file.blob_id for file in build.files.all()},
        record_id=build.record_id,
        job=str(build.job.uuid) if build.job else "",
        created_at=build.created_at.isoformat(timespec="seconds"),
        toolchain=build.provenance.get("toolchain", {}),
        execution=build.execution or {},
    )
