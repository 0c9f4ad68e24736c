"""What ONNX Runtime's space offers for a network."""

from collections.abc import Callable
from pathlib import Path

import onnx

from workers.backends.onnxruntime.space import space_of
from workers.engine.space import plain
from workers.engine.types import Network, TargetSpec
from workers.testing import networks

X86 = TargetSpec("x86-64-avx2", "x86-64", frozenset({"avx2", "fma"}), 2, None)
ARM = TargetSpec("arm64-neoverse-v1", "arm64", frozenset({"asimdhp", "bf16"}), 8, None)


def values(network: Network, target: TargetSpec, name: str) -> tuple[object, ...]:
    """What the space offers for an option; empty if the option does not exist."""
    found = space_of(network, target).parameters.get(name)
    return tuple(plain(found).values) if found else ()


def network_of(maker: Callable[[], onnx.ModelProto], folder: Path) -> Network:
    return networks.write(maker(), folder / "model")
