"""Facts of machines: impossible ones are refused."""

from typing import Any

import pytest

from hpcfair import machine
from registry.errors import Invalid
from registry.validation.facts import check_facts, check_tools
from tests.registry.work.fleet import FACTS


def test_the_facts_of_this_machine_are_possible() -> None:
    facts = machine.describe().to_dict()
    assert check_facts(facts) == facts


@pytest.mark.parametrize("definition", machine.TARGETS)
def test_the_features_of_every_target_are_possible(definition: machine.TargetDefinition) -> None:
    features = ["avx", *definition.features] if "avx2" in definition.features else []
    features = features or list(definition.features)
    check_facts(
        FACTS | {"architecture": definition.architecture, "features": sorted(set(features))}
    )


@pytest.mark.parametrize(
    ("change", "field", "fault"),
    [
        ({"architecture": None}, "architecture", "must be a name such as x86-64"),
        ({"architecture": "X 86"}, "architecture", "must be a name such as x86-64"),
        ({"features": "avx2"}, "features", "must be a list of at most 200 names"),
        ({"features": ["a"] * 201}, "features", "must be a list of at most 200 names"),
        ({"features": ["fma", "fma"]}, "features", "must be different names"),
        ({"features": [3]}, "features", "must be different names"),
        ({"features": ["asimd"]}, "features", "asimd: not of x86-64"),
        ({"features": ["avx2"]}, "features", "are incomplete: avx is missing"),
        (
            {"features": ["avx", "avx2", "avx512_vnni", "fma"]},
            "features",
            "are incomplete: avx512f is missing",
        ),
        ({"features": ["emulated"]}, "features", "and is_emulated contradict each other"),
        ({"is_emulated": True}, "features", "and is_emulated contradict each other"),
        ({"is_emulated": "yes"}, "is_emulated", "must be true or false"),
        ({"cores": 0}, "cores", "must be a whole number from 1 to 65536"),
        ({"cores": True}, "cores", "must be a whole number from 1 to 65536"),
        ({"cores": 8.5}, "cores", "must be a whole number from 1 to 65536"),
        ({"cores": 17}, "cores", "must not be more than logical_cpus"),
        ({"memory_bytes": -1}, "memory_bytes", "must be a number of bytes"),
        ({"memory_bytes": 2**61}, "memory_bytes", "must be a number of bytes"),
        ({"processor": "x" * 201}, "processor", "must be a line of at most 200 characters"),
        ({"os": "two\nlines"}, "os", "must be a line of at most 200 characters"),
        ({"note": "x" * 2**16}, "facts", "are longer than 65536 bytes"),
    ],
)
def test_impossible_facts_are_refused_with_their_fault(
    change: dict[str, Any], field: str, fault: str
) -> None:
    with pytest.raises(Invalid) as caught:
        check_facts(FACTS | change)
    assert caught.value.code == "invalid_facts"
    assert caught.value.fields == {field: fault}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\0", "\ud800"])
def test_facts_must_be_storable(value: object) -> None:
    with pytest.raises(Invalid):
        check_facts(FACTS | {"load": value})


def test_unknown_facts_are_kept() -> None:
    assert check_facts(FACTS | {"colour": "grey"})["colour"] == "grey"


def test_tools_map_backends_to_names_and_versions() -> None:
    assert check_tools({}) == {}
    tools = {"onnxruntime": {"onnxruntime": "1.24.1", "python": "3.11.7"}}
    assert check_tools(tools) == tools


@pytest.mark.parametrize(
    "tools",
    [
        {"onnxruntime": "1.24"},
        {"onnxruntime": {"onnxruntime": 1.24}},
        {"ONNX Runtime": {}},
        {"onnxruntime": {"line\nbreak": "1"}},
        {f"b{number}": {} for number in range(101)},
    ],
)
def test_other_tools_are_refused(tools: dict[str, Any]) -> None:
    with pytest.raises(Invalid) as caught:
        check_tools(tools)
    assert caught.value.code == "invalid_facts"
