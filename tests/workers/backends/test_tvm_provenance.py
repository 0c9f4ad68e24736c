"""Each call of a TVM build computes the nodes it is said to: held against ONNX Runtime's values."""

import json
import math
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

from examples.models import light
from examples.models.seeding import draw_weights
from registry.kernels.assembly import mix_of
from registry.kernels.tir import loops_of
from tests.programs import needs
from tests.workers.backends.schedules import write_records
from workers.backends.tvm.backend import TvmBackend
from workers.engine.ports import Array
from workers.engine.profile import Kernel, Profile
from workers.engine.random_inputs import random_inputs
from workers.engine.types import Network
from workers.testing import networks
from workers.testing.backend_contract import this_target
from workers.testing.builds import check_profile

pytestmark = [needs("cc"), pytest.mark.slow]

TARGET = this_target()


@dataclass(frozen=True, slots=True)
class Seen:
    """A profile, what its calls really gave, and what every node gives by ONNX Runtime."""

    inputs: dict[str, Array]
    profile: Profile
    given: list[list[Array]]
    values: list[list[Array]]


def seen(model: onnx.ModelProto, network: Network, folder: Path, **options: str) -> Seen:
    """Build, profile and run a network with every call's output kept."""
    backend = TvmBackend()
    out, code = folder / "build", folder / "code"
    out.mkdir()
    code.mkdir()
    # What a call computes is settled before machine code is made, which takes longest.
    chosen = {**backend.default(network, TARGET), "llvm": "O0", **options}
    build = backend.build(network, TARGET, chosen, out)
    inputs = random_inputs(network, 11)
    profile = backend.profile(network, TARGET, build, inputs, code)
    check_profile(profile, len(model.graph.node), code)
    session: Any = backend.load(build, TARGET)
    given = outputs_of_calls(session, inputs)
    session.close()
    return Seen(inputs, profile, given, node_values(model, inputs))


def outputs_of_calls(session: Any, inputs: dict[str, Array]) -> list[list[Array]]:
    """What each call wrote; two outputs come last, and with one an input stands before it."""
    from workers.backends.tvm.profile import _OWN, RESHAPE  # noqa: PLC0415  heavy

    given: list[list[Array]] = []

    def watch(_function: Any, name: str, *call: Any) -> None:
        before, result, *arguments = call
        if before or (name.startswith(_OWN) and name != RESHAPE):
            return
        written = [result] if name == RESHAPE else arguments[-2:]
        given.append([tensor.numpy().copy() for tensor in written])

    session.session.set_instrument(watch)
    session.run(inputs)
    return given


def node_values(model: onnx.ModelProto, inputs: dict[str, Array]) -> list[list[Array]]:
    """What each node gives, without any optimisation."""
    whole = onnx.ModelProto()
    whole.CopyFrom(model)
    names = [name for node in model.graph.node for name in node.output if name]
    kept = {value.name for value in model.graph.output}
    whole.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names if name not in kept)
    settings = ort.SessionOptions()
    settings.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(whole.SerializeToString(), settings)
    values = dict(zip(names, session.run(names, inputs), strict=True))
    return [[values[name] for name in node.output if name] for node in model.graph.node]


def agree(one: Array, other: Array) -> bool:
    """Same elements up to 1e-4 of the largest, in whatever shape, or with the channels last."""
    if one.size != other.size:
        return False
    largest = np.abs(other).max(initial=0) or 1.0
    laid_out = [one, np.moveaxis(one, -1, 1)] if one.ndim == 4 else [one]
    return any(
        np.abs(array.ravel() - other.ravel()).max(initial=0) <= 1e-4 * largest for array in laid_out
    )


def unexplained(found: Seen) -> list[str]:
    """Calls whose output is that of none of their nodes; without steps inside one node.

    Such is also a call that lays an input of the network out anew.
    """
    sites = found.profile.call_sites
    owners = [
        tuple(link.index for link in site.nodes if link.grade != "inferred") for site in sites
    ]
    last = {owned: at for at, owned in enumerate(owners)}
    return [
        site.name
        for at, (site, given) in enumerate(zip(sites, found.given, strict=True))
        if not any(
            agree(one, value)
            for node in site.nodes
            for value in found.values[node.index]
            for one in given
        )
        and not (len(owners[at]) == 1 and last[owners[at]] > at)
        and not (
            site.operator.startswith("transpose")
            and any(agree(one, array) for array in found.inputs.values() for one in given)
        )
    ]


@pytest.mark.parametrize(
    ("make", "shapes", "passes"),
    [
        (networks.residual_cnn, "open", "full"),
        (networks.residual_cnn, "fixed", "channels_last"),
        (networks.transformer, "fixed", "default"),
    ],
)
def test_every_call_gives_what_one_of_its_nodes_gives(
    make: Any, shapes: str, passes: str, tmp_path: Path
) -> None:
    model = make()
    network = networks.write(model, tmp_path / "model")
    found = seen(model, network, tmp_path, shapes=shapes, passes=passes)
    assert unexplained(found) == []
    assert found.profile.folded == ()


def test_every_call_of_a_real_network_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # One untuned run takes long, and nobody looks at the times.
    monkeypatch.setattr("workers.backends.tvm.profile._RUNS", 1)
    model = end_of_squeezenet()
    network = networks.write(model, tmp_path / "model")
    found = seen(model, network, tmp_path, shapes="fixed")
    assert unexplained(found) == []
    assert {link.grade for site in found.profile.call_sites for link in site.nodes} == {"exact"}


def end_of_squeezenet() -> onnx.ModelProto:
    """SqueezeNet's last two modules, which share kernels, and its head."""
    model = light.load("light_squeezenet")
    draw_weights(model.graph, np.random.default_rng(0))
    start = "r46"
    given = helper.make_tensor_value_info(start, TensorProto.FLOAT, ["N", 384, 13, 13])
    del model.graph.input[:]
    model.graph.input.append(given)
    cut = next(place for place, node in enumerate(model.graph.node) if start in node.output)
    del model.graph.node[: cut + 1]
    return model


def test_tuned_calls_bring_their_schedule_and_are_traced_as_well(tmp_path: Path) -> None:
    model = networks.residual_cnn()
    network = networks.write(model, tmp_path / "model")
    file = tmp_path / "model" / "schedules.jsonl"
    write_schedules(network, file)
    network = replace(network, schedules_path=file)
    found = seen(model, network, tmp_path, shapes="fixed", schedules="database")
    assert unexplained(found) == []
    assert found.profile.folded == ()
    tuned = {site.kernel for site in found.profile.call_sites if site.implementation == "tuned"}
    assert {name.removesuffix("_prepacked")[:6] for name in tuned if name} == {"conv2d"}
    traced = {kernel.symbol: kernel for kernel in found.profile.kernels if kernel.schedule}
    assert traced.keys() == tuned
    for kernel in traced.values():
        check_loops(kernel, tmp_path / "code")


def check_loops(kernel: Kernel, folder: Path) -> None:
    """Each loop of a scheduled kernel is linked to the decisions that give its extent."""
    loops = json.loads((folder / kernel.code["loops"]).read_text())
    written = loops_of((folder / kernel.code["tir"]).read_text())
    assert [(loop["name"], loop["extent"]) for loop in loops] == [
        (loop.name, loop.extent) for loop in written
    ]
    instructions, decisions = kernel.schedule
    chosen = dict(map(tuple, decisions))
    tiled = 0
    for loop in loops:
        made = [(one["instruction"], one["result"]) for one in loop["decisions"]]
        kinds = {instructions[at][0] for at, _ in made}
        if kinds == {"SamplePerfectTile"}:
            tiled += 1
            assert loop["extent"] == math.prod(chosen[at][result] for at, result in made)
        else:
            # Of the block that pads the input, which was computed at a sampled place.
            assert kinds == {"SampleComputeLocation"}
    assert tiled > 15
    unrolled = [loop["unroll"] for loop in loops if loop["unroll"] is not None]
    assert {instructions[at][0] for at in unrolled} <= {"SampleCategorical"}
    mix = mix_of((folder / kernel.code["asm"]).read_text())
    # The body of a parallel loop is a function of its own.
    assert mix is None or mix.packed + mix.scalar > 0


def write_schedules(network: Network, file: Path) -> None:
    """A schedule of MetaSchedule's own design for each convolution, not searched for."""
    from workers.backends.tvm import artefact, compile, database  # noqa: A004, PLC0415  heavy
    from workers.backends.tvm.passes import pipeline_of  # noqa: PLC0415
    from workers.backends.tvm.targets import target_of  # noqa: PLC0415
    from workers.backends.tvm.tuning.workload import (  # noqa: PLC0415
        context_of,
        prepare,
        trace_of,
    )

    target = target_of(TARGET)
    imported = artefact.imported_of(network, {"shapes": "fixed"})
    pipeline = pipeline_of("default")
    program = compile.tensor_program(imported, pipeline, target, tunable=True).module
    records = []
    for variable, function in program.functions_items():
        if variable.name_hint.startswith("conv2d"):
            context = context_of(function, prepare(target), "replay-trace", 1, 1)
            schedule = context.generate_design_space()[-1]
            schedule.enter_postproc()
            assert all(p.apply(schedule) for p in context.space_generator.postprocs)
            key = database.workload_key(function)
            records.append(database.DatabaseRecord(key, trace_of(schedule), 1e-5))
    assert len(records) == 2
    write_records(file, records)


def test_what_is_constant_or_passes_its_input_on_is_folded(tmp_path: Path) -> None:
    two = numpy_helper.from_array(np.full(4, 2, np.float32), "two")
    nodes = [
        helper.make_node("Add", ["two", "two"], ["four"]),
        helper.make_node("Identity", ["x"], ["same"]),
        helper.make_node("Mul", ["same", "four"], ["scaled"]),
        helper.make_node("Shape", ["scaled"], ["shape"]),
        helper.make_node("Reshape", ["scaled", "shape"], ["shaped"]),
        helper.make_node("Exp", ["shaped"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3, 4])],
        [two],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    network = networks.write(model, tmp_path / "model")
    found = seen(model, network, tmp_path, passes="full")
    assert set(found.profile.folded) >= {0, 1, 3}
    assert unexplained(found) == []


def test_two_nodes_that_compute_the_same_own_a_call_each(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Softmax", ["x"], ["one"]),
        helper.make_node("Softmax", ["x"], ["other"]),
        helper.make_node("MatMul", ["one", "other"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 4])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    found = seen(model, networks.write(model, tmp_path / "model"), tmp_path)
    owners = Counter(link.index for site in found.profile.call_sites for link in site.nodes)
    assert owners == {0: 1, 1: 1, 2: 1}
    kernels = {kernel.symbol: kernel for kernel in found.profile.kernels}
    assert len(kernels) < len(found.profile.call_sites)
