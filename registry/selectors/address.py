"""Outside addresses of what the hub keeps: in metadata, links and identifiers they are the same."""

from urllib.parse import urlencode

from django.conf import settings

from registry.states import RepositoryKind
from registry.tables import MLModel


def landing_path(kind: RepositoryKind | str, full_name: str, oid: str = "") -> str:
    """The page of a version, or with no ``oid`` that of the newest, below the hub's address."""
    prefix = "/datasets" if kind == RepositoryKind.DATASET else ""
    query = f"?{urlencode({'revision': oid})}" if oid else ""
    return f"{prefix}/{full_name}{query}"


def landing_url(mlmodel: MLModel, oid: str = "") -> str:
    """:func:`landing_path` as an address; ``mlmodel`` comes with its namespace."""
    return f"{settings.HUB_URL}{landing_path(mlmodel.kind, mlmodel.full_name, oid)}"
