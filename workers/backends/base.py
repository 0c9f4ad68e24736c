"""Base class of backends: probing, checking options, building, loading, refusing to profile."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import metadata
from pathlib import Path
from typing import Any

from hpcfair.errors import HpcfairError, MissingPackage
from hpcfair.precisions import Tolerance
from hpcfair.runtimes import registry as runtimes
from workers.backends import registry
from workers.backends.space import is_ml
from workers.engine.errors import BackendUnavailable, InvalidCandidate
from workers.engine.ports import Array, Session
from workers.engine.profile import Profile
from workers.engine.space import Space
from workers.engine.types import BuildResult, Network, Options, TargetSpec


@dataclass(frozen=True, slots=True)
class Artefact:
    """Files written by :meth:`BaseBackend.make`.

    Attributes:
        entry_point: File that the runtime opens, relative to the output folder.
        tolerance: Deviation from the float32 reference that is expected by design.
        provenance: See :class:`workers.engine.types.BuildResult`.
        compile_s: Seconds spent compiling; 0.0 lets the engine take the duration of the build.
    """

    entry_point: str
    tolerance: Tolerance = "exact"
    provenance: Mapping[str, Any] = field(default_factory=dict)
    compile_s: float = 0.0


class BaseBackend(ABC):
    """A :class:`~workers.engine.ports.Backend` without its space, its defaults and its compiler.

    A subclass sets the attributes and implements :meth:`space`, :meth:`default` and :meth:`make`;
    it overrides :meth:`reference` and :meth:`profile` where the tool supports them. Modules of
    subclasses must not import heavy libraries at the top; :meth:`make` and :meth:`profile` run in
    child processes and import them.

    Attributes:
        name: Key in the table of backends, and name of the runtime that opens the artefacts.
        packages: Distributions that shape the artefacts; their versions are the toolchain.
        no_profile: Why builds cannot be profiled; used where :meth:`profile` is not overridden.
        reads_ml: Whether it reads operators of the domain ``ai.onnx.ml``, such as ensembles of
            trees and labels of classifiers.
        programs, opening, has_code: See :class:`~workers.engine.ports.Backend`.
    """

    name: str
    packages: tuple[str, ...] = ()
    no_profile: str = "this backend has no profiler"
    reads_ml: bool = True
    programs: bool = False
    opening: frozenset[str] = frozenset()
    has_code: bool = False

    @abstractmethod
    def space(self, network: Network, target: TargetSpec) -> Space:
        """See :meth:`workers.engine.ports.Backend.space`."""

    @abstractmethod
    def default(self, network: Network, target: TargetSpec) -> Options:
        """See :meth:`workers.engine.ports.Backend.default`."""

    @abstractmethod
    def make(self, network: Network, target: TargetSpec, options: Options, out: Path) -> Artefact:
        """Write the artefact of ``options``, a member of :meth:`space`, into the empty folder
        ``out``.

        Raises InvalidCandidate if the tool cannot build it. Other exceptions of the tool count as
        the same, except for missing modules, exhausted memory and full disks.
        """

    def probe(self, target: TargetSpec) -> dict[str, str]:  # noqa: ARG002  the table checks targets
        try:
            return {package: metadata.version(package) for package in self.packages}
        except metadata.PackageNotFoundError as error:
            hint = registry.hint_of(self.name)
            raise BackendUnavailable(
                f"Backend {self.name} needs the package {error.name}. {hint}".strip()
            ) from error

    def reads_normal_form(self, options: Options) -> bool:  # noqa: ARG002
        """See :meth:`workers.engine.ports.Backend.reads_normal_form`; every build by default."""
        return True

    def require(self, network: Network, target: TargetSpec) -> None:
        """See :meth:`workers.engine.ports.Backend.require`; imports the runtime by default."""
        unread = sorted(filter(is_ml, network.operators)) if not self.reads_ml else []
        if unread:
            raise BackendUnavailable(f"Backend {self.name} does not read {', '.join(unread)}.")
        self.probe(target)
        try:
            runtimes.runtime_of(self.name)
        except MissingPackage as error:
            raise BackendUnavailable(f"{error.detail} {error.hint}".strip()) from error

    def reference(self, network: Network, target: TargetSpec) -> Options:  # noqa: ARG002
        """See :meth:`workers.engine.ports.Backend.reference`; not available by default."""
        raise InvalidCandidate(f"backend {self.name} has no unoptimised mode")

    def build(
        self, network: Network, target: TargetSpec, options: Options, out: Path
    ) -> BuildResult:
        self.check(network, target, options)
        artefact = self.make(network, target, options, out)
        return BuildResult(
            outcome="measured",
            directory=out,
            entry_point=artefact.entry_point,
            runtime=self.name,
            runtime_options=self.runtime_options(options),
            tolerance=artefact.tolerance,
            compile_s=artefact.compile_s,
            toolchain=self.probe(target),
            provenance=dict(artefact.provenance),
        )

    def check(self, network: Network, target: TargetSpec, options: Options) -> None:
        """Refuse options that are not members of :meth:`space`: raises InvalidCandidate.

        Any list of passes is accepted, whichever lists the network proposes: a build must be
        repeatable from its options alone. Compiling reports illegal lists.
        """
        passes = options.get("passes")
        lists = (passes,) if isinstance(passes, str) else ()
        network = replace(network, passes={**network.passes, self.name: lists})
        if not self.space(network, target).contains(options):
            raise InvalidCandidate(f"these options are not in the space of {self.name}: {options}")

    def runtime_options(self, options: Options) -> Options:
        """Options that the runtime opens an artefact with; those of :attr:`opening` by default."""
        return {name: value for name, value in options.items() if name in self.opening}

    def load(self, build: BuildResult, target: TargetSpec) -> Session:  # noqa: ARG002
        return open_build(build)

    def profile(
        self,
        network: Network,  # noqa: ARG002
        target: TargetSpec,  # noqa: ARG002
        build: BuildResult,  # noqa: ARG002
        inputs: dict[str, Array],  # noqa: ARG002
        out: Path,  # noqa: ARG002
    ) -> Profile:
        """See :meth:`workers.engine.ports.Backend.profile`; not available by default."""
        raise InvalidCandidate(self.no_profile)


def open_build(build: BuildResult) -> Session:
    """Open a build through the runtime of ``hpcfair.runtimes`` that its users open it with.

    Raises InvalidCandidate if the build failed or its runtime cannot open it, and
    BackendUnavailable if the runtime's package is missing.
    """
    if build.directory is None:
        raise InvalidCandidate(f"nothing was built: {build.detail}")
    try:
        return runtimes.open(
            build.runtime, build.directory / build.entry_point, build.runtime_options
        )
    except MissingPackage as error:
        raise BackendUnavailable(str(error)) from error
    except HpcfairError as error:
        raise InvalidCandidate(f"{error.detail} {error.hint}".strip()) from error
