"""Builds for LiteRT on the CPU."""

import shutil
from importlib import util
from pathlib import Path

from workers.backends.base import Artefact, BaseBackend
from workers.backends.litert.space import (
    CONVERTED,
    CONVERTER,
    default_of,
    published,
    reference_of,
    space_of,
)
from workers.engine.errors import BackendUnavailable
from workers.engine.space import Space
from workers.engine.types import Network, Options, TargetSpec


class LiteRtBackend(BaseBackend):
    """TensorFlow Lite files, as published or converted from PyTorch programs."""

    name = "litert"
    packages = ("ai-edge-litert",)
    opening = frozenset({"kernels", "threads"})
    no_profile = (
        "LiteRT's Python package lists the operators that run but does not time them; "
        "its benchmark program, which does, is not part of the package"
    )

    def reads_normal_form(self, options: Options) -> bool:  # noqa: ARG002
        return False

    def space(self, network: Network, target: TargetSpec) -> Space:
        return space_of(network, target)

    def require(self, network: Network, target: TargetSpec) -> None:
        super().require(network, target)
        if not published(network) and not util.find_spec(CONVERTER):
            raise BackendUnavailable(
                "Backend litert needs litert-torch to convert PyTorch programs. Install it with: "
                "pip install 'hpcfair-hub[litert-convert]'"
            )

    def default(self, network: Network, target: TargetSpec) -> Options:
        return default_of(network, target)

    def reference(self, network: Network, target: TargetSpec) -> Options:  # noqa: ARG002
        return reference_of(network)

    def parallel(self, options: Options) -> tuple[Options, ...]:
        """Each stream has an interpreter of its own."""
        return ({**options, "threads": "one"},)

    def make(
        self,
        network: Network,
        target: TargetSpec,  # noqa: ARG002
        options: Options,
        out: Path,
    ) -> Artefact:
        source, path = str(options["source"]), out / "model.tflite"
        if source in CONVERTED:
            from workers.backends.litert.convert import convert  # noqa: PLC0415  heavy

            provenance = convert(network, CONVERTED[source], path)
        else:
            form = published(network)[source]
            shutil.copyfile(form.path, path)
            provenance = {"source": source, "source_sha256": form.sha256}
        from workers.backends.litert.files import describe  # noqa: PLC0415  heavy

        tolerance, facts = describe(path, network)
        return Artefact(path.name, tolerance, {**provenance, **facts})
