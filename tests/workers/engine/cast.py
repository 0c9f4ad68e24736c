"""A network and a machine that never existed, shared by the engine's tests."""

from pathlib import Path

from workers.engine.types import Network, TargetSpec, TensorSpec

NETWORK = Network(
    model_path=Path("pretend.onnx"),
    model_sha256="a" * 64,
    graph_hash="b" * 64,
    architecture_class="mlp",
    inputs=(TensorSpec("x", "float32", ("N", 8)),),
    outputs=(TensorSpec("scores", "float32", ("N", 10)),),
    operators={"Gemm": 2},
    parameters=90,
    macs=80,
)

TARGET = TargetSpec(
    slug="x86-64-avx2",
    architecture="x86-64",
    features=frozenset({"avx2", "fma"}),
    cores=2,
    memory_bytes=8 * 2**30,
    facts={"processor": "Pretend 9000", "threads": 4},
)
