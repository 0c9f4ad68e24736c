"""Reads of MLModels."""

from registry.errors import NotFound
from registry.selectors.access import Actor, readable_mlmodels
from registry.selectors.account import named
from registry.tables import MLModel, Namespace


def mlmodel_get(actor: Actor, full_name: str) -> MLModel:
    """The MLModel ``namespace/name``, in any case.

    Raises:
        NotFound: ``model_not_found``; one the actor may not read gets the very same answer.
    """
    namespace, _, name = full_name.partition("/")
    mlmodel = (
        named(readable_mlmodels(actor), name)
        .filter(namespace__in=named(Namespace.objects.all(), namespace))
        .select_related("namespace")
        .first()
    )
    if mlmodel is None:
        raise NotFound(
            "model_not_found",
            f"There is no model {full_name[:200]!r}, or you may not read it.",
            "Check the name; sign in if it is private.",
        )
    return mlmodel
