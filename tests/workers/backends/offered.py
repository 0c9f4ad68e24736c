"""What ONNX Runtime's space offers for a network."""

from collections.abc import Callable
from pathlib import Path

import onnx

from workers.backends.onnxruntime.space import space_of
from workers.engine.space import plain
from workers.engine.types import TargetSpec, Workload
from workers.testing import networks

X86 = TargetSpec("x86-64-avx2", "x86-64", frozenset({"avx2", "fma"}), 2, None)
ARM = TargetSpec("arm64-neoverse-v1", "arm64", frozenset({"asimdhp", "bf16"}), 8, None)


def values(workload: Workload, target: TargetSpec, name: str) -> tuple[object, ...]:
    """What the space offers for an option; empty if the option does not exist."""
    found = space_of(workload, target).parameters.get(name)
    return tuple(plain(found).values) if found else ()


def workload_of(maker: Callable[[], onnx.ModelProto], folder: Path) -> Workload:
    return networks.write(maker(), folder / "model")
