"""Models whose cards name a data set."""

from django.conf import settings

from registry.fair.addresses import RepositoryAddress
from registry.selectors.access import Actor, readable_repositories
from registry.selectors.fair.identifier import ark_of, pid_url
from registry.states import IdentifierKind, RepositoryKind
from registry.tables import Identifier, Label, MLModel


def models_with(actor: Actor, dataset: MLModel, most: int) -> tuple[list[MLModel], bool]:
    """The newest models the actor may read whose newest version was trained on ``dataset``.

    By its name, its address or its identifier; three queries.

    Args:
        dataset: With its namespace.
        most: No more than so many.

    Returns:
        Them, with their namespaces, and whether these are all.
    """
    names = Identifier.objects.filter(mlmodel=dataset, kind=IdentifierKind.CONCEPT)
    called = [
        dataset.full_name,
        RepositoryAddress(settings.HUB_URL, "dataset", dataset.full_name).concept,
    ]
    called += [way(name) for name in names.values_list("name", flat=True) for way in _WAYS]
    naming = Label.objects.filter(value__in=[f"dataset:{one}" for one in called])
    rows = (
        readable_repositories(actor)
        .filter(kind=RepositoryKind.MODEL, pk__in=naming.values("mlmodel"))
        .select_related("namespace")
        .order_by("-updated_at", "-pk")
    )
    found = list(rows[: most + 1])
    return found[:most], len(found) <= most


_WAYS = (ark_of, pid_url)
