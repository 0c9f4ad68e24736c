"""Outside addresses of rows."""

from typing import cast

from django.conf import settings

from registry.fair.addresses import RepositoryAddress
from registry.fair.description import ResourceKind
from registry.tables import MLModel


def place_of(mlmodel: MLModel) -> RepositoryAddress:
    """Where ``mlmodel``, which comes with its namespace, has its pages."""
    kind = cast("ResourceKind", str(mlmodel.kind))
    return RepositoryAddress(settings.HUB_URL, kind, mlmodel.full_name)
