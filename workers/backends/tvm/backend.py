"""Builds for Apache TVM on the CPU."""

import shutil
from pathlib import Path
from typing import Any

from hpcfair import machine
from hpcfair.decoder import DecoderInputs
from workers.backends.base import Artefact, BaseBackend
from workers.backends.tvm import cross
from workers.backends.tvm.menu import menu_of
from workers.backends.tvm.space import default_of, reference_of, space_of
from workers.backends.tvm.targets import target_of
from workers.engine.errors import BackendUnavailable
from workers.engine.passes.menu import Menu
from workers.engine.ports import Array, Session
from workers.engine.profile import Profile
from workers.engine.space import Space
from workers.engine.types import BuildResult, Network, Options, TargetSpec

#: Programs that can link the machine code, in the order in which TVM looks for them. It is not C++
#: code, so a C compiler is sufficient.
_LINKERS = ("g++", "gcc", "clang++", "clang", "c++", "cc")


class BaseTvmBackend(BaseBackend):
    """Libraries for TVM's virtual machine on any device; the defaults are those of the CPU."""

    name = "tvm"
    packages = ("apache-tvm", "apache-tvm-ffi", "onnx")
    reads_ml = False
    programs = True
    opening = frozenset({"threads"})
    has_code = True

    def probe(self, target: TargetSpec) -> dict[str, str]:
        if target.architecture != machine.architecture():
            cross.linker()
        elif not any(map(shutil.which, _LINKERS)):
            raise BackendUnavailable(
                f"Backend {self.name} links with a compiler of the system and finds none of "
                f"{', '.join(_LINKERS)}. Install one, such as the system's package gcc."
            )
        return super().probe(target)

    def require(self, network: Network, target: TargetSpec) -> None:
        import workers.backends.tvm.without_torch  # noqa: F401, PLC0415  heavy

        super().require(network, target)
        if DecoderInputs.of(network.inputs) is not None:
            raise BackendUnavailable(
                "Its loops do not run on empty tensors, and the cache of a decoder is empty before "
                "the first token."
            )

    def space(self, network: Network, target: TargetSpec) -> Space:
        return space_of(network, target)

    def default(self, network: Network, target: TargetSpec) -> Options:
        return default_of(network, target)

    def parallel(self, options: Options) -> tuple[Options, ...]:
        """Each stream has a thread pool of its own."""
        return ({**options, "threads": "one"},) if "threads" in self.opening else ()

    def make(self, network: Network, target: TargetSpec, options: Options, out: Path) -> Artefact:
        import workers.backends.tvm.without_torch  # noqa: F401, PLC0415  heavy
        from workers.backends.tvm import artefact  # noqa: PLC0415

        compiler_target = self.compiler_target(target, options)
        entry_point, provenance = artefact.write(network, compiler_target, options, out)
        # Importing TVM and linking, which copies the weights into a file, do not count.
        seconds = sum(s for name, s in provenance["pass_s"].items() if name != "link")
        return Artefact(entry_point, provenance=provenance, compile_s=seconds)

    def compiler_target(self, target: TargetSpec, options: Options) -> dict[str, Any]:
        """TVM's target of a candidate."""
        return target_of(target, str(options["llvm"]))

    def load(self, build: BuildResult, target: TargetSpec) -> Session:
        import workers.backends.tvm.without_torch  # noqa: F401, PLC0415  heavy

        return super().load(build, target)

    def profile(
        self,
        network: Network,
        target: TargetSpec,
        build: BuildResult,
        inputs: dict[str, Array],
        out: Path,
    ) -> Profile:
        from workers.backends.tvm.profile import profile  # noqa: PLC0415  heavy

        session = self.load(build, target)
        try:
            return profile(network, build, session, inputs, out)
        finally:
            session.close()


class TvmBackend(BaseTvmBackend):
    """Apache TVM on the CPU; also a :class:`~workers.engine.passes.menu.PassBackend`."""

    def reference(self, network: Network, target: TargetSpec) -> Options:
        return reference_of(network, target)

    def menu(self, network: Network, target: TargetSpec) -> Menu:
        return menu_of(network, target)

    def rehearse(
        self,
        network: Network,
        target: TargetSpec,
        options: Options,
        out: Path,  # noqa: ARG002
        *,
        timed: bool,
    ) -> tuple[float, str]:
        import workers.backends.tvm.without_torch  # noqa: F401, PLC0415  heavy
        from workers.backends.tvm import artefact  # noqa: PLC0415

        compiler_target = self.compiler_target(target, options)
        return artefact.rehearse(network, compiler_target, options, timed=timed)
