"""Convolutions of ResNet-18 at batch 1, each with bias and ReLU, as networks of their own."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from hpcfair.isolation.limits import Limits
from workers.backends.tvm.targets import target_of
from workers.backends.tvm.tuning.compiler import TvmSchedules
from workers.backends.tvm.tuning.handover import tasks_of
from workers.engine.schedules.types import ScheduleBudget, ScheduleTask
from workers.engine.types import Network, TargetSpec
from workers.testing.networks import describe

LIMITS = Limits(wall_s=600.0)


@dataclass(frozen=True, slots=True)
class Layer:
    """A convolution: input and output channels, input size, kernel size, stride."""

    inward: int
    size: int
    outward: int
    kernel: int = 3
    stride: int = 1


#: All distinct ones, by torchvision's name of the first of each kind.
RESNET18: dict[str, Layer] = {
    "conv1": Layer(3, 224, 64, 7, 2),
    "layer1": Layer(64, 56, 64),
    "layer2.0": Layer(64, 56, 128, 3, 2),
    "layer2.down": Layer(64, 56, 128, 1, 2),
    "layer2": Layer(128, 28, 128),
    "layer3.0": Layer(128, 28, 256, 3, 2),
    "layer3.down": Layer(128, 28, 256, 1, 2),
    "layer3": Layer(256, 14, 256),
    "layer4.0": Layer(256, 14, 512, 3, 2),
    "layer4.down": Layer(256, 14, 512, 1, 2),
    "layer4": Layer(512, 7, 512),
}


def write(layers: Mapping[str, Layer], folder: Path) -> Network:
    """A network of these layers in parallel, with seeded He weights, written to ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    chance = np.random.default_rng(0)
    nodes, weights, inputs, outputs = [], [], [], []
    for name, layer in layers.items():
        fan_in = layer.inward * layer.kernel**2
        shape = (layer.outward, layer.inward, layer.kernel, layer.kernel)
        weight = chance.standard_normal(shape, np.float32) * np.float32((2 / fan_in) ** 0.5)
        bias = chance.standard_normal(layer.outward, np.float32)
        weights += [
            numpy_helper.from_array(weight, f"{name}.w"),
            numpy_helper.from_array(bias, f"{name}.b"),
        ]
        nodes += [
            helper.make_node(
                "Conv",
                [f"{name}.x", f"{name}.w", f"{name}.b"],
                [f"{name}.c"],
                strides=[layer.stride] * 2,
                pads=[layer.kernel // 2] * 4,
            ),
            helper.make_node("Relu", [f"{name}.c"], [f"{name}.y"]),
        ]
        side = layer.size // layer.stride
        inputs.append(_tensor(f"{name}.x", (1, layer.inward, layer.size, layer.size)))
        outputs.append(_tensor(f"{name}.y", (1, layer.outward, side, side)))
    graph = helper.make_graph(nodes, "layers", inputs, outputs, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    path = folder / "model.onnx"
    onnx.save(model, path)
    return describe(model, path)


def workloads(
    layers: Mapping[str, Layer], target: TargetSpec, folder: Path
) -> dict[str, ScheduleTask]:
    """The schedule task of each layer, extracted as for any network."""
    workload = write(layers, folder / "model")
    scratch = folder / "apart"
    scratch.mkdir()
    tasks = tasks_of(workload, target, limits=LIMITS, scratch=scratch)
    return {name: _task_of(layer, tasks) for name, layer in layers.items()}


@contextmanager
def compiler(
    target: TargetSpec,
    strategy: str,
    seed: int,
    batch: int | None = None,
    principles: Sequence[Mapping[str, Any]] = (),
) -> Iterator[TvmSchedules]:
    """A compiler with its own child processes, and without earlier knowledge of workloads."""
    with (
        TemporaryDirectory() as folder,
        TvmSchedules(
            target_of(target),
            limits=LIMITS,
            scratch=Path(folder),
            strategy="random" if strategy == "random" else "evolution",
            seed=seed,
            batch=batch or ScheduleBudget().batch,
            threads=target.cores,
            principles=principles,
        ) as schedule_compiler,
    ):
        yield schedule_compiler


def _task_of(layer: Layer, tasks: Sequence[ScheduleTask]) -> ScheduleTask:
    """The task with the most operations that has this layer's weights as an argument."""
    # In TVM's layout for schedules: channels last.
    weight = [layer.kernel, layer.kernel, layer.inward, layer.outward]
    image = [1, layer.size, layer.size, layer.inward]
    shapes = {task.key: [argument["shape"] for argument in task.arguments] for task in tasks}
    fit = [t for t in tasks if weight in shapes[t.key] and image in shapes[t.key]]
    return max(fit, key=lambda task: task.flops)


def _tensor(name: str, shape: Sequence[int]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
