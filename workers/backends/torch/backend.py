"""Builds by torch.compile's compiler, for networks published as exported PyTorch programs."""

from pathlib import Path

from workers.backends.packages import versions
from workers.backends.sessions import open_build
from workers.backends.torch.space import default_of, space_of
from workers.engine.errors import InvalidCandidate
from workers.engine.ports import Array, Session
from workers.engine.profile import Profile
from workers.engine.space import Space
from workers.engine.types import BuildResult, Form, Network, Options, TargetSpec

_PACKAGE = "torch"


class TorchBackend:
    """AOTInductor packages; a :class:`~workers.engine.ports.Backend`."""

    name = "torch"
    #: Inductor writes C++ and has the system's compiler and linker make a library of it.
    programs = True
    opening = frozenset({"threads"})

    def probe(self, target: TargetSpec) -> dict[str, str]:  # noqa: ARG002
        """See :meth:`workers.engine.ports.Backend.probe`."""
        return versions(self.name, [_PACKAGE], "'hpcfair-hub[torch]'")

    def space(self, network: Network, target: TargetSpec) -> Space:  # noqa: ARG002
        """See :func:`workers.backends.torch.space.space_of`."""
        return space_of(target)

    def default(self, network: Network, target: TargetSpec) -> Options:  # noqa: ARG002
        """See :func:`workers.backends.torch.space.default_of`."""
        return default_of(target)

    def reference(self, network: Network, target: TargetSpec) -> Options:  # noqa: ARG002
        """There is none: Inductor always optimises."""
        raise InvalidCandidate("Inductor has no mode without optimisations")

    def build(
        self, network: Network, target: TargetSpec, options: Options, out: Path
    ) -> BuildResult:
        """See :meth:`workers.engine.ports.Backend.build`."""
        if not self.space(network, target).contains(options):
            raise InvalidCandidate(f"these options are not in the space of {self.name}: {options}")
        form = _form(network)
        # Imports PyTorch, which only a child may.
        from workers.backends.torch.compile import compile_program  # noqa: PLC0415

        provenance = compile_program(form.path, network, target, options, out / "model.pt2")
        return BuildResult(
            outcome="measured",
            directory=out,
            entry_point="model.pt2",
            runtime=self.name,
            runtime_options={"threads": options["threads"]},
            tolerance="bf16" if options["precision"] == "bfloat16" else "exact",
            toolchain=self.probe(target),
            provenance={"source": form.path.name, "source_sha256": form.sha256, **provenance},
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
        out: Path,
    ) -> Profile:
        """See :meth:`workers.engine.ports.Backend.profile`."""
        from workers.backends.torch import profile  # noqa: PLC0415  as in build

        return profile.profile_build(network, _form(network).path, target, build, inputs, out)


def _form(network: Network) -> Form:
    """The program as published.

    Raises:
        InvalidCandidate: it was not.
    """
    form = next((form for form in network.forms if form.format == "torch-export"), None)
    if form is None:
        raise InvalidCandidate(
            "Inductor takes PyTorch programs, not ONNX: publish the torch program too "
            "(hpcfair.save does)"
        )
    return form
