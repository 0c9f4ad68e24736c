"""Properties of a model or a data set, by their names in the protocol."""

from collections.abc import Callable, Mapping
from typing import Any

from hub.hf.shapes import card_data, gated_of, moment, sibling
from registry.selectors.fair.derivation import children_count
from registry.selectors.repository.details import Details
from registry.selectors.repository.tree import bytes_below
from registry.states import RepositoryKind, Visibility
from registry.validation.architectures import loader_of

_TOKENIZER_FILES = {"tokenizer.json", "tokenizer_config.json", "vocab.txt", "tokenizer.model"}


def siblings(of: Details, *, blobs: bool) -> list[dict[str, Any]] | None:
    """All files, with their sizes and ids if ``blobs``; ``None`` if they are too many: clients then
    read the pages of the tree."""
    if not of.is_short:
        return None
    return list(map(sibling, of.files)) if blobs else [{"rfilename": path} for path in of.paths]


def _after(prefix: str, of: Details) -> list[str]:
    values = [label.value for label in of.labels]
    return [value.removeprefix(prefix) for value in values if value.startswith(prefix)]


def _safetensors(of: Details) -> dict[str, Any] | None:
    parameters = of.parameters
    return {"parameters": parameters, "total": sum(parameters.values())} if parameters else None


def _transformers_info(of: Details) -> dict[str, str] | None:
    """Clients accept these four keys only."""
    loader, task = loader_of(of.config)
    if not loader or of.library != "transformers":
        return None
    shape = {"auto_model": loader, "pipeline_tag": task}
    custom: Mapping[str, Any] = of.config.get("auto_map", {})
    if isinstance(custom.get(loader), str):
        shape["custom_class"] = custom[loader]
    paths = set(of.paths)
    if paths & _TOKENIZER_FILES:
        shape["processor"] = "AutoTokenizer"
    elif "preprocessor_config.json" in paths:
        shape["processor"] = "AutoProcessor"
    return shape


#: All supported properties; ``None`` is omitted.
PROPERTIES: dict[str, Callable[[Details], Any]] = {
    "author": lambda of: of.mlmodel.namespace.name,
    "sha": lambda of: of.revision.oid,
    "lastModified": lambda of: moment(of.mlmodel.updated_at),
    "createdAt": lambda of: moment(of.mlmodel.created_at),
    "private": lambda of: of.mlmodel.visibility == Visibility.PRIVATE,
    "gated": lambda of: gated_of(of.mlmodel),
    "disabled": lambda _: False,
    "downloads": lambda of: of.mlmodel.downloads,
    "downloadsAllTime": lambda of: of.mlmodel.downloads,
    "likes": lambda of: of.mlmodel.likes,
    # There is no trending score.
    "trendingScore": lambda of: of.mlmodel.likes,
    "tags": lambda of: [label.value for label in of.labels],
    "pipeline_tag": lambda of: of.task or None,
    "library_name": lambda of: of.library or None,
    "cardData": lambda of: card_data(of.revision.card) or None,
    "model-index": lambda of: card_data(of.revision.card).get("model-index"),
    "baseModels": lambda of: _after("base_model:", of) or None,
    "config": lambda of: of.config or None,
    "transformersInfo": _transformers_info,
    "safetensors": _safetensors,
    "siblings": lambda of: siblings(of, blobs=False),
    "spaces": lambda _: [],
    "usedStorage": lambda of: of.mlmodel.used_bytes,
    "description": lambda of: of.mlmodel.description or None,
    "paperswithcode_id": lambda of: of.revision.card.get("paperswithcode_id"),
    "xetEnabled": lambda _: True,
    "mainSize": lambda of: bytes_below(of.revision, ""),
    "childrenModelCount": lambda of: children_count(of.mlmodel),
    # There is no scanner.
    "securityRepoStatus": lambda _: {"scansDone": False, "filesWithIssues": []},
}
_OF_BOTH = (
    *("author", "cardData", "createdAt", "disabled", "downloads", "downloadsAllTime", "gated"),
    *("lastModified", "likes", "private", "resourceGroup", "securityRepoStatus", "sha"),
    *("siblings", "tags", "trendingScore", "usedStorage", "xetEnabled"),
)
#: Properties that may be requested. Those without an entry in PROPERTIES are omitted.
EXPANDABLE: dict[str, tuple[str, ...]] = {
    RepositoryKind.MODEL: (
        *_OF_BOTH,
        *("baseModels", "childrenModelCount", "config", "evalResults", "gguf", "inference"),
        *("inferenceProviderMapping", "library_name", "mask_token", "model-index"),
        *("pipeline_tag", "safetensors", "spaces", "transformersInfo", "widgetData"),
    ),
    RepositoryKind.DATASET: (
        *_OF_BOTH,
        *("citation", "description", "mainSize", "paperswithcode_id"),
    ),
}
