"""Every operator ONNX defines, by the models ONNX tests them with.

Composite operators come twice there, as themselves and written out in simpler ones: both must cost
the same, which checks our formulas against ONNX's own definitions.
"""

import warnings

import pytest

from registry.tickets import GraphFacts
from tests.workers.inspection.conftest import facts_of
from workers.inspection.errors import InspectionError

pytestmark = pytest.mark.slow

#: Written out, the number of rounds of these depends on values, not on shapes.
OPEN_WHEN_WRITTEN_OUT = ("affine_grid", "nonpad_decode", "linear_attention")


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, GraphFacts | InspectionError]:
    with warnings.catch_warnings():
        # Generating test data divides by zero on purpose.
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases  # noqa: PLC0415

        cases = collect_testcases(None)
    folder = tmp_path_factory.mktemp("operators")
    found: dict[str, GraphFacts | InspectionError] = {}
    for case in cases:
        if case.model is None:
            continue
        (folder / "model.onnx").write_bytes(case.model.SerializeToString())
        try:
            found[case.name] = facts_of(folder, "model.onnx")
        except InspectionError as error:
            found[case.name] = error
    return found


def test_all_are_described_but_those_of_ancient_operator_sets(
    facts: dict[str, GraphFacts | InspectionError],
) -> None:
    refused = {name: error for name, error in facts.items() if isinstance(error, InspectionError)}
    assert len(facts) > 1500
    assert {error.code for error in refused.values()} <= {"operator_unsupported"}
    assert all("oldest read here" in error.detail for error in refused.values())
    assert len(refused) < 10


def test_composite_operators_cost_what_they_are_made_of(
    facts: dict[str, GraphFacts | InspectionError],
) -> None:
    compared = 0
    for name, whole in facts.items():
        parts = facts.get(f"{name}_expanded", facts.get(f"{name}_expanded_ver26"))
        if isinstance(whole, GraphFacts) and isinstance(parts, GraphFacts):
            if any(part in name for part in OPEN_WHEN_WRITTEN_OUT):
                continue
            assert whole.macs == parts.macs, name
            compared += bool(whole.macs)
    assert compared > 100
