"""Evaluation results as ``model-index`` of Hugging Face model cards (docs/hub/model-cards,
``modelcard.md``). It has no fields for confidence intervals or latencies on named hardware; the
other formats have them."""

from collections.abc import Iterable
from itertools import groupby
from typing import Any

from registry.fair.description import Description
from registry.fair.parts import QualityEvaluation
from registry.fair.serialise import drop_empty, yaml_bytes


def render(description: Description) -> bytes:
    """YAML with the key ``model-index``, for use in a card."""
    return yaml_bytes(document(description))


def document(description: Description) -> dict[str, Any]:
    """The entries of the card as its author wrote them, then one of the hub's own results.

    Readers take the name of the last entry, so the hub's entry repeats the author's name.
    """
    by_hub = [one for one in description.evaluations if one.by == "hub"]
    of_card = [one for one in description.evaluations if one.by != "hub"]
    entries: list[dict[str, Any]] = list(description.model_index)
    # Records that were stored without the card's entries have their evaluations.
    if not entries and (of_card or not by_hub):
        entries = [_entry(description.title, of_card, description)]
    if by_hub:
        name = entries[-1].get("name") if entries else None
        entries.append(_entry(name or description.title, by_hub, description))
    return {"model-index": entries}


def _entry(
    name: object, evaluations: Iterable[QualityEvaluation], description: Description
) -> dict[str, Any]:
    """Consecutive evaluations of the same task, data set and source form one result."""
    results = [
        _result(list(group), description) for _, group in groupby(evaluations, key=_result_key)
    ]
    return {"name": name, "results": results}


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
    if evaluation.by == "hub":
        return {"name": description.hub.name, "url": evaluation.url or description.hub.url}
    return drop_empty(url=evaluation.url)
