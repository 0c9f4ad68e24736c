"""Evaluation results as ``model-index`` of Hugging Face model cards (docs/hub/model-cards,
``modelcard.md``). It has no fields for confidence intervals or latencies on named hardware; the
other formats have them."""

from itertools import groupby
from typing import Any

from registry.fair.description import Description
from registry.fair.parts import QualityEvaluation
from registry.fair.serialise import drop_empty, yaml_bytes


def render(description: Description) -> bytes:
    """YAML with the key ``model-index``, for use in a card."""
    return yaml_bytes(document(description))


def document(description: Description) -> dict[str, Any]:
    """One entry; consecutive evaluations of the same task, data set and source form one result."""
    return {
        "model-index": [
            {
                "name": description.title,
                "results": [
                    _result(list(group), description)
                    for _, group in groupby(description.evaluations, key=_result_key)
                ],
            }
        ]
    }


def _result_key(evaluation: QualityEvaluation) -> tuple[object, ...]:
    return (
        evaluation.task,
        evaluation.dataset,
        evaluation.dataset_config,
        evaluation.split,
        evaluation.by,
        evaluation.url,
    )


def _result(evaluations: list[QualityEvaluation], description: Description) -> dict[str, Any]:
    first = evaluations[0]
    return drop_empty(
        task={"type": first.task},
        dataset=drop_empty(
            name=first.dataset, type=first.dataset, config=first.dataset_config, split=first.split
        ),
        metrics=[{"type": one.metric, "value": one.value} for one in evaluations],
        source=_source(first, description),
    )


def _source(evaluation: QualityEvaluation, description: Description) -> dict[str, str]:
    """The source of a result; the Hugging Face Hub rejects sources with a name but no address."""
    if not evaluation.url:
        return {}
    name = description.hub.name if evaluation.by == "hub" else None
    return drop_empty(name=name, url=evaluation.url)
