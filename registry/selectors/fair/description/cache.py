"""Cache of descriptions, keyed by values that change whenever a description does."""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

from django.conf import settings
from django.core.cache import cache
from django.db import connection

from registry.fair.description import Description
from registry.selectors.fair.hub import this_hub
from registry.states import RefKind
from registry.tables import MLModel, Revision

#: Lifetime in seconds. It bounds how long a change stays unnoticed that no validator covers, such
#: as a data set becoming private.
_LIFETIME_S = 60
_NAMESPACE = ("name", "kind", "title", "ror")
_MLMODEL = ("uuid", "kind", "name", "visibility", "gate", "default_branch", "updated_at")
# Written in SQL because every page runs it: building the query with the ORM takes longer than
# answering it. Ended jobs also cover networks and tests, which inspections replace; derivations
# cover sources that were hidden, moved or deleted.
_VALIDATORS = """
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


def cached(
    revisions: Sequence[Revision], describe: Callable[[list[Revision]], list[Description]]
) -> list[Description]:
    """The descriptions of ``revisions`` in their order; ``describe`` makes the missing ones."""
    keys = cache_keys(revisions)
    descriptions: dict[str, Description] = cache.get_many(set(keys.values()))
    missing = [one for one in revisions if keys[one.pk] not in descriptions]
    if missing:
        fresh = {keys[one.pk]: made for one, made in zip(missing, describe(missing), strict=True)}
        cache.set_many(fresh, _LIFETIME_S)
        descriptions |= fresh
    return [descriptions[keys[one.pk]] for one in revisions]


def cache_keys(revisions: Sequence[Revision]) -> dict[int, str]:
    """Key of a revision to that of its description, which changes with it; one query."""
    hub = (this_hub(), settings.NAAN)
    return {pk: _key(values, hub) for pk, values in _validators(revisions).items()}


def _key(*parts: object) -> str:
    return f"fair-description-{hashlib.sha256(repr(parts).encode()).hexdigest()}"


def _validators(revisions: Sequence[Revision]) -> dict[int, tuple[object, ...]]:
    """Key of a revision to its cache validator, whose values change with the description.

    One query; values of MLModels and namespaces are those that the revisions were loaded with.
    """
    keys = [one.pk for one in revisions]
    query = _VALIDATORS.format(", ".join(["%s"] * len(keys)))
    with connection.cursor() as cursor:
        cursor.execute(query, [RefKind.TAG.value, RefKind.TAG.value, *keys])
        rows = {row[0]: row for row in cursor.fetchall()}
    return {one.pk: (one.oid, *_values(one.mlmodel), *rows.get(one.pk, ())) for one in revisions}


def _values(mlmodel: MLModel) -> list[Any]:
    namespace = mlmodel.namespace
    return [
        *(getattr(mlmodel, name) for name in _MLMODEL),
        *(getattr(namespace, name) for name in _NAMESPACE),
    ]
