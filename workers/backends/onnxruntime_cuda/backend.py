"""Builds for ONNX Runtime on NVIDIA GPUs."""

from pathlib import Path

from workers.backends.base import Artefact, BaseBackend
from workers.backends.onnxruntime_cuda.space import DEFAULT, has_tf32, reference_of, space_of
from workers.engine.space import Space
from workers.engine.types import Network, Options, TargetSpec


class OnnxRuntimeCudaBackend(BaseBackend):
    """ONNX Runtime's CUDA execution provider."""

    name = "onnxruntime_cuda"
    packages = ("onnxruntime-gpu", "onnx")
    # Without ``tf32``: it decides the tolerance class, which candidates that share files share.
    opening = frozenset({"graph_optimization", "layout", "convolutions", "graphs"})
    no_profile = "ONNX Runtime's trace times the launch of GPU kernels, not the kernels"

    def space(self, network: Network, target: TargetSpec) -> Space:
        return space_of(network, target)

    def reads_normal_form(self, options: Options) -> bool:
        return not options.get("default") and options.get("graph_optimization") != "disable"

    def default(self, network: Network, target: TargetSpec) -> Options:  # noqa: ARG002
        """The provider without options, on the published file."""
        return dict(DEFAULT)

    def reference(self, network: Network, target: TargetSpec) -> Options:
        return reference_of(network, target)

    def make(self, network: Network, target: TargetSpec, options: Options, out: Path) -> Artefact:
        if options.get("precision") == "float16":
            from workers.backends.onnxruntime import quantize  # noqa: PLC0415  heavy

            path = out / "model.onnx"
            provenance = quantize.to_float16(network, target, options, path)
            return Artefact(path.name, "fp16", provenance | {"tf32": False})
        from workers.backends.onnxruntime import files  # noqa: PLC0415  heavy

        entry_point = files.copy_model(network.source_path, out)
        tf32 = bool(options.get("tf32", options["default"])) and has_tf32(target)
        # TF32 has the mantissa of float16, and so its rounding error.
        return Artefact(entry_point, "fp16" if tf32 else "exact", {"tf32": tf32})

    def runtime_options(self, options: Options) -> Options:
        if options["default"]:
            return dict(DEFAULT)
        opened = {"graph_optimization": "all", **super().runtime_options(options)}
        return opened | {name: value for name, value in options.items() if name == "tf32"}
