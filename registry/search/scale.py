"""Whether a hub is small enough to read all of its models within a request."""

from registry.tables import MLModel

#: Number of models and data sets up to which a hub is small.
SMALL = 1000


def is_small() -> bool:
    """Whether there are at most :data:`SMALL` models and data sets; reads as many index entries."""
    return not MLModel.objects.order_by("pk").values("pk")[SMALL : SMALL + 1].exists()
