"""Data sets: search, and the models trained on them.

Data sets are few beside models, so a database query searches them rather than the index.
"""

from django.conf import settings
from django.db.models import Exists, F, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Concat

from registry.errors import Invalid
from registry.fair.addresses import RepositoryAddress
from registry.selectors.access import Actor, readable_repositories
from registry.selectors.fair.identifier import ark_of, pid_url
from registry.states import IdentifierKind, RepositoryKind
from registry.tables import Identifier, Label, MLModel, Namespace, Tag
from registry.validation.texts import unseen

_MOST_WORDS = 12
_SEARCHED = ("full", "title", "description", "license", "task")


def datasets_matching(
    actor: Actor, query: str = "", *, namespace: Namespace | None = None
) -> QuerySet[MLModel]:
    """The readable data sets that contain every word of ``query``.

    Name, title, description, license, task and tags are searched. Raises ``Invalid``:
    ``invalid_query``.
    """
    words = query.split()
    if len(words) > _MOST_WORDS or unseen(query):
        raise Invalid("invalid_query", f"Search by at most {_MOST_WORDS} plain words.")
    rows = readable_repositories(actor).filter(kind=RepositoryKind.DATASET)
    if namespace is not None:
        rows = rows.filter(namespace=namespace)
    rows = rows.annotate(full=Concat(F("namespace__name"), Value("/"), F("name")))
    for word in words:
        contains = Q(Exists(Tag.objects.filter(mlmodel=OuterRef("pk"), value__icontains=word)))
        for column in _SEARCHED:
            contains |= Q(**{f"{column}__icontains": word})
        rows = rows.filter(contains)
    return rows.select_related("namespace").prefetch_related("tags")


def models_with(actor: Actor, dataset: MLModel, most: int) -> tuple[list[MLModel], bool]:
    """The newest readable models whose newest version was trained on ``dataset``, at most ``most``.

    Returns the models with their namespaces, and whether these are all. Cards refer to a data set
    by its name, its address or its identifier. Makes three queries. ``dataset`` comes with its
    namespace.
    """
    address = RepositoryAddress(settings.HUB_URL, "dataset", dataset.full_name)
    names = Identifier.objects.filter(mlmodel=dataset, kind=IdentifierKind.CONCEPT)
    references = [dataset.full_name, address.concept]
    for name in names.values_list("name", flat=True):
        references += [ark_of(name), pid_url(name)]
    labels = Label.objects.filter(value__in=[f"dataset:{one}" for one in references])
    rows = (
        readable_repositories(actor)
        .filter(kind=RepositoryKind.MODEL, pk__in=labels.values("mlmodel"))
        .select_related("namespace")
        .order_by("-updated_at", "-pk")
    )
    models = list(rows[: most + 1])
    return models[:most], len(models) <= most
