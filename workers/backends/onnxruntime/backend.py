"""Builds for ONNX Runtime on the CPU."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from hpcfair.errors import HpcfairError
from workers.backends.onnxruntime import passes
from workers.backends.onnxruntime.space import DEFAULT, optimised_of, reference_of, space_of
from workers.backends.packages import versions
from workers.backends.sessions import open_build
from workers.engine.errors import InvalidCandidate
from workers.engine.passes.menu import Menu
from workers.engine.ports import Array, Session
from workers.engine.profile import Profile
from workers.engine.space import Space
from workers.engine.types import BuildResult, Network, Options, TargetSpec, Tolerance

_PACKAGES = ("onnxruntime", "onnx")
_TOLERANCES: dict[str, Tolerance] = {
    "float32": "exact",
    "float16": "fp16",
    "bfloat16": "bf16",
    "int8-dynamic": "int8",
    "int8-static": "int8",
}
_PASSED_ON = ("graph_optimization", "threads", "execution", "spinning", "passes")


class OnnxRuntimeBackend:
    """ONNX Runtime's own knobs; a :class:`~workers.engine.ports.Backend`."""

    name = "onnxruntime"
    programs = False
    opening = frozenset({"graph_optimization", "threads", "execution", "spinning"})

    def probe(self, target: TargetSpec) -> dict[str, str]:  # noqa: ARG002  every target has a CPU
        """See :meth:`workers.engine.ports.Backend.probe`."""
        return versions(self.name, _PACKAGES, "onnxruntime onnx")

    def space(self, network: Network, target: TargetSpec) -> Space:
        """See :func:`workers.backends.onnxruntime.space.space_of`."""
        return space_of(network, target)

    def default(self, network: Network, target: TargetSpec) -> Options:  # noqa: ARG002
        """``InferenceSession(path)`` on the original file."""
        return dict(DEFAULT)

    def reference(self, network: Network, target: TargetSpec) -> Options:
        """See :func:`workers.backends.onnxruntime.space.reference_of`."""
        return reference_of(network, target)

    def build(
        self, network: Network, target: TargetSpec, options: Options, out: Path
    ) -> BuildResult:
        """See :meth:`workers.engine.ports.Backend.build`."""
        if not self._takes(network, target, options):
            raise InvalidCandidate(f"these options are not in the space of {self.name}: {options}")
        precision = str(options.get("precision", "float32"))
        runtime_options = _runtime_options(options)
        try:
            entry_point, provenance = _make(precision, network, target, options, out)
            if "passes" in options:
                found = passes.fingerprint(out / entry_point, runtime_options, out)
                provenance["fingerprint"] = found
        except (InvalidCandidate, MemoryError, OSError):
            raise
        # The tools raise whatever they stumble over.
        except Exception as error:
            raise InvalidCandidate(f"{precision}: {type(error).__name__}: {error}") from error
        return BuildResult(
            outcome="measured",
            directory=out,
            entry_point=entry_point,
            runtime=self.name,
            runtime_options=runtime_options,
            tolerance=_TOLERANCES[precision],
            toolchain=self.probe(target),
            provenance=provenance,
        )

    def menu(self, network: Network, target: TargetSpec) -> Menu:
        """See :meth:`workers.engine.passes.menu.PassBackend.menu`."""
        return passes.menu_of(optimised_of(network, target))

    def rehearse(
        self, network: Network, target: TargetSpec, options: Options, out: Path, *, timed: bool
    ) -> tuple[float, str]:
        """See :meth:`workers.engine.passes.menu.PassBackend.rehearse`."""
        if not self._takes(network, target, options):
            raise InvalidCandidate(f"these options are not in the space of {self.name}: {options}")
        path, runtime_options = network.model_path, _runtime_options(options)
        try:
            if timed:
                return passes.open_s(path, runtime_options), ""
            return 0.0, passes.fingerprint(path, runtime_options, out)
        except HpcfairError as error:
            raise InvalidCandidate(error.detail) from error

    def _takes(self, network: Network, target: TargetSpec, options: Options) -> bool:
        """Whether options are in the space, or would be under another portfolio of passes: a build
        can be made again from its options alone."""
        value = options.get("passes")
        known = (value,) if isinstance(value, str) and passes.are_known(value) else ()
        network = replace(network, passes={**network.passes, self.name: known})
        return self.space(network, target).contains(options)

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
        """See :func:`workers.backends.onnxruntime.profile.profile_build`."""
        from workers.backends.onnxruntime.profile import profile_build  # noqa: PLC0415  heavy

        return profile_build(network, target, build, inputs)


def _runtime_options(options: Options) -> Options:
    """What the runtime opens a build with."""
    if options["default"]:
        return dict(DEFAULT)
    # Lower precisions are only worth it with every fusion of their kernels.
    passed_on = {name: options[name] for name in _PASSED_ON if name in options}
    lowered: Options = {"bf16_gemm": True} if options["precision"] == "bfloat16" else {}
    return {"graph_optimization": "all", **passed_on, **lowered}


def _make(
    precision: str, network: Network, target: TargetSpec, options: Options, out: Path
) -> tuple[str, dict[str, Any]]:
    """Write the artefact; returns its entry point and its provenance."""
    path = out / "model.onnx"
    artefact = str(options.get("artefact", "onnx"))
    # Each imported where it is needed: a child lives for one build, and imports are half its life.
    if precision in {"int8-dynamic", "int8-static", "float16"}:
        from workers.backends.onnxruntime import quantize  # noqa: PLC0415

        lower = quantize.LOWER[precision]
        return path.name, lower(network, target, options, path)
    if artefact == "onnx":
        from workers.backends.onnxruntime import files  # noqa: PLC0415

        return files.copy_model(network.model_path, out), {}
    if artefact == "rewritten":
        from workers.backends.onnxruntime import rewrite  # noqa: PLC0415

        return path.name, rewrite.save_rewritten(network.model_path, path)
    from workers.backends.onnxruntime import optimize  # noqa: PLC0415

    return optimize.save_optimized(network.model_path, out, artefact)
