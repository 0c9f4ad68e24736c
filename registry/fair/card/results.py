"""Results in a card: ``model-index`` and ``co2_eq_emissions`` (grams). A result names a task, a
data set and metrics. Source: "Model Cards" in the Hugging Face Hub's documentation."""

from typing import Any

from registry.fair.card.values import CardValue
from registry.fair.parts import Emissions, QualityEvaluation
from registry.validation.references import web_address

_FORM = (
    "Write '- name: ...' with 'results:', each with 'task: {type: ...}', "
    "'dataset: {name: ..., type: ...}' and 'metrics: [{type: ..., value: ...}]'."
)
_MAX_NAME = 300
_MAX_VALUE = 200
_GRAMS = 1000


def results_of(
    value: CardValue,
) -> tuple[tuple[dict[str, Any], ...], tuple[QualityEvaluation, ...]]:
    """Well-formed entries of a ``model-index`` as written, and their evaluations.

    Malformed entries, results and metrics become findings and are left out of both.
    """
    if value.value is None:
        return (), ()
    if not isinstance(value.value, list):
        _bad(value, "must be a list")
        return (), ()
    entries: list[dict[str, Any]] = []
    evaluations: list[QualityEvaluation] = []
    for model in value.items():
        results = model.entry("results")
        if not isinstance(results.value, list):
            _bad(model, "has no list of results")
            continue
        read = [_of_result(result) for result in results.items()]
        entries.append(model.value | {"results": [written for written, _ in read if written]})
        evaluations += [one for _, of in read for one in of]
    return tuple(entries), tuple(evaluations)


def emissions_of(value: CardValue) -> Emissions | None:
    """Carbon dioxide equivalent of training; the card has grams."""
    if value.value is None:
        return None
    amount = value.entry("emissions") if isinstance(value.value, dict) else value
    grams = amount.number()
    if grams is None or not 0 <= grams < float("inf"):
        amount.note(
            "emissions_form",
            f"{amount.field} must be a number of grams.",
            "Write 'co2_eq_emissions: {emissions: 120}' for 120 grams.",
        )
        return None
    return Emissions(
        co2e_kg=grams / _GRAMS,
        source=value.entry("source").text(),
        training_type=value.entry("training_type").text(),
        location=value.entry("geographical_location").text(),
        hardware=value.entry("hardware_used").text(),
    )


def _of_result(result: CardValue) -> tuple[dict[str, Any], list[QualityEvaluation]]:
    """A result as written, without malformed metrics, and its evaluations; empty if malformed."""
    task = _first(result.entry("task"), "type", "name")
    dataset = _first(result.entry("dataset"), "name", "type")
    metrics = result.entry("metrics")
    for what, is_there in (
        ("task", task is not None),
        ("dataset", dataset is not None),
        ("list of metrics", isinstance(metrics.value, list)),
    ):
        if not is_there:
            _bad(result, f"has no {what}")
    if task is None or dataset is None or not isinstance(metrics.value, list):
        return {}, []
    source = result.entry("source").entry("url").checked(web_address)
    written, evaluations = [], []
    for metric in metrics.items():
        name = _first(metric, "type", "name")
        value = _value_of(metric.entry("value"))
        if name is None or value is None:
            _bad(metric, "needs a type and a value")
            continue
        written.append(metric.value)
        evaluations.append(
            QualityEvaluation(
                task=task,
                dataset=dataset,
                metric=name,
                value=value,
                by="author",
                dataset_config=result.entry("dataset").entry("config").text(_MAX_NAME),
                split=result.entry("dataset").entry("split").text(_MAX_NAME),
                url=source,
            )
        )
    return result.value | {"metrics": written}, evaluations


def _value_of(value: CardValue) -> float | str | None:
    if isinstance(value.value, bool | dict | list):
        return None
    if isinstance(value.value, int | float):
        return value.value
    return value.text(_MAX_VALUE)


def _first(value: CardValue, *keys: str) -> str | None:
    """The first text under ``keys``; a text in place of the mapping counts as well."""
    if isinstance(value.value, str):
        return value.text(_MAX_NAME)
    texts = (value.entry(key).text(_MAX_NAME) for key in keys if value.entry(key).value)
    return next((text for text in texts if text), None)


def _bad(value: CardValue, why: str) -> None:
    value.note("model_index_form", f"{value.field} {why}.", _FORM)
