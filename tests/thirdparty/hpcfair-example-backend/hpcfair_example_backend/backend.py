"""The compiler. Runs in the hub's workers."""

from pathlib import Path

import numpy as np

from workers.backends.base import Artefact, BaseBackend
from workers.backends.registry import BackendEntry
from workers.engine.errors import InvalidCandidate
from workers.engine.space import Choice, Space
from workers.engine.types import Network, Options, TargetSpec

ENTRY = BackendEntry(
    "hpcfair_example_backend.backend:ProductBackend",
    distribution="hpcfair-example-backend",
    requirement="hpcfair-example-backend[compiler]",
    architectures=frozenset({"x86-64", "arm64"}),
)
_ENTRY_POINT = "model.product"


class ProductBackend(BaseBackend):
    """One matrix product for a chain of them."""

    name = "product"
    packages = ("hpcfair-example-backend", "numpy", "onnx")

    def space(self, network: Network, target: TargetSpec) -> Space:
        """In which order the matrices are multiplied with each other."""
        return Space({"order": Choice(("left", "right"))})

    def default(self, network: Network, target: TargetSpec) -> Options:
        """As the network multiplies them."""
        return {"order": "left"}

    def make(self, network: Network, target: TargetSpec, options: Options, out: Path) -> Artefact:
        """See :meth:`workers.backends.base.BaseBackend.make`."""
        import onnx  # noqa: PLC0415  heavy

        graph = onnx.load(network.model_path).graph
        constants = {each.name: onnx.numpy_helper.to_array(each) for each in graph.initializer}
        tensor, matrices = graph.input[0].name, []
        for node in graph.node:
            if (
                node.op_type != "MatMul"
                or node.input[0] != tensor
                or node.input[1] not in constants
            ):
                raise InvalidCandidate(
                    f"{node.op_type}: only products with constants are supported"
                )
            matrices.append(constants[node.input[1]].astype(np.float64))
            tensor = node.output[0]
        # Float64, so that the product is as exact as the chain.
        if options["order"] == "left":
            matrix = matrices[0]
            for factor in matrices[1:]:
                matrix = matrix @ factor
        else:
            matrix = matrices[-1]
            for factor in reversed(matrices[:-1]):
                matrix = factor @ matrix
        with (out / _ENTRY_POINT).open("wb") as file:
            np.savez(
                file,
                input=graph.input[0].name,
                output=graph.output[0].name,
                matrix=matrix.astype(np.float32),
            )
        return Artefact(_ENTRY_POINT, provenance={"matrices": len(matrices)})
