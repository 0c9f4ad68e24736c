"""Builds for ONNX Runtime on the CPU."""

from pathlib import Path

from hpcfair.errors import HpcfairError
from hpcfair.precisions import TOLERANCE_OF
from workers.backends.base import Artefact, BaseBackend
from workers.backends.onnxruntime import passes
from workers.backends.onnxruntime.space import DEFAULT, optimised_of, reference_of, space_of
from workers.engine.errors import InvalidCandidate
from workers.engine.passes.menu import Menu
from workers.engine.ports import Array
from workers.engine.profile import Profile
from workers.engine.space import Space
from workers.engine.types import BuildResult, Network, Options, TargetSpec

#: Options of a session that computes with several threads; ``default`` excludes all others.
_OF_THREADS = frozenset({"default", "threads", "spinning", "execution"})


class OnnxRuntimeBackend(BaseBackend):
    """ONNX files and ORT files; also a :class:`~workers.engine.passes.menu.PassBackend`."""

    name = "onnxruntime"
    packages = ("onnxruntime", "onnx")
    opening = frozenset({"graph_optimization", "threads", "execution", "spinning"})

    def space(self, network: Network, target: TargetSpec) -> Space:
        return space_of(network, target)

    def reads_normal_form(self, options: Options) -> bool:
        return not options.get("default") and options.get("graph_optimization") != "disable"

    def default(self, network: Network, target: TargetSpec) -> Options:  # noqa: ARG002
        """``InferenceSession(path)`` on the published file."""
        return dict(DEFAULT)

    def reference(self, network: Network, target: TargetSpec) -> Options:
        return reference_of(network, target)

    def make(self, network: Network, target: TargetSpec, options: Options, out: Path) -> Artefact:
        artefact = _make(network, target, options, out)
        if "passes" not in options:
            return artefact
        path = out / artefact.entry_point
        fingerprint = passes.fingerprint(path, self.runtime_options(options), out)
        provenance = {**artefact.provenance, "fingerprint": fingerprint}
        return Artefact(artefact.entry_point, artefact.tolerance, provenance)

    def runtime_options(self, options: Options) -> Options:
        if options["default"]:
            return dict(DEFAULT)
        # Kernels of reduced precision pay off only with every fusion.
        opened_with: Options = {"graph_optimization": "all", **super().runtime_options(options)}
        if "passes" in options:
            opened_with["passes"] = options["passes"]
        if options["precision"] == "bfloat16":
            opened_with["bf16_gemm"] = True
        return opened_with

    def parallel(self, options: Options) -> tuple[Options, ...]:
        """With one thread, a run is computed by the thread that calls it."""
        others = {name: v for name, v in options.items() if name not in _OF_THREADS}
        return ({**others, "threads": "one"},)

    def menu(self, network: Network, target: TargetSpec) -> Menu:
        return passes.menu_of(optimised_of(network, target))

    def rehearse(
        self, network: Network, target: TargetSpec, options: Options, out: Path, *, timed: bool
    ) -> tuple[float, str]:
        self.check(network, target, options)
        path, runtime_options = network.source_path, self.runtime_options(options)
        try:
            if timed:
                return passes.open_s(path, runtime_options), ""
            return 0.0, passes.fingerprint(path, runtime_options, out)
        except HpcfairError as error:
            raise InvalidCandidate(error.detail) from error

    def profile(
        self,
        network: Network,
        target: TargetSpec,
        build: BuildResult,
        inputs: dict[str, Array],
        out: Path,  # noqa: ARG002  ONNX Runtime does not disclose its kernels' code
    ) -> Profile:
        from workers.backends.onnxruntime.profile import profile_build  # noqa: PLC0415  heavy

        return profile_build(network, target, build, inputs)


def _make(network: Network, target: TargetSpec, options: Options, out: Path) -> Artefact:
    """Write the artefact. Imports are local: they take half the life of a build's process."""
    precision = str(options.get("precision", "float32"))
    # "int8-static" and "int8-dynamic" differ in how they are calibrated.
    tolerance = TOLERANCE_OF[precision.partition("-")[0]]
    artefact = str(options.get("artefact", "onnx"))
    path = out / "model.onnx"
    if precision in {"int8-dynamic", "int8-static", "float16"}:
        from workers.backends.onnxruntime import quantize  # noqa: PLC0415

        convert = quantize.CONVERTERS[precision]
        return Artefact(path.name, tolerance, convert(network, target, options, path))
    if artefact == "onnx":
        from workers.backends.onnxruntime import files  # noqa: PLC0415

        return Artefact(files.copy_model(network.source_path, out), tolerance)
    if artefact in {"rewritten", "fast-convolutions"}:
        from workers.backends.onnxruntime import rewrite  # noqa: PLC0415

        provenance = rewrite.save_rewritten(network.source_path, path, artefact)
        return Artefact(path.name, tolerance, provenance)
    from workers.backends.onnxruntime import optimize  # noqa: PLC0415

    entry_point, provenance = optimize.save_optimized(network.source_path, out, artefact)
    return Artefact(entry_point, tolerance, provenance)
