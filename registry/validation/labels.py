"""Labels of models and data sets, drawn from cards and files; lists are filtered by them.

They are the ``tags`` of the Hugging Face protocol, as its clients spell them: a library, a task or
a language by its bare name, others with a prefix (``dataset:mnist``). The card's ``tags`` are
labels, too.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hpcfair.formats import FORMATS
from registry.states import RepositoryKind
from registry.validation.architectures import loader_of
from registry.validation.card import texts_of
from registry.validation.texts import unseen

MAX_LABEL = 200
MAX_LABELS = 500

#: Files that only one library writes; the first existing one decides.
LIBRARY_FILES = {
    "modules.json": "sentence-transformers",
    "adapter_config.json": "peft",
    "model_index.json": "diffusers",
}
#: Keys of a data set's card whose values are labels with the key as prefix.
_DATASET_KEYS = (
    *("task_categories", "task_ids", "language", "multilinguality", "size_categories"),
    *("annotations_creators", "language_creators", "source_datasets"),
)


@dataclass(frozen=True, slots=True)
class LabelValue:
    """A label of an MLModel or data set.

    Attributes:
        kind: ``library``, ``format``, ``pipeline_tag``, ``language``, ``license``, ``dataset``, a
            key of a data set's card, or ``other``.
    """

    kind: str
    value: str


def labels_of(
    kind: RepositoryKind | str,
    card: Mapping[str, Any],
    paths: Iterable[str],
    config: Mapping[str, Any],
) -> list[LabelValue]:
    """All labels with distinct values.

    Args:
        card: The card's values.
        paths: Paths of all files.
        config: See :func:`registry.selectors.repository.contents.config_of`.
    """
    names = list(paths)
    if kind == RepositoryKind.DATASET:
        labels = [
            LabelValue(key, f"{key}:{text}") for key in _DATASET_KEYS for text in _texts(card, key)
        ]
        labels += _others(_texts(card, "tags"))
    else:
        labels = _labels_of_model(card, names, config)
    # In the spelling of the card, not of SPDX, because clients search so.
    labels += [LabelValue("license", f"license:{text.lower()}") for text in _texts(card, "license")]
    unique: dict[str, LabelValue] = {}
    for label in labels:
        if 0 < len(label.value) <= MAX_LABEL and not unseen(label.value):
            unique.setdefault(label.value, label)
    return list(unique.values())[:MAX_LABELS]


def library_of(card: Mapping[str, Any], paths: Iterable[str], config: Mapping[str, Any]) -> str:
    """The library of the card, else that of the files, else ""."""
    declared = " ".join(_texts(card, "library_name"))
    if declared:
        return declared
    names = set(paths)
    by_file = next((library for name, library in LIBRARY_FILES.items() if name in names), "")
    return by_file or ("transformers" if loader_of(config)[0] else "")


def task_of(card: Mapping[str, Any], config: Mapping[str, Any]) -> str:
    """The task of the card, else that of the architecture, else ""."""
    return " ".join(_texts(card, "pipeline_tag")) or loader_of(config)[1]


def _labels_of_model(
    card: Mapping[str, Any], paths: list[str], config: Mapping[str, Any]
) -> list[LabelValue]:
    formats = [
        file_format.label for file_format in FORMATS if any(map(file_format.is_labelled, paths))
    ]
    if any("tfevents" in path for path in paths):
        formats.append("tensorboard")
    return [
        LabelValue("library", library_of(card, paths, config)),
        *(LabelValue("format", name) for name in formats),
        *_others([str(config.get("model_type", ""))]),
        LabelValue("pipeline_tag", task_of(card, config)),
        *(LabelValue("language", text) for text in _texts(card, "language")),
        *_others(_texts(card, "tags")),
        *(LabelValue("dataset", f"dataset:{text}") for text in _texts(card, "datasets")),
        *_others(f"base_model:{text}" for text in _texts(card, "base_model")),
    ]


def _others(values: Iterable[str]) -> list[LabelValue]:
    return [LabelValue("other", value) for value in values]


def _texts(card: Mapping[str, Any], key: str) -> list[str]:
    return texts_of(card.get(key))
