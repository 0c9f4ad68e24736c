"""Every operator ONNX defines, by the models ONNX tests them with.

Composite operators come twice there, as themselves and written out in simpler ones: both must cost
the same, which checks our formulas against ONNX's own definitions.
"""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from onnx.backend.test.case import base
from onnx.reference.ops import op_pool_common

from hpcfair.tickets import GraphFacts
from tests.workers.inspection.conftest import facts_of
from workers.inspection.errors import InspectionError

pytestmark = pytest.mark.slow

#: Written out, the number of rounds of these depends on values, not on shapes.
OPEN_WHEN_WRITTEN_OUT = ("affine_grid", "nonpad_decode", "linear_attention")


def shape_of_pool(padded: np.ndarray, x_shape: Sequence[int], *given: Any, **_: Any) -> np.ndarray:
    """As :func:`onnx.reference.ops.op_pool_common.pool`, but for the values."""
    out_shape = given[2]
    return np.zeros([*x_shape[:2], *out_shape], padded.dtype)


def cases() -> list[Any]:
    """Test cases of ONNX, which makes them as their modules are first imported.

    Of outputs only the shapes are wanted here: what takes ONNX longest, pooling pixel by pixel and
    quoting the cases' code for its manual, is left out.
    """
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        patch.setattr(op_pool_common, "pool", shape_of_pool)
        patch.setattr(base, "process_snippet", lambda *_: ("", ""))
        # Generating test data divides by zero on purpose.
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases  # noqa: PLC0415

        found: list[Any] = collect_testcases(None)
    return found


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, GraphFacts | InspectionError]:
    folder = tmp_path_factory.mktemp("operators")
    found: dict[str, GraphFacts | InspectionError] = {}
    for case in cases():
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
