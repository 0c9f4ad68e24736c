"""Builds for OpenVINO on the CPU."""

from pathlib import Path

from hpcfair.decoder import DecoderInputs
from hpcfair.precisions import TOLERANCE_OF
from workers.backends.base import Artefact, BaseBackend
from workers.backends.openvino.space import default_of, space_of
from workers.engine.errors import BackendUnavailable
from workers.engine.ports import Array
from workers.engine.profile import Profile
from workers.engine.space import Space
from workers.engine.types import BuildResult, Network, Options, TargetSpec

_ENTRY_POINT = "model.xml"


class OpenVinoBackend(BaseBackend):
    """Networks in OpenVINO's IR."""

    name = "openvino"
    packages = ("openvino", "nncf")
    reads_ml = False
    opening = frozenset({"threads", "pinning", "shapes"})

    def require(self, network: Network, target: TargetSpec) -> None:
        super().require(network, target)
        decoder = DecoderInputs.of(network.inputs)
        if decoder is not None and decoder.source is not None:
            raise BackendUnavailable(
                "It infers wrong shapes of empty tensors, and the source of an encoder-decoder is "
                "empty behind the first token."
            )

    def space(self, network: Network, target: TargetSpec) -> Space:
        return space_of(network, target)

    def default(self, network: Network, target: TargetSpec) -> Options:
        return default_of(network, target)

    def reference(self, network: Network, target: TargetSpec) -> Options:
        """Float32 on one thread. OpenVINO's optimiser cannot be switched off."""
        options = default_of(network, target)
        options.pop("pinning", None)
        return options | {"threads": "one"}

    def make(
        self,
        network: Network,
        target: TargetSpec,  # noqa: ARG002
        options: Options,
        out: Path,
    ) -> Artefact:
        from workers.backends.openvino import build  # noqa: PLC0415  heavy

        opened_with = self.runtime_options(options)
        made = build.make(network, options, opened_with, out / _ENTRY_POINT)
        return Artefact(_ENTRY_POINT, TOLERANCE_OF[made.precision], made.provenance)

    def runtime_options(self, options: Options) -> Options:
        precision = options["precision"]
        quantised = precision in {"int8", "mixed"}
        computed = options.get("rest", "float32") if quantised else precision
        return {**super().runtime_options(options), "precision": computed}

    def parallel(self, options: Options) -> tuple[Options, ...]:
        """With the hint, OpenVINO divides its threads among the requests."""
        others = {name: value for name, value in options.items() if name != "threads"}
        return ({**others, "hint": "throughput"},)

    def profile(
        self,
        network: Network,
        target: TargetSpec,  # noqa: ARG002
        build: BuildResult,
        inputs: dict[str, Array],
        out: Path,  # noqa: ARG002  OpenVINO does not disclose its kernels' code
    ) -> Profile:
        from workers.backends.openvino import profile  # noqa: PLC0415  heavy

        return profile.profile_build(network, build, inputs)
