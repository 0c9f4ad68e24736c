"""Methods of the client for what searches yield: builds and benchmark records."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, overload

from hpcfair import loading, mlmodel, pid, prefetching, record, reproduction, resolution
from hpcfair.acceptance import Acceptance
from hpcfair.directload import load_direct
from hpcfair.errors import ModelNotFound
from hpcfair.fetchedmodel import Guard
from hpcfair.loaded import Loaded
from hpcfair.loadoptions import LoadForm, LoadOptions, check_options
from hpcfair.methods.base import BaseClient
from hpcfair.modelbundle.source import source_of
from hpcfair.modelnames import suggest_names
from hpcfair.origin import is_origin, origin_of
from hpcfair.precisions import Tolerance
from hpcfair.prefetching import Prefetch, PrefetchOptions
from hpcfair.record import Record
from hpcfair.reproduction import Reproduction
from hpcfair.resolution import Resolution
from hpcfair.scenarios import SINGLE_STREAM, Scenario, checked_scenario
from hpcfair.targetdefinition import target_list
from hpcfair.types import Build
from hpcfair.typingnames import Unpack


class ResultMethods(BaseClient):
    """Methods of the client for what searches yield: builds and benchmark records."""

    @overload
    def load(
        self, name: str, *, as_: Literal["model"] = "model", **how: Unpack[LoadOptions]
    ) -> Loaded: ...
    @overload
    def load(self, name: str, *, as_: Literal["path"], **how: Unpack[LoadOptions]) -> Path: ...
    # Objects of libraries that need not be installed, and state no types.
    @overload
    def load(
        self, name: str, *, as_: Literal["session", "onnx", "torch"], **how: Unpack[LoadOptions]
    ) -> Any: ...
    def load(self, name: str, *, as_: LoadForm = "model", **how: Unpack[LoadOptions]) -> Any:
        """Load the fastest trustworthy build for this machine.

        Without one, the published model is loaded with a :class:`PlainModelWarning`; without the
        hub, by its last answer with a :class:`StaleAnswerWarning`.

        Args:
            name: ``namespace/name``, or a persistent identifier of a model or of one version:
                ``ark:/99999/h2...``, ``doi:10.../...``, or a URL of either; or the path of a
                :meth:`bundle`, which is loaded without the hub; or ``hf:org/name``, which is loaded
                as published from another server. Limits, target and scenario do not apply there.
            as_: What is returned:

                - ``model``: a :class:`Loaded`;
                - ``session``: the build as its runtime opens it, such as an
                  ``onnxruntime.InferenceSession``, without checks, names and types of the
                  signature;
                - ``path``: the file that the runtime would open, beside its other files, unopened;
                - ``onnx``: the published network as an ``onnx.ModelProto``;
                - ``torch``: the published network as a PyTorch module that takes tensors in the
                  order of the signature: the exported program if the author saved a PyTorch module,
                  else the ONNX network converted by ``onnx2fx`` and compared with ONNX Runtime.

                The last two ignore target, limits and scenario.
            how: ``revision``, ``target``, ``tolerance``, ``min_accuracy``, ``scenario``,
                ``verify``, ``place_caller``, ``signed``, ``isolated``, ``comm``, ``threads``,
                ``device``: see :class:`LoadOptions`.

        Raises:
            ModelNotFound, RevisionNotFound, Withdrawn, Corrupt: as the classes say.
            Untrusted: a signature is wrong, or missing although it is required.
            BadInput: no such form, tolerance, scenario or device, a limit is not a number from 0
                to 1, or the runtime cannot have ``threads``.
            Invalid: ``min_accuracy`` of a model that has no labelled samples.
            MissingPackage: no runtime is installed, or a package that the form needs.
            NoModelFile: the published network is not in ONNX, which the form needs; or the origin
                holds none.
            NotSupported: the network cannot be converted, or the runtime has no session.
        """
        check_options(as_, how)
        if is_origin(name):
            origin = origin_of(name, self.config, how.get("revision"))
            return load_direct(self.http, self.cache, origin, as_, how)
        revision = how.get("revision")
        comm = how.get("comm")
        http, cache, name, how["revision"] = source_of(
            self.http, self.cache, name, revision, comm=comm
        )
        try:
            return loading.load_as(http, cache, name, as_, how)
        except ModelNotFound as error:
            # Not from all processes of a cluster at the same time.
            if comm is None:
                suggest_names(error, http, cache, name)
            raise

    def prefetch(
        self,
        name: str,
        *,
        targets: Sequence[str] = (),
        runtimes: Sequence[str] = (),
        revision: str | None = None,
        tolerance: Tolerance | float | None = None,
        min_accuracy: float | None = None,
        scenario: Scenario = SINGLE_STREAM,
        signed: bool | None = None,
    ) -> list[Prefetch]:
        """Fetch the best builds for other machines into the cache, and open none.

        A machine that shares the cache and has the features of a target then loads its build
        without the hub, by a call of :meth:`load` with the same revision, limits and scenario. A
        newer build replaces the one that an earlier call fetched.

        Args:
            name: As in :meth:`load`, from a hub.
            targets: Targets of the machines; default: that of this machine.
            runtimes: Runtimes that they have, such as ``onnxruntime``; default: those that are
                installed here.
            revision: Branch, tag or commit id; default: the default branch.
            tolerance, min_accuracy, scenario, signed: As in :meth:`load`.

        Raises:
            ModelNotFound, RevisionNotFound, NotFound: there is no such model, revision or target.
            BadInput: there is no such runtime, tolerance or scenario.
            MissingPackage: no runtime is installed here, and none is stated.
            Untrusted: a signature is wrong, or missing although it is required.
        """
        options = PrefetchOptions(
            target_list(targets),
            runtimes,
            Acceptance.of(tolerance, min_accuracy),
            checked_scenario(scenario),
            Guard(signed=signed),
        )
        name, revision = pid.locate(self.http, self.cache, name, revision)
        return prefetching.prefetch(self.http, self.cache, name, revision, options)

    def resolve(
        self,
        name: str,
        *,
        revision: str | None = None,
        target: str | None = "auto",
        tolerance: Tolerance | float | None = None,
        min_accuracy: float | None = None,
        scenario: Scenario = SINGLE_STREAM,
    ) -> Resolution:
        """The build that :meth:`load` would load."""
        limits = Acceptance.of(tolerance, min_accuracy)
        http, cache, name, revision = source_of(self.http, self.cache, name, revision)
        return resolution.resolve(
            http,
            cache,
            name,
            revision=revision,
            target=target,
            acceptance=limits,
            scenario=checked_scenario(scenario),
        )

    def reproduce(
        self,
        name: str,
        *,
        revision: str | None = None,
        target: str | None = "auto",
        tolerance: Tolerance | float | None = None,
        min_accuracy: float | None = None,
    ) -> Reproduction:
        """Run a model on its test tensors on this machine and compare the outputs.

        The arguments are those of :meth:`load`, whose build is run.

        Raises:
            BadInput: the revision has no test tensors.
            MissingPackage: the ``onnx`` package is not installed.
        """
        limits = Acceptance.of(tolerance, min_accuracy)
        http, cache, name, revision = source_of(self.http, self.cache, name, revision)
        return reproduction.reproduce(
            http, cache, name, revision=revision, target=target, acceptance=limits
        )

    def builds(
        self,
        name: str,
        *,
        revision: str | None = None,
        target: str | None = None,
        tolerance: Tolerance | float | None = None,
        min_accuracy: float | None = None,
        scenario: Scenario = SINGLE_STREAM,
    ) -> list[Build]:
        """Published builds of a revision in a scenario: all, or those within limits as of
        :meth:`load`.

        Those with a ``limit`` are the Pareto front: ``load(name, tolerance=build.limit)`` loads
        them on machines of their target.
        """
        limits = Acceptance.of(tolerance, min_accuracy)
        http, _, name, revision = source_of(self.http, self.cache, name, revision)
        return mlmodel.builds(
            http,
            name,
            revision=revision,
            target=target,
            acceptance=None if limits.is_default else limits,
            scenario=checked_scenario(scenario),
        )

    def record(self, record_id: str) -> Record:
        """A benchmark record, verified against its digest."""
        return record.record(self.http, self.cache, record_id)

    def records(self, *, name: str | None = None, target: str | None = None) -> Iterator[Record]:
        """Benchmark records, newest first."""
        return record.records(self.http, name=name, target=target)
