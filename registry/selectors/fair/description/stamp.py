"""What tells whether a version may be described as before: what changes when anything does."""

from collections.abc import Sequence
from typing import Any

from django.db import connection

from registry.states import RefKind
from registry.tables import MLModel, Revision

_NAMESPACE = ("name", "kind", "title", "ror")
_MLMODEL = ("uuid", "kind", "name", "visibility", "gate", "default_branch", "updated_at")
# In SQL: every page asks, and the object mapper takes longer to write this than a database to
# answer. Jobs stand for networks and tests as well, which inspections replace; of sources it is
# told whether they were hidden, moved or deleted.
_CHANGES = """
    SELECT r.id, u.full_name, u.orcid,
        (SELECT MAX(id) FROM registry_graph WHERE revision_id = r.id),
        (SELECT MAX(ended_at) FROM registry_job WHERE revision_id = r.id),
        (SELECT COUNT(*) FROM registry_record WHERE revision_id = r.id),
        (SELECT MAX(id) FROM registry_assessment WHERE revision_id = r.id),
        (SELECT MAX(b.id) FROM registry_build b
            JOIN registry_graph g ON g.id = b.graph_id WHERE g.revision_id = r.id),
        (SELECT MAX(b.withdrawn_at) FROM registry_build b
            JOIN registry_graph g ON g.id = b.graph_id WHERE g.revision_id = r.id),
        (SELECT MAX(p.id) FROM registry_reproduction p
            JOIN registry_build b ON b.id = p.build_id
            JOIN registry_graph g ON g.id = b.graph_id WHERE g.revision_id = r.id),
        i.name, i.doi,
        (SELECT MAX(id) FROM registry_derivation WHERE revision_id = r.id),
        (SELECT COUNT(source_mlmodel_id) FROM registry_derivation WHERE revision_id = r.id),
        (SELECT MAX(m.updated_at) FROM registry_derivation d
            JOIN registry_mlmodel m ON m.id = d.source_mlmodel_id WHERE d.revision_id = r.id),
        (SELECT MAX(id) FROM registry_ref WHERE mlmodel_id = r.mlmodel_id AND kind = %s),
        (SELECT COUNT(*) FROM registry_ref WHERE mlmodel_id = r.mlmodel_id AND kind = %s)
    FROM registry_revision r
    LEFT JOIN registry_user u ON u.id = r.author_id
    LEFT JOIN registry_identifier i ON i.revision_id = r.id
    WHERE r.id IN ({})
"""


def stamps_of(revisions: Sequence[Revision]) -> dict[int, tuple[object, ...]]:
    """Key of a revision to values of which one differs once its description does; one query.

    Args:
        revisions: With their MLModels and namespaces, of which it is told as they were read.
    """
    keys = [one.pk for one in revisions]
    query = _CHANGES.format(", ".join(["%s"] * len(keys)))
    with connection.cursor() as cursor:
        cursor.execute(query, [RefKind.TAG.value, RefKind.TAG.value, *keys])
        found = {row[0]: row for row in cursor.fetchall()}
    return {one.pk: (one.oid, *_values(one.mlmodel), *found.get(one.pk, ())) for one in revisions}


def _values(mlmodel: MLModel) -> list[Any]:
    namespace = mlmodel.namespace
    return [
        *(getattr(mlmodel, name) for name in _MLMODEL),
        *(getattr(namespace, name) for name in _NAMESPACE),
    ]
