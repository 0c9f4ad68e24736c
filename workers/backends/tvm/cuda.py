"""Builds for Apache TVM on NVIDIA GPUs."""

import os
import shutil
from importlib import metadata
from pathlib import Path
from typing import Any

from workers.backends.base import Artefact
from workers.backends.tvm.backend import BaseTvmBackend
from workers.backends.tvm.space import cuda_space_of
from workers.backends.tvm.targets import cuda_target_of
from workers.engine.errors import BackendUnavailable
from workers.engine.space import Space
from workers.engine.types import Network, Options, TargetSpec

#: NVIDIA's compiler for GPU code, or the package of its library.
_COMPILER, _LIBRARY = "nvcc", "cuda-bindings"


class TvmCudaBackend(BaseTvmBackend):
    """Apache TVM on an NVIDIA GPU."""

    name = "tvm_cuda"

    def probe(self, target: TargetSpec) -> dict[str, str]:
        versions = super().probe(target)
        if shutil.which(_COMPILER):
            return versions
        try:
            return {**versions, _LIBRARY: metadata.version(_LIBRARY)}
        except metadata.PackageNotFoundError as error:
            raise BackendUnavailable(
                f"Backend {self.name} needs {_COMPILER} of the CUDA toolkit, or its library: "
                f"pip install {_LIBRARY}"
            ) from error

    def space(self, network: Network, target: TargetSpec) -> Space:  # noqa: ARG002
        return cuda_space_of(network)

    def default(self, network: Network, target: TargetSpec) -> Options:
        """TVM's default pipeline, with all sizes that the network takes."""
        return self.space(network, target).at(0)

    def make(self, network: Network, target: TargetSpec, options: Options, out: Path) -> Artefact:
        os.environ["TVM_CUDA_COMPILE_MODE"] = "nvcc" if shutil.which(_COMPILER) else "nvrtc"
        return super().make(network, target, options, out)

    def compiler_target(self, target: TargetSpec, options: Options) -> dict[str, Any]:  # noqa: ARG002
        return cuda_target_of(target)
