"""Facts, builds and creation of models."""

from typing import Any

from hpcfair.acceptance import Acceptance
from hpcfair.errors import Conflict
from hpcfair.paths import checked_name
from hpcfair.scenarios import SINGLE_STREAM, Scenario
from hpcfair.transport import Transport, pages, quoted
from hpcfair.types import Build, Finding, MLModel


def address(name: str) -> str:
    """The API path of ``namespace/name``. Raises BadInput if it is not the name of a model."""
    return f"/api/v1/models/{quoted(checked_name(name))}"


def info(http: Transport, name: str) -> MLModel:
    """Everything that the hub states about a model. Raises ModelNotFound if it does not exist, or
    is private."""
    answer = http.get(address(name))
    return MLModel.from_json(with_files(http, name, answer, answer.get("revision")))


def with_files(
    http: Transport, name: str, answer: dict[str, Any], oid: str | None
) -> dict[str, Any]:
    """``answer``, the JSON of a model or a revision with the commit id ``oid``, with all files: of
    many, the hub sends only the first."""
    if not answer.get("files_next"):
        return answer
    return {**answer, "files": list(pages(http, f"{address(name)}/files", {"revision": oid}))}


def ensure(http: Transport, name: str, *, visibility: str | None = None) -> None:
    """Create the model if it does not exist. An existing one keeps its visibility.

    ``visibility`` ``None`` is the default of the namespace.
    """
    namespace, _, short = checked_name(name).partition("/")
    body = {"namespace": namespace, "name": short}
    if visibility is not None:
        body["visibility"] = visibility
    try:
        http.post("/api/v1/models", body)
    except Conflict as refusal:
        if refusal.code != "model_exists":
            raise


def builds(
    http: Transport,
    name: str,
    *,
    revision: str | None = None,
    target: str | None = None,
    acceptance: Acceptance | None = None,
    scenario: Scenario = SINGLE_STREAM,
) -> list[Build]:
    """Published builds of a revision in a scenario, by target, fastest first; within limits if
    there are any."""
    limits = acceptance.to_json() if acceptance else {}
    # An older hub knows no scenarios.
    others = {} if scenario == SINGLE_STREAM else {"scenario": scenario}
    query = {"revision": revision, "target": target, **limits, **others}
    answer = http.get(f"{address(name)}/builds", query)
    return [Build.from_json(item) for item in answer["items"]]


def findings(http: Transport, name: str, revision: str | None = None) -> tuple[Finding, ...]:
    """Findings in the README.md of a revision, with lines."""
    document = http.get(f"{address(name)}/findings", {"revision": revision})
    return tuple(Finding.from_json(item) for item in document["items"])
