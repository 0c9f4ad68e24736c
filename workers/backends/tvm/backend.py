"""Builds for Apache TVM on the CPU."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from workers.backends.packages import versions
from workers.backends.sessions import open_build
from workers.backends.tvm.menu import menu_of
from workers.backends.tvm.space import default_of, reference_of, space_of
from workers.backends.tvm.targets import target_of
from workers.engine.errors import BackendUnavailable, InvalidCandidate
from workers.engine.passes.menu import Menu
from workers.engine.ports import Array, Session
from workers.engine.profile import Profile
from workers.engine.space import Space
from workers.engine.types import BuildResult, Network, Options, TargetSpec

_PACKAGES = ("apache-tvm", "apache-tvm-ffi", "onnx")
#: What links the machine code; the first that is there.
_LINKERS = ("g++", "clang++", "c++")


class TvmBuilds:
    """What all devices share; as it stands, the CPU's."""

    name = "tvm"
    programs = True
    opening = frozenset({"threads"})

    def probe(self, target: TargetSpec) -> dict[str, str]:  # noqa: ARG002  the registry knows them
        """See :meth:`workers.engine.ports.Backend.probe`."""
        if not any(map(shutil.which, _LINKERS)):
            raise BackendUnavailable(
                f"Backend {self.name} links with a compiler of the system and finds none of "
                f"{', '.join(_LINKERS)}. Install one, such as the system's package g++."
            )
        return versions(self.name, _PACKAGES, "'hpcfair-hub[tvm]'")

    def space(self, network: Network, target: TargetSpec) -> Space:
        """See :func:`workers.backends.tvm.space.space_of`."""
        return space_of(network, target)

    def default(self, network: Network, target: TargetSpec) -> Options:
        """See :func:`workers.backends.tvm.space.default_of`."""
        return default_of(network, target)

    def reference(self, network: Network, target: TargetSpec) -> Options:
        """See :func:`workers.backends.tvm.space.reference_of`."""
        return reference_of(network, target)

    def build(
        self, network: Network, target: TargetSpec, options: Options, out: Path
    ) -> BuildResult:
        """See :meth:`workers.engine.ports.Backend.build`."""
        # A build can be made again from its options alone, whatever portfolio of passes there is;
        # whether a list is legal, compiling says with the reason.
        lists = {**network.passes, self.name: (str(options.get("passes")),)}
        if not self.space(replace(network, passes=lists), target).contains(options):
            raise InvalidCandidate(f"these options are not in the space of {self.name}: {options}")
        # Imported here: TVM is heavy, and a child lives for one build.
        import workers.backends.tvm.without_torch  # noqa: F401, PLC0415
        from workers.backends.tvm import artefact  # noqa: PLC0415

        named, runtime_options = self.lowered(target, options)
        entry_point, provenance = artefact.write(network, named, options, out)
        return BuildResult(
            outcome="measured",
            directory=out,
            entry_point=entry_point,
            runtime=self.name,
            runtime_options=runtime_options,
            tolerance="exact",
            # Linking copies the weights into a file, whatever was done to them; and TVM itself was
            # imported meanwhile.
            compile_s=sum(s for name, s in provenance["pass_s"].items() if name != "link"),
            toolchain=self.probe(target),
            provenance=provenance,
        )

    def lowered(self, target: TargetSpec, options: Options) -> tuple[dict[str, Any], Options]:
        """TVM's target of a candidate, and what its runtime is opened with."""
        return target_of(target, str(options["llvm"])), {"threads": options["threads"]}

    def load(self, build: BuildResult, target: TargetSpec) -> Session:  # noqa: ARG002
        """See :meth:`workers.engine.ports.Backend.load`."""
        import workers.backends.tvm.without_torch  # noqa: F401, PLC0415  as in build

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
        from workers.backends.tvm.profile import profile  # noqa: PLC0415  as in build

        session = self.load(build, target)
        try:
            return profile(network, build, session, inputs, out)
        finally:
            session.close()


class TvmBackend(TvmBuilds):
    """Apache TVM on the CPU; a :class:`~workers.engine.passes.menu.PassBackend`."""

    def menu(self, network: Network, target: TargetSpec) -> Menu:
        """See :meth:`workers.engine.passes.menu.PassBackend.menu`."""
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
        """See :meth:`workers.engine.passes.menu.PassBackend.rehearse`."""
        import workers.backends.tvm.without_torch  # noqa: F401, PLC0415  as in build
        from workers.backends.tvm import artefact  # noqa: PLC0415

        named, _ = self.lowered(target, options)
        return artefact.rehearse(network, named, options, timed=timed)
