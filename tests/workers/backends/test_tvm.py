"""Builds for TVM: shapes, schedules, a confined build, and what the runtime refuses."""

import json
import os
import shutil
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from hpcfair.errors import BadConfig, BadInput, RuntimeFailed
from hpcfair.runtimes import registry
from tests.programs import needs
from tests.workers.backends.schedules import write_records
from workers.backends.tvm.backend import TvmBackend
from workers.backends.tvm.targets import target_of
from workers.engine.errors import BackendUnavailable, InvalidCandidate
from workers.engine.local import LocalDevice
from workers.engine.random_inputs import random_inputs
from workers.engine.requests import TuningRequest
from workers.engine.types import BuildResult, Network, TargetSpec
from workers.testing import networks
from workers.testing.backend_contract import this_target

pytestmark = [needs("cc"), pytest.mark.slow]

TARGET = this_target()


def build(network: Network, out: Path, **options: str) -> BuildResult:
    backend = TvmBackend()
    out.mkdir()
    chosen = {**backend.default(network, TARGET), **options}
    return backend.build(network, TARGET, chosen, out)


def runtime_of(built: BuildResult) -> Any:
    assert built.directory is not None
    path = built.directory / built.entry_point
    return registry.open(built.runtime, path, built.runtime_options)


def network(*nodes: Any, shape: tuple[int | str, ...] = ("N", 4)) -> ModelProto:
    """``float32[shape] -> float32[shape]`` from ``x`` to ``y``."""
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_an_image_is_resized_for_any_number_of_rows(tmp_path: Path) -> None:
    pixels = numpy_helper.from_array(np.array([4, 4]))
    nodes = [
        helper.make_node("Shape", ["x"], ["rows"], start=0, end=2),
        helper.make_node("Constant", [], ["pixels"], value=pixels),
        helper.make_node("Concat", ["rows", "pixels"], ["sizes"], axis=0),
        helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], mode="nearest"),
    ]
    model = network(*nodes, shape=("N", 1, 2, 2))
    del model.graph.output[0].type.tensor_type.shape.dim[2:]
    for _ in range(2):
        model.graph.output[0].type.tensor_type.shape.dim.add().dim_value = 4
    built = build(networks.write(model, tmp_path / "model"), tmp_path / "build", shapes="open")
    assert built.outcome == "measured", built.detail
    x = np.arange(12, dtype=np.float32).reshape(3, 1, 2, 2)
    with closing(runtime_of(built)) as runtime:
        y = runtime.run({"x": x})["y"]
    np.testing.assert_array_equal(y, x.repeat(2, axis=2).repeat(2, axis=3))


def test_what_depends_on_sizes_only_is_constant_for_fixed_sizes(tmp_path: Path) -> None:
    constants = {
        "one": np.ones((1, 1), np.float32),
        "any": np.array([-1]),
        "ones": np.array([1, 1]),
    }
    nodes = [
        helper.make_node("Constant", [], [name], value=numpy_helper.from_array(value))
        for name, value in constants.items()
    ]
    nodes += [
        helper.make_node("Shape", ["x"], ["sizes"]),
        helper.make_node("Equal", ["sizes", "any"], ["is_any"]),
        helper.make_node("Where", ["is_any", "ones", "sizes"], ["shape"]),
        helper.make_node("Expand", ["one", "shape"], ["mask"]),
        helper.make_node("Add", ["x", "mask"], ["y"]),
    ]
    built = build(
        networks.write(network(*nodes), tmp_path / "model"), tmp_path / "build", shapes="fixed"
    )
    assert built.outcome == "measured", built.detail
    x = np.zeros((1, 4), np.float32)
    with closing(runtime_of(built)) as runtime:
        np.testing.assert_array_equal(runtime.run({"x": x})["y"], x + 1)


@pytest.fixture(scope="module")
def dense(tmp_path_factory: pytest.TempPathFactory) -> tuple[Network, BuildResult]:
    """The dense network, built for one row. Its output has as many, under another name."""
    folder = tmp_path_factory.mktemp("dense")
    model = networks.mlp()
    model.graph.output[0].type.tensor_type.shape.dim[0].dim_param = "rows"
    network = networks.write(model, folder / "model")
    assert network.outputs[0].shape == ("rows", 10)
    return network, build(network, folder / "build", shapes="fixed")


def test_a_confined_child_compiles_links_and_runs(tmp_path: Path) -> None:
    network = networks.write(networks.mlp(), tmp_path / "model")
    backend, inputs = TvmBackend(), random_inputs(network, 1)
    (tmp_path / "scratch").mkdir()
    request = TuningRequest(network, TARGET, ("tvm",))
    with LocalDevice(request, {"tvm": backend}, tmp_path / "scratch") as device:
        built = device.build("tvm", backend.default(network, TARGET))
        assert built.outcome == "measured", built.detail
        with closing(device.open("tvm", built, "candidate", inputs)) as session:
            assert session.run(inputs)["scores"].shape == (1, 10)


def test_a_build_for_one_row_takes_rows_one_after_another(
    dense: tuple[Network, BuildResult],
) -> None:
    network, built = dense
    assert built.provenance["sizes"] == {"N": 1}
    assert built.provenance["by_row"] is True
    runtime = runtime_of(built)
    several = random_inputs(replace(network, dimensions={"N": 5}), 3)["x"]
    together = runtime.run({"x": several})["scores"]
    alone = [runtime.run({"x": several[row : row + 1]})["scores"][0] for row in range(5)]
    np.testing.assert_array_equal(together, alone)
    assert runtime.run({"x": several[:0]})["scores"].shape == (0, 10)


def test_a_row_is_copied_however_it_lies_in_memory(dense: tuple[Network, BuildResult]) -> None:
    network, built = dense
    runtime = runtime_of(built)
    row = random_inputs(network, 7)["x"]
    expected = runtime.run({"x": row})["scores"]
    scattered = np.repeat(row, 2, axis=1)[:, ::2]
    several = runtime.run({"x": np.concatenate([row + 1, scattered])})["scores"]
    np.testing.assert_array_equal(runtime.run({"x": scattered})["scores"], expected)
    np.testing.assert_array_equal(several[1:], expected)
    with pytest.raises(BadInput, match="float64"):
        runtime.run({"x": row.astype(np.float64)})
    np.testing.assert_array_equal(runtime.run({"x": row})["scores"], expected)


def test_rows_that_look_at_each_other_are_not_run_one_by_one(tmp_path: Path) -> None:
    mixing = network(helper.make_node("Softmax", ["x"], ["y"], axis=0))
    built = build(networks.write(mixing, tmp_path / "model"), tmp_path / "build", shapes="fixed")
    assert built.provenance["by_row"] is False
    with pytest.raises(BadInput, match=r"dimension 0 must be 1"):
        runtime_of(built).run({"x": np.ones((2, 4), np.float32)})


def test_a_size_that_was_baked_in_is_required(tmp_path: Path) -> None:
    network = networks.write(networks.transformer(), tmp_path / "model")
    network = replace(network, dimensions={"S": 6})
    built = build(network, tmp_path / "build", shapes="fixed")
    runtime = runtime_of(built)
    assert runtime.run({"ids": np.ones((2, 6), np.int64)})["scores"].shape == (2, 10)
    with pytest.raises(BadInput, match="dimension 1 must be 6"):
        runtime.run({"ids": np.ones((2, 7), np.int64)})


def test_an_index_outside_a_table_reads_no_other_memory(tmp_path: Path) -> None:
    network = networks.write(networks.transformer(), tmp_path / "model")
    runtime = runtime_of(build(network, tmp_path / "build"))
    last = runtime.run({"ids": np.full((1, 3), 99)})["scores"]
    beyond = runtime.run({"ids": np.full((1, 3), 10**12)})["scores"]
    np.testing.assert_array_equal(beyond, last)


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (helper.make_node("Relu", ["x"], ["y"]), [np.nan, np.inf, 0, 1]),
        (helper.make_node("Clip", ["x", "low", "high"], ["y"]), [np.nan, 6, -2, 1]),
        (helper.make_node("Clip", ["x", "", "high"], ["y"]), [np.nan, 6, -np.inf, 1]),
    ],
)
def test_what_limits_values_hands_nan_on(node: Any, expected: list[float], tmp_path: Path) -> None:
    model = network(node)
    for name, value in (("low", -2), ("high", 6)):
        model.graph.initializer.append(numpy_helper.from_array(np.array(value, np.float32), name))
    written = networks.write(model, tmp_path / "model")
    given = np.array([[np.nan, np.inf, -np.inf, 1]], np.float32)
    outputs = runtime_of(build(written, tmp_path / "build")).run({"x": given})
    np.testing.assert_array_equal(outputs["y"], [expected])


def test_an_output_is_the_callers_own(dense: tuple[Network, BuildResult]) -> None:
    network, built = dense
    runtime = runtime_of(built)
    inputs = random_inputs(network, 5)
    first = runtime.run(inputs)["scores"]
    before = first.copy()
    runtime.run({"x": inputs["x"] + 1})
    np.testing.assert_array_equal(first, before)
    first[:] = 0


def test_threads_soon_rest_unless_somebody_wants_otherwise(
    dense: tuple[Network, BuildResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TVM_THREAD_POOL_SPIN_COUNT", raising=False)
    runtime_of(dense[1]).close()
    assert 0 < int(os.environ["TVM_THREAD_POOL_SPIN_COUNT"]) < 100_000
    monkeypatch.setenv("TVM_THREAD_POOL_SPIN_COUNT", "300000")
    runtime_of(dense[1]).close()
    assert os.environ["TVM_THREAD_POOL_SPIN_COUNT"] == "300000"


def test_the_passes_that_ran_are_timed(dense: tuple[Network, BuildResult]) -> None:
    provenance = dense[1].provenance
    assert set(provenance["passes"]) <= provenance["pass_s"].keys()
    assert {"import", "codegen", "link"} <= provenance["pass_s"].keys()
    assert provenance["precisions"] == {"float32": 3}


def test_schedules_are_used_where_the_ticket_brings_some(tmp_path: Path) -> None:
    from workers.backends.tvm.database import DatabaseRecord  # noqa: PLC0415  heavy

    network = networks.write(networks.mlp(), tmp_path / "model")
    assert "schedules" not in TvmBackend().space(network, TARGET).parameters
    file = tmp_path / "model" / "schedules.jsonl"
    write_records(file, [DatabaseRecord("0" * 64, [[], []], 1.0)])
    network = replace(network, schedules_path=file)
    built = build(network, tmp_path / "build", shapes="fixed", schedules="database")
    assert built.provenance["schedules"] == {}
    assert len(built.provenance["schedules_sha256"]) == 64


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"threads": "most"}, "threads cannot be 'most'"),
        ({"streams": 2}, "has no option 'streams'"),
    ],
)
def test_unknown_options_are_refused(
    dense: tuple[Network, BuildResult], options: dict[str, Any], reason: str
) -> None:
    with pytest.raises(BadConfig, match=reason):
        runtime_of(replace(dense[1], runtime_options=options))


@pytest.mark.parametrize("damage", ["library", "signature", "no signature"])
def test_broken_files_are_refused(
    dense: tuple[Network, BuildResult], tmp_path: Path, damage: str
) -> None:
    assert dense[1].directory is not None
    folder = shutil.copytree(dense[1].directory, tmp_path / "build")
    match damage:
        case "library":
            (folder / "model.so").write_bytes(b"\x7fELF, and nothing else")
        case "signature":
            (folder / "signature.json").write_text("{}")
        case _:
            (folder / "signature.json").unlink()
    with pytest.raises(RuntimeFailed, match=r"TVM cannot open model\.so") as caught:
        runtime_of(replace(dense[1], directory=folder))
    assert str(tmp_path) not in str(caught.value)


def test_a_closed_build_does_not_run(dense: tuple[Network, BuildResult]) -> None:
    runtime = runtime_of(dense[1])
    runtime.close()
    runtime.close()
    with pytest.raises(RuntimeFailed, match="closed"):
        runtime.run(random_inputs(dense[0], 1))


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (network(helper.make_node("Relu", ["x"], ["y"], domain="ai.nobody")), "operator Relu"),
        (network(helper.make_node("StringNormalizer", ["x"], ["y"])), "StringNormalizer"),
        (network(helper.make_node("Relu", ["x"], ["y"]), shape=("...",)), "number of dimensions"),
    ],
)
def test_what_tvm_cannot_take_is_named(model: ModelProto, reason: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidCandidate, match=reason):
        build(networks.write(model, tmp_path / "model"), tmp_path / "build")


def test_a_target_says_what_its_machines_promise_and_no_more() -> None:
    wide = TargetSpec("x", "x86-64", frozenset({"avx2", "avx512f", "avx512_vnni"}), 4, None)
    assert target_of(wide, "O2") == {
        "kind": "llvm",
        "mcpu": "x86-64-v4",
        "mattr": ["+avx512vnni"],
        "num-cores": 4,
        "opt-level": 2,
    }
    arm = TargetSpec("a", "arm64", frozenset({"asimd", "asimddp"}), 4, None)
    assert target_of(arm)["mattr"] == ["+neon", "+dotprod"]
    riscv = target_of(replace(arm, architecture="riscv64"))
    assert (riscv["mcpu"], riscv["mabi"]) == ("generic-rv64", "lp64d")
    assert riscv["mattr"] == ["+m", "+a", "+f", "+d", "+c"]
    with pytest.raises(InvalidCandidate, match="s390x"):
        target_of(replace(arm, architecture="s390x"))
    with pytest.raises(InvalidCandidate, match="O9"):
        target_of(arm, "O9")


def test_without_a_linker_the_backend_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(BackendUnavailable, match=r"g\+\+"):
        TvmBackend().probe(TARGET)


def test_a_signature_says_what_the_library_takes(dense: tuple[Network, BuildResult]) -> None:
    assert dense[1].directory is not None
    document = json.loads((dense[1].directory / "signature.json").read_text())
    assert document["inputs"] == [{"name": "x", "dtype": "float32", "shape": ["N", 8]}]
