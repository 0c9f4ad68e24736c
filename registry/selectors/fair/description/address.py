"""Outside addresses of rows."""

from typing import cast

from django.conf import settings

from registry.fair.addresses import Place
from registry.fair.description import Kind
from registry.tables import MLModel


def place_of(mlmodel: MLModel) -> Place:
    """Where ``mlmodel``, which comes with its namespace, has its pages."""
    kind = cast("Kind", str(mlmodel.kind))
    return Place(settings.HUB_URL, kind, mlmodel.full_name)
