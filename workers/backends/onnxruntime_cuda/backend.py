"""Builds for ONNX Runtime on NVIDIA GPUs."""

from pathlib import Path
from typing import Any

from workers.backends.onnxruntime_cuda.space import DEFAULT, has_tf32, reference_of, space_of
from workers.backends.packages import versions
from workers.backends.sessions import open_build
from workers.engine.errors import InvalidCandidate
from workers.engine.ports import Array, Session
from workers.engine.profile import Profile
from workers.engine.space import Space
from workers.engine.types import BuildResult, Network, Options, TargetSpec, Tolerance

_PACKAGES = ("onnxruntime-gpu", "onnx")
_PASSED_ON = ("graph_optimization", "tf32", "layout", "convolutions")


class OnnxRuntimeCudaBackend:
    """ONNX Runtime's CUDA provider; a :class:`~workers.engine.ports.Backend`."""

    name = "onnxruntime_cuda"
    programs = False
    opening = frozenset(_PASSED_ON)

    def probe(self, target: TargetSpec) -> dict[str, str]:  # noqa: ARG002  the table knows targets
        """See :meth:`workers.engine.ports.Backend.probe`."""
        return versions(self.name, _PACKAGES, "'hpcfair-hub[cuda]'")

    def space(self, network: Network, target: TargetSpec) -> Space:
        """See :func:`workers.backends.onnxruntime_cuda.space.space_of`."""
        return space_of(network, target)

    def default(self, network: Network, target: TargetSpec) -> Options:  # noqa: ARG002
        """The provider with nothing set, on the original file."""
        return dict(DEFAULT)

    def reference(self, network: Network, target: TargetSpec) -> Options:
        """See :func:`workers.backends.onnxruntime_cuda.space.reference_of`."""
        return reference_of(network, target)

    def build(
        self, network: Network, target: TargetSpec, options: Options, out: Path
    ) -> BuildResult:
        """See :meth:`workers.engine.ports.Backend.build`."""
        if not self.space(network, target).contains(options):
            raise InvalidCandidate(f"these options are not in the space of {self.name}: {options}")
        precision = str(options.get("precision", "float32"))
        runtime_options: Options = {"default": True}
        if not options["default"]:
            runtime_options = {"graph_optimization": "all"}
            runtime_options |= {name: options[name] for name in _PASSED_ON if name in options}
        try:
            entry_point, provenance = _make(precision, network, target, options, out)
        except (InvalidCandidate, MemoryError, OSError):
            raise
        # The tools raise whatever they stumble over.
        except Exception as error:
            raise InvalidCandidate(f"{precision}: {type(error).__name__}: {error}") from error
        rounded = precision == "float32" and options.get("tf32", options["default"])
        tf32 = bool(rounded) and has_tf32(target)
        return BuildResult(
            outcome="measured",
            directory=out,
            entry_point=entry_point,
            runtime=self.name,
            runtime_options=runtime_options,
            tolerance=_tolerance(precision, tf32=tf32),
            toolchain=self.probe(target),
            provenance=provenance | {"tf32": tf32},
        )

    def load(self, build: BuildResult, target: TargetSpec) -> Session:  # noqa: ARG002
        """See :meth:`workers.engine.ports.Backend.load`."""
        return open_build(build)

    def profile(
        self,
        network: Network,  # noqa: ARG002
        target: TargetSpec,  # noqa: ARG002
        build: BuildResult,  # noqa: ARG002
        inputs: dict[str, Array],  # noqa: ARG002
        out: Path,  # noqa: ARG002
    ) -> Profile:
        """See :meth:`workers.engine.ports.Backend.profile`."""
        raise InvalidCandidate(
            "ONNX Runtime's trace times the launch of GPU kernels, not the kernels"
        )


def _tolerance(precision: str, *, tf32: bool) -> Tolerance:
    """TF32 has the mantissa of float16, and so its rounding."""
    return "fp16" if tf32 or precision == "float16" else "exact"


def _make(
    precision: str, network: Network, target: TargetSpec, options: Options, out: Path
) -> tuple[str, dict[str, Any]]:
    """Write the artefact; returns its entry point and its provenance."""
    # Imported where needed: a child lives for one build, and imports are half its life.
    if precision == "float16":
        from workers.backends.onnxruntime import quantize  # noqa: PLC0415

        path = out / "model.onnx"
        return path.name, quantize.to_float16(network, target, options, path)
    from workers.backends.onnxruntime import files  # noqa: PLC0415

    return files.copy_model(network.model_path, out), {}
