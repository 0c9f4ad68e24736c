"""The schema of the benchmark record, and how a document gets its name."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from registry import schemas
from tests.registry.shopfloor import EXAMPLE, json_values
from workers.engine.types import Candidate


def test_the_schema_is_a_schema() -> None:
    Draft202012Validator.check_schema(schemas.bench_schema())


def test_the_example_is_valid_and_bears_its_own_name() -> None:
    path = Path(schemas.__file__).parent / "examples" / "squeezenet.json"
    document = json.loads(path.read_bytes())
    assert schemas.bench_problems(document) == {}
    assert document["record_id"] == schemas.record_id(document)


@pytest.mark.parametrize("group", ["comparison", "compile", "memory"])
def test_an_optional_group_is_left_out_never_emptied(group: str) -> None:
    document = copy.deepcopy(EXAMPLE)
    del document[group]
    assert schemas.bench_problems(document) == {}
    for nothing in (None, {}, 0):
        assert schemas.bench_problems(document | {group: nothing})


@pytest.mark.parametrize("group", schemas.bench_schema()["required"])
def test_a_required_group_must_be_there(group: str) -> None:
    document = copy.deepcopy(EXAMPLE)
    del document[group]
    assert group in schemas.bench_problems(document)["$"]


def groups() -> list[str]:
    return [name for name, value in EXAMPLE.items() if isinstance(value, dict)]


@pytest.mark.parametrize("group", groups())
def test_no_group_takes_a_field_it_does_not_know(group: str) -> None:
    document = copy.deepcopy(EXAMPLE)
    document[group]["colour"] = "red"
    assert f"$.{group}" in schemas.bench_problems(document)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("identity.kind", "regression"),
        ("identity.revision", "main"),
        ("identity.inputs", []),
        ("target.cores", 0),
        ("config.tolerance", "fp4"),
        ("samples.blocks", []),
        ("statistics.candidate", {}),
        ("comparison.verdict", "better"),
        ("comparison.ratio", 0),
        ("correctness.passed", None),
        ("provenance.created_at", "yesterday"),
    ],
)
def test_a_wrong_value_is_named_by_its_path(path: str, value: Any) -> None:
    document = copy.deepcopy(EXAMPLE)
    group, name = path.split(".")
    document[group][name] = value
    assert any(found.startswith(f"$.{path}") for found in schemas.bench_problems(document))


def test_a_comparison_needs_both_sides() -> None:
    document = copy.deepcopy(EXAMPLE)
    del document["statistics"]["baseline"]
    del document["samples"]["blocks"][0]["baseline_ns"]
    assert set(schemas.bench_problems(document)) == {"$.statistics", "$.samples.blocks[0]"}


def test_a_trial_says_which_and_a_reproduction_of_what() -> None:
    document = copy.deepcopy(EXAMPLE)
    del document["search"]
    assert schemas.bench_problems(document) == {}
    document["identity"]["kind"] = "search-trial"
    assert "search" in schemas.bench_problems(document)["$"]
    document["identity"]["kind"] = "reproduction"
    assert "reproduces" in schemas.bench_problems(document)["$.provenance"]


@given(json_values)
def test_the_canonical_form_is_stable_or_refused(value: Any) -> None:
    try:
        canonical = schemas.canonical_json(value)
    except ValueError:
        return
    again = json.loads(canonical)
    assert again == value
    assert schemas.canonical_json(again) == canonical


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs", "Cc"])), st.integers()))
def test_the_order_of_keys_does_not_matter(value: dict[str, int]) -> None:
    backwards = dict(reversed(value.items()))
    assert schemas.sha256_of(backwards) == schemas.sha256_of(value)


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), -0.0, 1e16, -1e300, "\0", {"\0": 1}, "\ud800"]
)
def test_what_stores_do_not_give_back_has_no_canonical_form(value: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        schemas.canonical_json([{"x": value}])


def test_the_engine_names_configurations_as_the_registry_does() -> None:
    candidate = Candidate("onnxruntime", {"é": "ü", "b": 0.1, "a": True})
    assert candidate.sha256 == schemas.sha256_of(candidate.as_dict())


def test_an_artefact_is_named_by_paths_and_digests_in_any_order() -> None:
    files = {"b": "1" * 64, "a": "2" * 64}
    assert schemas.artifact_sha256(files) == schemas.artifact_sha256(dict(sorted(files.items())))
    assert schemas.artifact_sha256(files) != schemas.artifact_sha256({"a": "1" * 64, "b": "2" * 64})
