"""The Hugging Face Hub's ``model-index``: figures of quality in the form its cards hold them.

Source: the model card specification (docs/hub/model-cards, ``modelcard.md``). It has no place for
an interval or for a time on named hardware; those stand in the other formats.
"""

from itertools import groupby
from typing import Any

from registry.fair.absent import known
from registry.fair.description import Description
from registry.fair.parts import Evaluation
from registry.fair.yamltext import dump


def render(description: Description) -> bytes:
    """YAML with the one key ``model-index``, to be put into a card."""
    return dump(document(description))


def document(description: Description) -> dict[str, Any]:
    """One entry with a result for each task, data set and source.

    Those that follow each other with the same three are one result with several metrics.
    """
    return {
        "model-index": [
            {
                "name": description.title,
                "results": [
                    _result(list(group), description)
                    for _, group in groupby(description.evaluations, key=_place)
                ],
            }
        ]
    }


def _place(evaluation: Evaluation) -> tuple[object, ...]:
    return (
        evaluation.task,
        evaluation.dataset,
        evaluation.dataset_config,
        evaluation.split,
        evaluation.by,
        evaluation.url,
    )


def _result(evaluations: list[Evaluation], description: Description) -> dict[str, Any]:
    first = evaluations[0]
    return known(
        task={"type": first.task},
        dataset=known(
            name=first.dataset,
            type=first.dataset,
            config=first.dataset_config,
            split=first.split,
        ),
        metrics=[{"type": one.metric, "value": one.value} for one in evaluations],
        source=_source(first, description),
    )


def _source(evaluation: Evaluation, description: Description) -> dict[str, str]:
    """Where the figure is shown. The Hub refuses a source that has a name and no address."""
    if not evaluation.url:
        return {}
    name = description.hub.name if evaluation.by == "hub" else None
    return known(name=name, url=evaluation.url)
