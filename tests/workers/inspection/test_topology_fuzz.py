"""Mutants of valid models are drawn consistently, if they are described at all."""

import random
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from registry.validation.topology import check_topology
from tests.workers.inspection.mutation import mutate
from tests.workers.inspection.test_fuzz import BASES
from workers.inspection.inspect import inspect


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    base=st.sampled_from(sorted(BASES)),
    seed=st.integers(0, 2**48),
    changes=st.sampled_from([1, 1, 2, 3, 8]),
)
def test_every_mutant_that_is_described_is_drawn(
    tmp_path: Path, base: str, seed: int, changes: int
) -> None:
    mutant = mutate(BASES[base], random.Random(seed), changes)  # noqa: S311
    (tmp_path / "model.onnx").write_bytes(mutant.SerializeToString())
    (tmp_path / "out").mkdir(exist_ok=True)
    report = inspect(str(tmp_path), topologies=str(tmp_path / "out"))
    if "error" in report:
        return
    assert not [warning for warning in report["warnings"] if "cannot be drawn" in warning]
    data = (tmp_path / "out" / report["topologies"]["model.onnx"]).read_bytes()
    drawing = check_topology(data, "a" * 64, "model.onnx")
    assert drawing.nodes >= len(mutant.graph.node)
