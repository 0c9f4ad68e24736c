"""Builds for Apache TVM on NVIDIA GPUs."""

import os
import shutil
from importlib import metadata
from pathlib import Path
from typing import Any

from workers.backends.tvm.backend import TvmBuilds
from workers.backends.tvm.space import cuda_space_of
from workers.backends.tvm.targets import cuda_target_of
from workers.engine.errors import BackendUnavailable, InvalidCandidate
from workers.engine.space import Space
from workers.engine.types import BuildResult, Network, Options, TargetSpec

#: What makes machine code of a GPU: NVIDIA's compiler, or the package of its library.
_COMPILER, _LIBRARY = "nvcc", "cuda-bindings"


class TvmCudaBackend(TvmBuilds):
    """Apache TVM on an NVIDIA GPU; a :class:`~workers.engine.ports.Backend`."""

    name = "tvm_cuda"

    def probe(self, target: TargetSpec) -> dict[str, str]:
        """See :meth:`workers.engine.ports.Backend.probe`."""
        found = super().probe(target)
        if shutil.which(_COMPILER):
            return found
        try:
            return {**found, _LIBRARY: metadata.version(_LIBRARY)}
        except metadata.PackageNotFoundError as error:
            raise BackendUnavailable(
                f"Backend {self.name} needs {_COMPILER} of the CUDA toolkit, or its library: "
                f"pip install {_LIBRARY}"
            ) from error

    def space(self, network: Network, target: TargetSpec) -> Space:  # noqa: ARG002
        """See :func:`workers.backends.tvm.space.cuda_space_of`."""
        return cuda_space_of(network)

    def default(self, network: Network, target: TargetSpec) -> Options:
        """TVM's own pipeline, for every size the network takes."""
        return self.space(network, target).at(0)

    def reference(self, network: Network, target: TargetSpec) -> Options:  # noqa: ARG002
        """See :meth:`workers.engine.ports.Backend.reference`: there is none."""
        raise InvalidCandidate(f"{self.name} has no unoptimised mode")

    def build(
        self, network: Network, target: TargetSpec, options: Options, out: Path
    ) -> BuildResult:
        """See :meth:`workers.engine.ports.Backend.build`."""
        os.environ["TVM_CUDA_COMPILE_MODE"] = "nvcc" if shutil.which(_COMPILER) else "nvrtc"
        return super().build(network, target, options, out)

    def lowered(self, target: TargetSpec, options: Options) -> tuple[dict[str, Any], Options]:  # noqa: ARG002
        """See :meth:`workers.backends.tvm.backend.TvmBuilds.lowered`."""
        return cuda_target_of(target), {}
