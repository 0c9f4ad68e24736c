"""Builds for LiteRT on the CPU."""

import shutil
from pathlib import Path

from workers.backends.litert.space import (
    CONVERTED,
    default_of,
    published,
    reference_of,
    space_of,
)
from workers.backends.packages import versions
from workers.backends.sessions import open_build
from workers.engine.errors import InvalidCandidate
from workers.engine.ports import Array, Session
from workers.engine.profile import Profile
from workers.engine.space import Space
from workers.engine.types import BuildResult, Network, Options, TargetSpec

_PACKAGE = "ai-edge-litert"
_PASSED_ON = ("kernels", "threads")


class LiteRtBackend:
    """TensorFlow Lite files as published; a :class:`~workers.engine.ports.Backend`."""

    name = "litert"
    programs = False
    opening = frozenset(_PASSED_ON)

    def probe(self, target: TargetSpec) -> dict[str, str]:  # noqa: ARG002  every target has a CPU
        """See :meth:`workers.engine.ports.Backend.probe`."""
        return versions(self.name, [_PACKAGE], "'hpcfair-hub[litert]'")

    def space(self, network: Network, target: TargetSpec) -> Space:
        """See :func:`workers.backends.litert.space.space_of`."""
        return space_of(network, target)

    def default(self, network: Network, target: TargetSpec) -> Options:
        """See :func:`workers.backends.litert.space.default_of`."""
        return default_of(network, target)

    def reference(self, network: Network, target: TargetSpec) -> Options:
        """See :func:`workers.backends.litert.space.reference_of`."""
        return reference_of(network, target)

    def build(
        self, network: Network, target: TargetSpec, options: Options, out: Path
    ) -> BuildResult:
        """See :meth:`workers.engine.ports.Backend.build`."""
        if not self.space(network, target).contains(options):
            raise InvalidCandidate(f"these options are not in the space of {self.name}: {options}")
        source, path = str(options["source"]), out / "model.tflite"
        # Both import LiteRT, which only a child may.
        if source in CONVERTED:
            from workers.backends.litert.convert import convert  # noqa: PLC0415

            made = convert(network, CONVERTED[source], path)
        else:
            form = published(network)[source]
            shutil.copyfile(form.path, path)
            made = {"source": source, "source_sha256": form.sha256}
        from workers.backends.litert.files import describe  # noqa: PLC0415

        tolerance, facts = describe(path, network)
        return BuildResult(
            outcome="measured",
            directory=out,
            entry_point=path.name,
            runtime=self.name,
            runtime_options={name: options[name] for name in _PASSED_ON if name in options},
            tolerance=tolerance,
            toolchain=self.probe(target),
            provenance={**made, **facts},
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
            "LiteRT tells Python which operators it runs, but not how long each takes: that is "
            "left to its benchmark program, which its package does not hold"
        )
