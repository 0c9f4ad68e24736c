"""Builds by PyTorch's Inductor, for networks published as exported PyTorch programs."""

import os
import shutil
from pathlib import Path

from hpcfair.precisions import TOLERANCE_OF, Tolerance
from workers.backends.base import Artefact, BaseBackend
from workers.backends.torch.space import default_of, space_of
from workers.engine.errors import BackendUnavailable, InvalidCandidate
from workers.engine.ports import Array
from workers.engine.profile import Profile
from workers.engine.space import Space
from workers.engine.types import AlternativeFormat, BuildResult, Network, Options, TargetSpec

_ENTRY_POINT = "model.pt2"


class BaseTorchBackend(BaseBackend):
    """AOTInductor packages. Inductor always optimises, so there is no reference."""

    packages = ("torch",)
    #: Inductor writes C++ and runs the system's compiler and linker on it.
    programs = True

    def require(self, network: Network, target: TargetSpec) -> None:
        # Inductor's own choice of a compiler.
        compiler = os.environ.get("CXX", "g++")
        if not shutil.which(compiler):
            raise BackendUnavailable(
                f"Backend torch compiles C++ with {compiler}, which is missing. Install it, such "
                "as the system's package g++."
            )
        super().require(network, target)

    def reads_normal_form(self, options: Options) -> bool:  # noqa: ARG002
        return False

    def make(self, network: Network, target: TargetSpec, options: Options, out: Path) -> Artefact:
        program = _program(network)
        from workers.backends.torch.compile import compile_program  # noqa: PLC0415  heavy

        provenance = compile_program(program.path, network, target, options, out / _ENTRY_POINT)
        source = {"source": program.path.name, "source_sha256": program.sha256}
        return Artefact(_ENTRY_POINT, self.tolerance(target, options), source | provenance)

    def tolerance(self, target: TargetSpec, options: Options) -> Tolerance:  # noqa: ARG002
        """Deviation that is expected of a build with these options."""
        return TOLERANCE_OF[str(options["precision"])]


class TorchBackend(BaseTorchBackend):
    """Packages for processors."""

    name = "torch"
    opening = frozenset({"threads"})
    has_code = True

    def space(self, network: Network, target: TargetSpec) -> Space:  # noqa: ARG002
        return space_of(target)

    def default(self, network: Network, target: TargetSpec) -> Options:  # noqa: ARG002
        return default_of(target)

    def profile(
        self,
        network: Network,
        target: TargetSpec,
        build: BuildResult,
        inputs: dict[str, Array],
        out: Path,
    ) -> Profile:
        from workers.backends.torch import profile  # noqa: PLC0415  heavy

        return profile.profile_build(network, _program(network).path, target, build, inputs, out)


def _program(network: Network) -> AlternativeFormat:
    program = next((each for each in network.alternatives if each.format == "torch-export"), None)
    if program is None:
        raise InvalidCandidate(
            "Inductor takes PyTorch programs, not ONNX: publish the torch program too "
            "(hpcfair.save does)"
        )
    return program
