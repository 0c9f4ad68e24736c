"""A hub with many small records, made in bulk."""

from datetime import timedelta
from typing import Any

from django.utils import timezone

from registry.states import IdentifierKind, RefKind, RepositoryKind
from registry.tables import FileSeries, Identifier, MLModel, Namespace, Ref, Revision


def make_crowd(namespace: Namespace, number: int) -> list[MLModel]:
    """``number`` public models without files, ten of which changed in each moment."""
    begin = timezone.now() - timedelta(days=1)
    mlmodels = MLModel.objects.bulk_create(
        MLModel(
            namespace=namespace,
            name=f"crowd-{one}",
            title=f"Crowd {one}",
            updated_at=begin + timedelta(seconds=one // 10),
        )
        for one in range(number)
    )
    series = FileSeries.objects.bulk_create(FileSeries(mlmodel=one) for one in mlmodels)
    revisions = Revision.objects.bulk_create(
        Revision(
            mlmodel=mlmodel,
            series=one,
            position=0,
            oid=f"{mlmodel.pk:040x}",
            tree_oid=f"{mlmodel.pk:040x}",
            author_line="Charlie <charlie@example.org> 0 +0000",
            message="first",
            created_at=begin,
            card={"license": "apache-2.0", "pipeline_tag": "image-classification"},
        )
        for mlmodel, one in zip(mlmodels, series, strict=True)
    )
    Ref.objects.bulk_create(
        Ref(mlmodel=one.mlmodel, kind=RefKind.BRANCH, name="main", revision=one)
        for one in revisions
    )
    Identifier.objects.bulk_create(_identifiers(revisions))
    return mlmodels


def _identifiers(revisions: list[Revision]) -> list[Identifier]:
    made = []
    for revision in revisions:
        mlmodel = revision.mlmodel
        same: dict[str, Any] = {
            "mlmodel": mlmodel,
            "repository_kind": RepositoryKind.MODEL,
            "full_name": f"lab/{mlmodel.name}",
        }
        made += [
            Identifier(name=f"h2c{mlmodel.pk}", kind=IdentifierKind.CONCEPT, **same),
            Identifier(
                name=f"h2v{mlmodel.pk}",
                kind=IdentifierKind.VERSION,
                revision=revision,
                oid=revision.oid,
                **same,
            ),
        ]
    return made
