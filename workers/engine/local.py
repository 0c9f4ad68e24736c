"""This machine as a device: a child process for every build and every session.

::

    scratch/
      1/tmp  1/artefact       a build's child may write here, and read the network
      2/tmp  2/normal         the child that makes the normal form may write here, likewise
      3/tmp                   a session's child may write here, and read the build that it opened
      intermediates/          files that builds share: their children may read them
"""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any, Self

from hpcfair.isolation.sandbox import LEVELS
from workers.engine.artefact_cache import ArtefactCache
from workers.engine.child import Child, package_folder
from workers.engine.errors import CandidateFailed
from workers.engine.handover import profile_of, protocol_error, remove, result_of
from workers.engine.intermediates import FOLDER, IntermediateStore
from workers.engine.local_session import WORK, LocalSession
from workers.engine.normalform import NormalForm, SharedNormalForm, read_paths
from workers.engine.othermachine import OtherMachine
from workers.engine.ports import Array, Backend, EnergyCounter, RunningSession
from workers.engine.profile import Profile
from workers.engine.requests import TuningRequest
from workers.engine.testset import TestSet, received_test_set
from workers.engine.types import BuildResult, Network, Options

_ARTEFACT, _NORMAL = "artefact", "normal"
_LONGEST_DETAIL = 4000


class LocalDevice:
    """A :class:`~workers.engine.ports.Device` of confined child processes.

    Used by one thread, which must outlive it (see :class:`workers.engine.child.Child`).

    Args:
        request: Only its network, target, limits and normaliser are used.
        backends: By name. A child process receives only the class and creates its own object.
        scratch: Existing folder; everything created in it is deleted when the device closes.
        counters: Energy counters of the machine.
        other: The machine that runs the children, if it is not this one.

    Attributes:
        isolation: The weakest isolation level of all children so far, one of
            :data:`hpcfair.isolation.sandbox.LEVELS`; ``None`` before the first child.
    """

    def __init__(
        self,
        request: TuningRequest,
        backends: Mapping[str, Backend],
        scratch: Path,
        counters: Sequence[EnergyCounter] = (),
        other: OtherMachine | None = None,
    ) -> None:
        self.counters = counters
        self._other = other
        self._network, self._target, self._limits = request.network, request.target, request.limits
        self._shared = SharedNormalForm(request, backends, self._normaliser)
        self._paths = {
            name: f"{type(backend).__module__}:{type(backend).__qualname__}"
            for name, backend in backends.items()
        }
        self._cache = ArtefactCache({name: backend.opening for name, backend in backends.items()})
        self._programs = {name: backend.programs for name, backend in backends.items()}
        # A third-party backend may be anywhere on sys.path.
        self._code_folders = tuple({package_folder(type(backend)) for backend in backends.values()})
        self._scratch = scratch.resolve(strict=True)
        self._intermediates = IntermediateStore(self._scratch / FOLDER, self._limits)
        self._folders = 0
        self._sessions: list[LocalSession] = []
        self.isolation: str | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for session in self._sessions:
            session.close()
        for name in (FOLDER, *range(1, self._folders + 1)):
            remove(self._scratch / str(name))

    @property
    def normal_form(self) -> NormalForm | None:
        """The normal form of the network; ``None`` before the first build that reads it."""
        return self._shared.result

    def test_set(self, rows: int, seed: int) -> TestSet:
        path = self._network.samples_path
        folder = self._new_folder()
        try:
            with self._runner(folder, *([path] if path else [])) as child:
                made = child.call(f"{WORK}:test_set", network=self._network, rows=rows, seed=seed)
            return received_test_set(made)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise protocol_error(error) from error
        finally:
            remove(folder)

    def fault_of(self, backend: str) -> str:
        """Why nothing of a backend can be built or opened on this machine; empty if it can."""
        folder = self._new_folder()
        try:
            with self._builder(backend, folder, self._network.model_path.parent) as child:
                child.call(
                    f"{WORK}:require",
                    backend=self._paths[backend],
                    network=self._network,
                    target=self._target,
                )
        except CandidateFailed as failure:
            # A failure of the machine says nothing about the backend.
            is_fault = failure.outcome != "infrastructure" or failure.cause == "unavailable"
            return str(failure)[:_LONGEST_DETAIL] if is_fault else ""
        finally:
            remove(folder)
        return ""

    def build(self, backend: str, options: Options) -> BuildResult:
        folder = self._new_folder()
        artefact = folder / _ARTEFACT
        started = perf_counter()
        try:
            network = self._shared.read_by(backend, options)
            source = network.source_path
            if (shared := self._cache.copy(backend, options, source, artefact)) is not None:
                return shared
            artefact.mkdir()
            described = self._build_in_child(folder, backend, network, options, artefact)
            build = result_of(described, artefact, self._limits)
            build = self._shared.recorded_in(build, backend, options)
        except CandidateFailed as failure:
            remove(folder)
            return BuildResult(
                outcome=failure.outcome,
                compile_s=perf_counter() - started,
                detail=str(failure)[:_LONGEST_DETAIL],
            )
        self._cache.put(backend, options, source, build)
        return build

    def discard(self, build: BuildResult) -> None:
        if build.directory is not None and build.directory.is_relative_to(self._scratch):
            remove(build.directory.parent)

    def profile(
        self, backend: str, build: BuildResult, inputs: Mapping[str, Array], out: Path
    ) -> Profile:
        if build.directory is None:
            raise CandidateFailed("invalid", f"nothing was built: {build.detail}")
        folder = self._new_folder()
        code = folder / _ARTEFACT
        code.mkdir()
        network = self._shared.read_for(build)
        readable = (*read_paths(network), build.directory)
        try:
            with self._runner(folder, *readable, programs=self._programs[backend]) as child:
                described = child.call(
                    f"{WORK}:profile",
                    backend=self._paths[backend],
                    network=network,
                    target=self._target,
                    result=build,
                    inputs=inputs,
                    out=code,
                )
            profile = profile_of(described, code, self._limits)
            shutil.copytree(code, out, dirs_exist_ok=True)
            return profile
        finally:
            remove(folder)

    def open(
        self, backend: str, build: BuildResult, role: str, inputs: Mapping[str, Array]
    ) -> RunningSession:
        if build.directory is None:
            raise CandidateFailed("invalid", f"{role}: nothing was built: {build.detail}")
        folder = self._new_folder()
        session = LocalSession(child := self._runner(folder, build.directory), folder)
        try:
            child.call(
                f"{WORK}:open_build",
                backend=self._paths[backend],
                result=build,
                target=self._target,
                inputs=inputs,
            )
        except BaseException:
            session.close()
            raise
        self._sessions = [*(opened for opened in self._sessions if not opened.is_closed), session]
        return session

    def _normaliser(self) -> tuple[Child, Path]:
        folder = self._new_folder()
        (folder / _NORMAL).mkdir()
        return self._child(folder, *read_paths(self._network)), folder / _NORMAL

    def _build_in_child(
        self, folder: Path, backend: str, network: Network, options: Options, artefact: Path
    ) -> Any:
        network = replace(network, shared=self._intermediates.folders(folder))
        try:
            with self._builder(backend, folder, *read_paths(network)) as child:
                return child.call(
                    f"{WORK}:build",
                    backend=self._paths[backend],
                    network=network,
                    target=self._target,
                    options=options,
                    out=artefact,
                )
        finally:
            # Those of a build that failed serve others: the study of layers, if no plan gains.
            self._intermediates.take(folder)

    def _builder(self, backend: str, folder: Path, *readable: Path) -> Child:
        """A child on the machine that makes the builds of a backend."""
        is_here = self._other is None or backend in self._other.built_here
        return self._child(
            folder,
            *readable,
            programs=self._programs[backend],
            other=None if is_here else self._other,
        )

    def _runner(self, folder: Path, *readable: Path, programs: bool = False) -> Child:
        """A child on the machine that runs builds."""
        return self._child(folder, *readable, programs=programs, other=self._other)

    def _child(
        self,
        folder: Path,
        *readable: Path,
        programs: bool = False,
        other: OtherMachine | None = None,
    ) -> Child:
        child = Child(
            self._limits,
            folder,
            (*self._code_folders, *readable),
            programs=programs,
            gpu="cuda" in self._target.features,
            interpreter=other.interpreter if other else None,
        )
        self.isolation = min(self.isolation or child.isolation, child.isolation, key=LEVELS.index)
        return child

    def _new_folder(self) -> Path:
        self._folders += 1
        folder = self._scratch / str(self._folders)
        folder.mkdir()
        return folder
