"""``model-index`` of cards: the form that clients of the Hugging Face Hub can read."""

import copy
from typing import Any

import pytest
from huggingface_hub import EvalResult
from huggingface_hub.repocard_data import eval_results_to_model_index, model_index_to_eval_results

from registry.errors import Invalid
from registry.states import RepositoryKind
from registry.validation.card import parse
from registry.validation.card_faults import card_faults
from registry.validation.model_index import check_model_index
from tests.factories import readme

RESULT = {
    "task": {"type": "image-classification"},
    "dataset": {"name": "Galaxies", "type": "lab/galaxies"},
    "metrics": [{"type": "accuracy", "value": 0.9}],
}
INDEX = [{"name": "net", "results": [RESULT]}]


def index_with(path: list[Any], value: Any) -> Any:
    """:data:`INDEX` with another value at ``path``; without it for ``...``."""
    index: Any = copy.deepcopy(INDEX)
    parent = index
    for step in path[:-1]:
        parent = parent[step]
    if value is ...:
        del parent[path[-1]]
    else:
        parent[path[-1]] = value
    return index


def errors_of(index: Any, kind: RepositoryKind = RepositoryKind.MODEL) -> list[str]:
    """The errors of a card with this ``model-index``."""
    return card_faults(readme(**{"model-index": index}), kind)[0]


@pytest.mark.parametrize(
    "index",
    [
        INDEX,
        None,
        [],
        [{"name": "net", "results": []}],
        index_with([0, "name"], 2012),
        index_with([0, "results", 0, "metrics", 0, "value"], "20.90"),
        index_with([0, "results", 0, "source"], {"name": "Paper", "url": "https://example.org"}),
        index_with([0, "results", 0, "metrics"], []),
    ],
)
def test_a_readable_index_has_no_fault(index: Any) -> None:
    assert errors_of(index) == []


def test_what_the_client_writes_is_accepted_and_read_back() -> None:
    result = EvalResult(
        task_type="image-classification",
        dataset_type="lab/galaxies",
        dataset_name="Galaxies",
        metric_type="accuracy",
        metric_value=0.9,
        source_name="Paper",
        source_url="https://example.org",
    )
    index = eval_results_to_model_index("net", [result])

    assert errors_of(index) == []
    assert model_index_to_eval_results(index) == ("net", [result])


_IN = [0, "results", 0]


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ({"name": "net"}, '"model-index" must be an array'),
        (["net"], '"model-index[0]" must be of type object'),
        (index_with([0, "name"], ...), '"model-index[0].name" is required'),
        (index_with([0, "name"], " "), '"model-index[0].name" is not allowed to be empty'),
        (index_with([0, "results"], ...), '"model-index[0].results" is required'),
        (index_with([0, "results"], {}), '"model-index[0].results" must be an array'),
        (index_with(_IN, "best"), '"model-index[0].results[0]" must be of type object'),
        (index_with([*_IN, "task"], ...), '"model-index[0].results[0].task" is required'),
        (index_with([*_IN, "task"], {}), '"model-index[0].results[0].task.type" is required'),
        (
            index_with([*_IN, "dataset"], "Galaxies"),
            '"model-index[0].results[0].dataset" must be of type object',
        ),
        (
            index_with([*_IN, "dataset", "type"], ...),
            '"model-index[0].results[0].dataset.type" is required',
        ),
        (
            index_with([*_IN, "dataset", "name"], []),
            '"model-index[0].results[0].dataset.name" must be a string',
        ),
        (index_with([*_IN, "metrics"], ...), '"model-index[0].results[0].metrics" is required'),
        (
            index_with([*_IN, "metrics", 0, "value"], None),
            '"model-index[0].results[0].metrics[0].value" is required',
        ),
        (
            index_with([*_IN, "source"], {"name": "Paper"}),
            '"model-index[0].results[0].source.url" is required',
        ),
    ],
)
def test_a_fault_is_named_by_its_path(index: Any, message: str) -> None:
    errors = errors_of(index)

    assert len(errors) == 1
    assert errors[0].startswith("README.md, line ")
    assert errors[0].endswith(f": {message}.")
    assert errors_of(index, RepositoryKind.DATASET) == []
    with pytest.raises(Invalid, match="README"):
        check_model_index(parse(readme(**{"model-index": index}).encode()))


def test_all_faults_are_reported_with_their_lines() -> None:
    text = "---\nlicense: mit\nmodel-index:\n- name: net\n  results:\n  - task: {}\n---\n"
    errors, _ = card_faults(text)

    assert errors == [
        'README.md, line 6: "model-index[0].results[0].task.type" is required.',
        'README.md, line 6: "model-index[0].results[0].dataset" is required.',
        'README.md, line 6: "model-index[0].results[0].metrics" is required.',
    ]
    assert len(errors_of([1] * 100)) == 20
