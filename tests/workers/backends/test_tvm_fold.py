"""Constants computed ahead, all in one program."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

import workers.backends.tvm.without_torch  # noqa: F401  before TVM

# isort: split
import tvm
from hypothesis import given
from hypothesis import strategies as st
from tvm import IRModule, relax
from tvm.ir import GenericConst, assert_structural_equal

from examples.models.text import Bert
from tests.programs import needs
from workers.backends.tvm import artefact, passes
from workers.backends.tvm.importer import import_model
from workers.engine.random_inputs import open_sizes, random_inputs
from workers.testing import networks

SHAPE = (2, 3)


def run(module: IRModule, *inputs: np.ndarray) -> np.ndarray:
    """What a network answers, compiled without any of the passes here."""
    plain = passes.pipeline_of("LegalizeOps")
    for name in (*plain.body, *plain.tail):
        module = passes.make(name)(module)
    executable = relax.build(module, tvm.target.Target("llvm"), relax_pipeline=None)
    machine = relax.VirtualMachine(executable, tvm.cpu())
    result = machine["main"](*map(tvm.runtime.tensor, inputs))
    return np.asarray((result if isinstance(result, tvm.runtime.Tensor) else result[0]).numpy())


def steps(module: IRModule) -> list[str]:
    """Operators of ``main`` in order."""
    bindings = [b for block in module["main"].body.blocks for b in block.bindings]
    return [str(b.value.op.name) for b in bindings if isinstance(b.value, relax.Call)]


def network(body: object, *, shape: tuple[object, ...] = SHAPE) -> IRModule:
    """A network of one input, of what ``body`` makes of it."""
    builder = relax.BlockBuilder()
    value = relax.Var("x", relax.TensorType(shape, "float32"))
    with builder.function("main", [value]):
        with builder.dataflow():
            result = builder.emit_output(body(builder, value))  # type: ignore[operator]
        builder.emit_func_output(result)
    return builder.get()


def fold(module: IRModule) -> IRModule:
    return passes.make("FoldWeights")(module)


X = np.arange(6, dtype=np.float32).reshape(SHAPE) - 2


@given(st.lists(st.sampled_from(["add", "multiply", "subtract", "divide"]), min_size=1, max_size=5))
def test_a_chain_on_constants_becomes_its_value(chain: list[str]) -> None:
    expected = np.full(SHAPE, 3, np.float32)
    for name in chain:
        expected = getattr(np, name)(expected, np.float32(2))

    def body(builder: relax.BlockBuilder, x: relax.Var) -> relax.Expr:
        value = relax.const(np.full(SHAPE, 3, np.float32))
        for name in chain:
            value = builder.emit(getattr(relax.op, name)(value, relax.const(np.float32(2))))
        return relax.op.add(x, value)

    folded = fold(network(body))
    assert steps(folded) == ["relax.add"]
    assert np.array_equal(run(folded, X), X + expected)


def test_what_depends_on_an_input_or_is_large_and_made_of_nothing_stays() -> None:
    def body(builder: relax.BlockBuilder, x: relax.Var) -> relax.Expr:
        large = builder.emit(relax.op.zeros((2048, 2, 3), "float32"))
        small = builder.emit(relax.op.ones(SHAPE, "float32"))
        return relax.op.add(builder.emit(relax.op.add(large, small)), relax.op.exp(x))

    folded = fold(network(body))
    assert steps(folded) == ["relax.zeros", "relax.add", "relax.exp", "relax.add"]
    assert np.allclose(run(folded, X)[7], 1 + np.exp(X), rtol=1e-6)


def test_parts_of_a_tuple_of_constants_are_constants() -> None:
    def body(builder: relax.BlockBuilder, x: relax.Var) -> relax.Expr:
        parts = builder.emit(relax.op.split(relax.const(np.arange(12.0, dtype=np.float32)), 2))
        second = builder.emit(relax.TupleGetItem(parts, 1))
        return relax.op.add(x, builder.emit(relax.op.reshape(second, SHAPE)))

    folded = fold(network(body))
    assert steps(folded) == ["relax.add"]
    assert np.array_equal(run(folded, X), X + np.arange(6, 12).reshape(SHAPE))


@needs("cc")
def test_an_output_that_is_constant_is_answered() -> None:
    def body(builder: relax.BlockBuilder, _: relax.Var) -> relax.Expr:
        return relax.op.negative(relax.const(X))

    assert np.array_equal(run(fold(network(body)), X), -X)


def test_shapes_of_unknown_size_stay() -> None:
    size = tvm.tirx.Var("n", "int64")

    def body(builder: relax.BlockBuilder, x: relax.Var) -> relax.Expr:
        row = builder.emit(relax.op.negative(relax.const(X[:1])))
        return relax.op.add(x, builder.emit(relax.op.broadcast_to(row, (size, 3))))

    folded = fold(network(body, shape=(size, 3)))
    assert steps(folded) == ["relax.broadcast_to", "relax.add"]
    assert np.array_equal(run(folded, X), X - X[:1])


def test_nothing_to_fold_is_nothing_to_do() -> None:
    module = network(lambda _, x: relax.op.exp(x))
    assert_structural_equal(fold(module), module)


def test_a_network_with_normalisation_is_folded_as_tvm_folds_it(tmp_path: Path) -> None:
    network = networks.write(networks.residual_cnn(), tmp_path / "model")
    module = import_model(network.model_path, network.inputs, open_sizes(network))
    for name in ("FoldBatchnormToConv2D", "DecomposeOpsForInference"):
        module = passes.make(name)(module)
    ours, tvms = fold(module), passes.make("FoldConstant")(module)
    (x,) = random_inputs(network, 0).values()
    assert np.allclose(run(ours, x), run(tvms, x), rtol=1e-5, atol=1e-6)
    assert len(steps(ours)) < len(steps(module))
    computed = [b.value for block in ours["main"].body.blocks for b in block.bindings]
    assert not any(
        isinstance(call, relax.Call) and all(isinstance(a, GenericConst) for a in call.args)
        for call in computed
    )


def test_the_importer_leaves_nothing_of_a_text_classifier_to_fold(tmp_path: Path) -> None:
    """TVM compiles each operation that it folds."""
    bert = Bert(layers=1, width=8, heads=2, vocabulary=20, sequence=4)
    network = networks.write(bert.model(np.random.default_rng(0)), tmp_path / "model")
    module = import_model(network.model_path, network.inputs, open_sizes(network))
    for name in ("LegalizeOps", "AnnotateTIROpPattern"):
        module = passes.make(name)(module)
    assert_structural_equal(passes.make("FoldConstant")(module)["main"], module["main"])


@pytest.mark.parametrize(
    ("made", "tvms", "ours"),
    [
        (networks.residual_cnn, passes.with_channels_last(passes.DEFAULT), passes.CHANNELS_LAST),
        (networks.transformer, passes.DEFAULT, passes.FOLDED),
        (networks.transformer, passes.FULL, passes.FOLDED_INTO),
    ],
)
def test_the_program_is_the_one_that_tvms_own_folding_makes(
    made: Callable[[], onnx.ModelProto],
    tvms: tuple[str, ...],
    ours: tuple[str, ...],
    tmp_path: Path,
) -> None:
    network = networks.write(made(), tmp_path / "model")
    target = {"kind": "llvm"}
    prints = [
        artefact.rehearse(
            network,
            target,
            {"shapes": "fixed", "passes": passes.option_of(names)},
            timed=False,
        )[1]
        for names in (tvms, ours, ("LegalizeOps",))
    ]
    assert prints[0] == prints[1]
    assert prints[0] != prints[2]
