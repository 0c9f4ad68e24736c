"""Figures in a card: the Hugging Face Hub's ``model-index`` and ``co2_eq_emissions``.

Source: "Model Cards" in the Hugging Face Hub's documentation; a result names a task, a data set
and metrics, and emissions are grams.
"""

from registry.fair.card.values import CardValue
from registry.fair.parts import Emissions, Evaluation
from registry.validation.references import web_address

_FORM = (
    "Write '- name: ...' with 'results:', each with 'task: {type: ...}', "
    "'dataset: {name: ..., type: ...}' and 'metrics: [{type: ..., value: ...}]'."
)
_MAX_NAME = 300
_MAX_VALUE = 200
_GRAMS = 1000


def evaluations_of(place: CardValue) -> tuple[Evaluation, ...]:
    """The figures of a ``model-index``; what is not of its form is noted and left out."""
    if place.value is None:
        return ()
    if not isinstance(place.value, list):
        _bad(place, "must be a list")
        return ()
    found: list[Evaluation] = []
    for model in place.items():
        results = model.entry("results")
        if not isinstance(results.value, list):
            _bad(model, "has no list of results")
            continue
        for result in results.items():
            found += _of_result(result)
    return tuple(found)


def emissions_of(place: CardValue) -> Emissions | None:
    """The carbon dioxide of training; the card gives grams."""
    if place.value is None:
        return None
    amount = place.entry("emissions") if isinstance(place.value, dict) else place
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
        source=place.entry("source").text(),
        training_type=place.entry("training_type").text(),
        location=place.entry("geographical_location").text(),
        hardware=place.entry("hardware_used").text(),
    )


def _of_result(result: CardValue) -> list[Evaluation]:
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
        return []
    source = result.entry("source").entry("url").checked(web_address)
    found = []
    for metric in metrics.items():
        name = _first(metric, "type", "name")
        value = _value_of(metric.entry("value"))
        if name is None or value is None:
            _bad(metric, "needs a type and a value")
            continue
        found.append(
            Evaluation(
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
    return found


def _value_of(place: CardValue) -> float | str | None:
    if isinstance(place.value, bool | dict | list):
        return None
    if isinstance(place.value, int | float):
        return place.value
    return place.text(_MAX_VALUE)


def _first(place: CardValue, *keys: str) -> str | None:
    """The first text there is under ``keys``; a text in place of the mapping is taken, too."""
    if isinstance(place.value, str):
        return place.text(_MAX_NAME)
    texts = (place.entry(key).text(_MAX_NAME) for key in keys if place.entry(key).value)
    return next((text for text in texts if text), None)


def _bad(place: CardValue, why: str) -> None:
    place.note("model_index_form", f"{place.field} {why}.", _FORM)
