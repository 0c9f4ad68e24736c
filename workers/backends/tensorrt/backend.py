"""Builds for TensorRT."""

from pathlib import Path

from workers.backends.onnxruntime_cuda.space import has_tf32
from workers.backends.packages import versions
from workers.backends.sessions import open_build
from workers.backends.tensorrt.space import default_of, space_of
from workers.engine.errors import InvalidCandidate
from workers.engine.ports import Array, Session
from workers.engine.profile import Profile
from workers.engine.space import Space
from workers.engine.types import BuildResult, Network, Options, TargetSpec, Tolerance

_PACKAGES = ("tensorrt", "onnx")
_ENTRY_POINT = "model.engine"
_TOLERANCES: dict[str, Tolerance] = {"float32": "exact", "float16": "fp16", "int8": "int8"}


class TensorRtBackend:
    """TensorRT engines; a :class:`~workers.engine.ports.Backend`."""

    name = "tensorrt"
    programs = False
    opening = frozenset[str]()

    def probe(self, target: TargetSpec) -> dict[str, str]:  # noqa: ARG002  the table knows targets
        """See :meth:`workers.engine.ports.Backend.probe`."""
        return versions(self.name, _PACKAGES, "'hpcfair-hub[tensorrt]'")

    def space(self, network: Network, target: TargetSpec) -> Space:
        """See :func:`workers.backends.tensorrt.space.space_of`."""
        return space_of(network, target)

    def default(self, network: Network, target: TargetSpec) -> Options:
        """See :func:`workers.backends.tensorrt.space.default_of`."""
        return default_of(network, target)

    def reference(self, network: Network, target: TargetSpec) -> Options:
        """Float32 as it is written; TensorRT cannot be told not to optimise."""
        options = default_of(network, target)
        return options | {"tf32": False} if "tf32" in options else options

    def build(
        self, network: Network, target: TargetSpec, options: Options, out: Path
    ) -> BuildResult:
        """See :meth:`workers.engine.ports.Backend.build`."""
        if not self.space(network, target).contains(options):
            raise InvalidCandidate(f"these options are not in the space of {self.name}: {options}")
        # Not at the top: it imports TensorRT.
        from workers.backends.tensorrt.compile import compile_engine  # noqa: PLC0415

        precision = str(options["precision"])
        try:
            provenance = compile_engine(network, target, options, out / _ENTRY_POINT)
        except (InvalidCandidate, MemoryError, OSError):
            raise
        # The tools raise whatever they stumble over.
        except Exception as error:
            raise InvalidCandidate(f"{precision}: {type(error).__name__}: {error}") from error
        tolerance = _TOLERANCES[precision]
        if options.get("tf32") and has_tf32(target):
            # It has the mantissa of float16, and so its rounding.
            tolerance = "fp16"
        return BuildResult(
            outcome="measured",
            directory=out,
            entry_point=_ENTRY_POINT,
            runtime=self.name,
            runtime_options={},
            tolerance=tolerance,
            toolchain=self.probe(target),
            provenance=provenance,
        )

    def load(self, build: BuildResult, target: TargetSpec) -> Session:  # noqa: ARG002
        """See :meth:`workers.engine.ports.Backend.load`."""
        return open_build(build)

    def profile(
        self,
        network: Network,
        target: TargetSpec,
        build: BuildResult,
        inputs: dict[str, Array],
        out: Path,  # noqa: ARG002  it shows no code
    ) -> Profile:
        """See :func:`workers.backends.tensorrt.profile.profile_build`."""
        from workers.backends.tensorrt.profile import profile_build  # noqa: PLC0415  heavy

        return profile_build(network, self.load(build, target), inputs)
