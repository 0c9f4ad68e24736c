"""Builds for TensorRT."""

from pathlib import Path

from hpcfair.precisions import TOLERANCE_OF
from workers.backends.base import Artefact, BaseBackend
from workers.backends.onnxruntime_cuda.space import has_tf32
from workers.backends.tensorrt.space import default_of, space_of
from workers.engine.ports import Array
from workers.engine.profile import Profile
from workers.engine.space import Space
from workers.engine.types import BuildResult, Network, Options, TargetSpec

_ENTRY_POINT = "model.engine"


class TensorRtBackend(BaseBackend):
    """TensorRT engines."""

    name = "tensorrt"
    packages = ("tensorrt", "onnx")

    def space(self, network: Network, target: TargetSpec) -> Space:
        return space_of(network, target)

    def default(self, network: Network, target: TargetSpec) -> Options:
        return default_of(network, target)

    def reference(self, network: Network, target: TargetSpec) -> Options:
        """The default without TF32. TensorRT has no unoptimised mode."""
        options = default_of(network, target)
        return options | {"tf32": False} if "tf32" in options else options

    def make(self, network: Network, target: TargetSpec, options: Options, out: Path) -> Artefact:
        from workers.backends.tensorrt.compile import compile_engine  # noqa: PLC0415  heavy

        provenance = compile_engine(network, target, options, out / _ENTRY_POINT)
        tolerance = TOLERANCE_OF[str(options["precision"])]
        if options.get("tf32") and has_tf32(target):
            # TF32 has the mantissa of float16, and so its rounding error.
            tolerance = "fp16"
        return Artefact(_ENTRY_POINT, tolerance, provenance)

    def profile(
        self,
        network: Network,
        target: TargetSpec,
        build: BuildResult,
        inputs: dict[str, Array],
        out: Path,  # noqa: ARG002  TensorRT does not disclose its kernels' code
    ) -> Profile:
        from workers.backends.tensorrt.profile import profile_build  # noqa: PLC0415  heavy

        return profile_build(network, self.load(build, target), inputs)
