"""The ``model-index`` export is what the card's author wrote; results of the hub stand apart."""

import json
from dataclasses import replace
from typing import Any

import pytest
import yaml
from huggingface_hub import ModelCardData
from huggingface_hub.repocard_data import (
    EvalResult,
    eval_results_to_model_index,
    model_index_to_eval_results,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.fair import modelindex
from registry.fair.card.card import read
from registry.fair.description import Description
from registry.fair.freeze import dump, load
from registry.fair.parts import QualityEvaluation
from registry.fair.serialise import yaml_bytes
from registry.fair.withdrawal import withdrawn
from registry.validation.card import parse
from tests.registry.fair.samples import EVERY, LEAST, MOST

TEXTS = st.text(st.characters(exclude_categories=("C", "Zl", "Zp")), min_size=1, max_size=30).map(
    lambda text: text if text.strip() else "x"
)
NUMBERS = st.integers(-(10**15), 10**15) | st.floats(allow_nan=False, allow_infinity=False)
ARGS = st.dictionaries(
    TEXTS, TEXTS | NUMBERS | st.booleans() | st.lists(NUMBERS, max_size=2), min_size=1, max_size=3
)
SOURCES = st.fixed_dictionaries(
    {"url": st.just("https://example.org/leaderboard")}, optional={"name": TEXTS}
)
RESULTS = st.fixed_dictionaries(
    {
        "task": st.fixed_dictionaries({"type": TEXTS}, optional={"name": TEXTS}),
        "dataset": st.fixed_dictionaries(
            {"name": TEXTS, "type": TEXTS},
            optional={"config": TEXTS, "split": TEXTS, "revision": TEXTS, "args": ARGS},
        ),
        "metrics": st.lists(
            st.fixed_dictionaries(
                {"type": TEXTS, "value": NUMBERS | TEXTS},
                optional={
                    "name": TEXTS,
                    "config": TEXTS,
                    "args": ARGS,
                    "verified": st.booleans(),
                    "verifyToken": TEXTS,
                },
            ),
            min_size=1,
            max_size=3,
        ),
    },
    optional={"source": SOURCES},
)
INDICES = st.lists(
    st.fixed_dictionaries({"name": TEXTS, "results": st.lists(RESULTS, min_size=1, max_size=3)}),
    min_size=1,
    max_size=2,
)
BY_HUB = MOST.evaluations[2]


def described(index: list[Any], *more: QualityEvaluation) -> Description:
    """A model with ``index`` in its card, stored and read again."""
    facts = read(parse(b"---\n%b---\n" % yaml_bytes({"model-index": index})))
    evaluations = (*facts.evaluations, *more)
    whole = replace(LEAST, model_index=facts.model_index, evaluations=evaluations)
    return load(json.loads(json.dumps(dump(whole), allow_nan=False)))


def exported(description: Description) -> list[Any]:
    entries: list[Any] = yaml.safe_load(modelindex.render(description))["model-index"]
    return entries


@given(INDICES)
@settings(max_examples=60)
def test_what_the_card_has_is_exported_as_written(index: list[Any]) -> None:
    assert exported(described(index)) == index
    *own, of_hub = exported(described(index, BY_HUB))
    assert own == index
    assert [one["source"]["name"] for one in of_hub["results"]] == [LEAST.hub.name]


@given(INDICES.map(lambda index: index[:1]))
@settings(max_examples=30)
def test_the_stock_client_reads_the_results_that_it_wrote(index: list[Any]) -> None:
    name, results = model_index_to_eval_results(index)
    written = eval_results_to_model_index(name, results)
    assert model_index_to_eval_results(exported(described(written))) == (
        name,
        model_index_to_eval_results(written)[1],
    )


def test_a_result_with_every_field_comes_back() -> None:
    result = EvalResult(
        task_type="image-classification", task_name="Sorting", dataset_type="lab/zoo",
        dataset_name="Zoo (test part)", dataset_config="full", dataset_split="test",
        dataset_revision="5503434ddd753f426f4b38109466949a1217c2bb", dataset_args={"fold": 2},
        metric_type="f1", metric_value="20.0 \u00b1 1.2", metric_name="Macro F1",
        metric_config="macro", metric_args={"average": "macro"}, verified=False,
        verify_token="token", source_name="A leaderboard", source_url="https://example.org/board",
    )  # fmt: skip
    index = eval_results_to_model_index("Galaxies", [result])
    assert model_index_to_eval_results(exported(described(index))) == ("Galaxies", [result])


def test_malformed_results_are_left_out() -> None:
    metric = {"type": "f1", "value": 0.5}
    result = {"task": {"type": "a"}, "dataset": {"name": "b", "type": "c"}, "metrics": [metric]}
    bad = [{"task": {"type": "a"}}, result | {"metrics": [metric, {"type": "f1"}]}, "text"]
    index = [{"name": "x", "results": [result, *bad]}, {"name": "y"}, "text"]
    assert exported(described(index)) == [{"name": "x", "results": [result, result]}]


@pytest.mark.parametrize("name", ["least", "most", "withdrawn"])
def test_the_stock_client_reads_records_that_were_stored_without_the_entries(name: str) -> None:
    results = ModelCardData(**{"model-index": exported(EVERY[name])}).eval_results or []
    assert [
        (one.task_type, one.dataset_name, one.metric_type, one.metric_value) for one in results
    ] == [(one.task, one.dataset, one.metric, one.value) for one in EVERY[name].evaluations]


def test_results_of_the_hub_name_it_and_stand_in_an_entry_of_their_own() -> None:
    of_card, of_hub = exported(MOST)
    first, other = of_card["results"]
    assert other["source"] == {"url": MOST.evaluations[1].url}
    assert "source" not in first
    assert first["dataset"]["split"] == "test"
    (measured,) = of_hub["results"]
    assert measured["source"] == {"name": "Example Hub", "url": BY_HUB.url}
    more = replace(BY_HUB, metric="f1", value="high")
    joined = exported(replace(MOST, evaluations=(*MOST.evaluations, more)))[1]["results"]
    assert joined[0]["metrics"] == [
        {"type": "accuracy", "value": 0.98},
        {"type": "f1", "value": "high"},
    ]
    (gone,) = exported(withdrawn(MOST, None))[1]["results"]
    assert gone["source"] == {"name": "Example Hub", "url": MOST.hub.url}
