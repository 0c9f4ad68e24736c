"""Builds by PyTorch's Inductor for NVIDIA GPUs."""

from hpcfair.precisions import Tolerance
from workers.backends.torch.backend import BaseTorchBackend
from workers.backends.torch.space import cuda_default_of, cuda_space_of
from workers.engine.space import Space
from workers.engine.types import Network, Options, TargetSpec


class TorchCudaBackend(BaseTorchBackend):
    """Packages of Triton kernels and calls of NVIDIA's libraries."""

    name = "torch_cuda"
    # Without ``tf32``: it decides kernels and the tolerance class.
    opening = frozenset({"graphs"})
    no_profile = "PyTorch's profiler is not used on GPUs yet"

    def space(self, network: Network, target: TargetSpec) -> Space:  # noqa: ARG002
        return cuda_space_of(target)

    def default(self, network: Network, target: TargetSpec) -> Options:  # noqa: ARG002
        return cuda_default_of(target)

    def tolerance(self, target: TargetSpec, options: Options) -> Tolerance:
        # TF32 has the mantissa of float16, and so its rounding error.
        return "fp16" if options.get("tf32") else super().tolerance(target, options)

    def runtime_options(self, options: Options) -> Options:
        opened = super().runtime_options(options)
        return opened | {name: value for name, value in options.items() if name == "tf32"}
