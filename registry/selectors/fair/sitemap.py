"""Parts of the site map: addresses of public repositories with the times of their changes."""

from datetime import datetime
from typing import cast

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.db.models import QuerySet
from django.db.models.expressions import RawSQL

from registry.fair.addresses import RepositoryAddress
from registry.fair.description import ResourceKind
from registry.selectors.access import readable_repositories
from registry.states import Visibility
from registry.tables import MLModel


def addresses_changed(at_once: int) -> dict[int, datetime]:
    """Parts of ``at_once`` keys each: part to the newest change of its public repositories.

    A repository always stays in the same part; parts without a public one are left out. One index
    lookup for each part if ``at_once`` is :data:`registry.tables.repository.mlmodel.SITE_MAP_PART`.
    """
    newest = RawSQL(  # noqa: S611 - only a number is interpolated
        f"""
        WITH RECURSIVE part (number) AS (
            SELECT 0
            UNION ALL
            SELECT number + 1 FROM part WHERE number < (
                SELECT MAX(id) / {at_once:d} FROM registry_mlmodel WHERE visibility = %s
            )
        )
        SELECT (
            SELECT id FROM registry_mlmodel
            WHERE visibility = %s AND (id / {at_once:d}) = part.number
            ORDER BY updated_at DESC LIMIT 1
        ) FROM part
        """,  # noqa: S608
        (Visibility.PUBLIC, Visibility.PUBLIC),
    )
    rows = _public().filter(pk__in=newest).order_by("pk")
    return {pk // at_once: at for pk, at in rows.values_list("pk", "updated_at")}


def addresses_of(part: int, at_once: int) -> list[tuple[str, datetime]]:
    """Addresses in a part of :func:`addresses_changed`, with the times of their latest changes."""
    rows = _public().filter(pk__gte=part * at_once, pk__lt=(part + 1) * at_once)
    columns = ("kind", "namespace__name", "name", "updated_at")
    return [
        (
            RepositoryAddress(
                settings.HUB_URL, cast("ResourceKind", kind), f"{owner}/{name}"
            ).concept,
            at,
        )
        for kind, owner, name, at in rows.order_by("pk").values_list(*columns)
    ]


def _public() -> QuerySet[MLModel]:
    return readable_repositories(AnonymousUser())
