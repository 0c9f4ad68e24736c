"""Facts, creation and deletion of models."""

from hpcfair.errors import Conflict
from hpcfair.paths import checked_name
from hpcfair.transport import Transport, quoted
from hpcfair.types import MLModel


def address(name: str) -> str:
    """The API path of ``namespace/name``.

    Raises:
        BadInput: it is not the name of a model.
    """
    return f"/api/v1/models/{quoted(checked_name(name))}"


def info(http: Transport, name: str) -> MLModel:
    """Everything that the hub states about a model.

    Raises:
        ModelNotFound: it does not exist, or is private.
    """
    return MLModel.from_json(http.get(address(name)))


def ensure(http: Transport, name: str, *, visibility: str) -> None:
    """Create the model if it does not exist. An existing one keeps its visibility."""
    namespace, _, short = checked_name(name).partition("/")
    body = {"namespace": namespace, "name": short, "visibility": visibility}
    try:
        http.post("/api/v1/models", body)
    except Conflict as refusal:
        if refusal.code != "model_exists":
            raise


def delete(http: Transport, name: str) -> None:
    """Delete a model with all its revisions, builds and records."""
    http.json("DELETE", address(name))
