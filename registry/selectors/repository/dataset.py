"""Reads of data sets. They are few beside models, so the database itself searches them."""

from django.db.models import Exists, F, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Concat

from registry.errors import Invalid
from registry.selectors.access import Actor, readable_repositories
from registry.states import RepositoryKind
from registry.tables import MLModel, Namespace, Tag
from registry.validation.texts import unseen

_MOST_WORDS = 12
_SEARCHED = ("full", "title", "description", "license", "task")


def datasets_matching(
    actor: Actor, query: str = "", *, namespace: Namespace | None = None
) -> QuerySet[MLModel]:
    """The data sets ``actor`` may read in which every word of ``query`` occurs somewhere: in the
    name, the title, the description, the license, the task or a tag.

    Raises:
        Invalid: ``invalid_query``.
    """
    words = query.split()
    if len(words) > _MOST_WORDS or unseen(query):
        raise Invalid("invalid_query", f"Search by at most {_MOST_WORDS} plain words.")
    rows = readable_repositories(actor).filter(kind=RepositoryKind.DATASET)
    if namespace is not None:
        rows = rows.filter(namespace=namespace)
    rows = rows.annotate(full=Concat(F("namespace__name"), Value("/"), F("name")))
    for word in words:
        found = Q(Exists(Tag.objects.filter(mlmodel=OuterRef("pk"), value__icontains=word)))
        for column in _SEARCHED:
            found |= Q(**{f"{column}__icontains": word})
        rows = rows.filter(found)
    return rows.select_related("namespace").prefetch_related("tags")
