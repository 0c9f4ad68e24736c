"""Builds for OpenVINO on the CPU."""

from pathlib import Path

from workers.backends.openvino.space import default_of, space_of
from workers.backends.packages import versions
from workers.backends.sessions import open_build
from workers.engine.errors import InvalidCandidate
from workers.engine.ports import Array, Session
from workers.engine.profile import Profile
from workers.engine.space import Space
from workers.engine.types import BuildResult, Network, Options, TargetSpec, Tolerance

_PACKAGES = ("openvino", "nncf")
_TOLERANCES: dict[str, Tolerance] = {
    "float32": "exact",
    "float16": "fp16",
    "bfloat16": "bf16",
    "int8": "int8",
}
_PASSED_ON = ("threads", "pinning", "shapes")
_ENTRY_POINT = "model.xml"


class OpenVinoBackend:
    """OpenVINO's own knobs; a :class:`~workers.engine.ports.Backend`."""

    name = "openvino"
    programs = False
    opening = frozenset(_PASSED_ON)

    def probe(self, target: TargetSpec) -> dict[str, str]:  # noqa: ARG002  every target has a CPU
        """See :meth:`workers.engine.ports.Backend.probe`."""
        return versions(self.name, _PACKAGES, "'hpcfair-hub[openvino]'")

    def space(self, network: Network, target: TargetSpec) -> Space:
        """See :func:`workers.backends.openvino.space.space_of`."""
        return space_of(network, target)

    def default(self, network: Network, target: TargetSpec) -> Options:
        """See :func:`workers.backends.openvino.space.default_of`."""
        return default_of(network, target)

    def reference(self, network: Network, target: TargetSpec) -> Options:
        """As near as OpenVINO comes: float32, one thread. Its optimiser cannot be switched off."""
        options = default_of(network, target)
        options.pop("pinning", None)
        return options | {"threads": "one"}

    def build(
        self, network: Network, target: TargetSpec, options: Options, out: Path
    ) -> BuildResult:
        """See :meth:`workers.engine.ports.Backend.build`."""
        if not self.space(network, target).contains(options):
            raise InvalidCandidate(f"these options are not in the space of {self.name}: {options}")
        precision = str(options["precision"])
        computed = str(options.get("rest", "float32")) if precision == "int8" else precision
        runtime_options: Options = {name: options[name] for name in _PASSED_ON if name in options}
        runtime_options["precision"] = computed
        # Imported here: it takes half a second, and the worker itself must not.
        from workers.backends.openvino import build  # noqa: PLC0415

        try:
            provenance = build.make(network, options, runtime_options, out / _ENTRY_POINT)
        except (InvalidCandidate, MemoryError, OSError):
            raise
        # The tools raise whatever they stumble over.
        except Exception as error:
            raise InvalidCandidate(f"{precision}: {type(error).__name__}: {error}") from error
        return BuildResult(
            outcome="measured",
            directory=out,
            entry_point=_ENTRY_POINT,
            runtime=self.name,
            runtime_options=runtime_options,
            tolerance=_TOLERANCES[precision],
            toolchain=self.probe(target),
            provenance=provenance,
        )

    def load(self, build: BuildResult, target: TargetSpec) -> Session:  # noqa: ARG002
        """See :meth:`workers.engine.ports.Backend.load`."""
        return open_build(build)

    def profile(
        self,
        network: Network,
        target: TargetSpec,  # noqa: ARG002
        build: BuildResult,
        inputs: dict[str, Array],
        out: Path,  # noqa: ARG002  OpenVINO does not give away its kernels' code
    ) -> Profile:
        """See :meth:`workers.engine.ports.Backend.profile`."""
        from workers.backends.openvino import profile  # noqa: PLC0415  as above

        return profile.profile_build(network, build, inputs)
