"""Methods of the client for what searches yield: builds and benchmark records."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack, get_args, overload

from hpcfair import hints, loading, mlmodel, pid, record, reproduction, resolution
from hpcfair.acceptance import Acceptance
from hpcfair.errors import BadInput
from hpcfair.forms import LoadForm
from hpcfair.loaded import Loaded
from hpcfair.loading import Guard
from hpcfair.methods.base import BaseClient
from hpcfair.precisions import Tolerance
from hpcfair.record import Record
from hpcfair.reproduction import Reproduction
from hpcfair.resolution import Resolution
from hpcfair.scenarios import SINGLE_STREAM, Scenario, checked_scenario
from hpcfair.types import Build


class LoadOptions(TypedDict, total=False):
    """Arguments of :meth:`hpcfair.Client.load` beside the name and the form."""

    revision: str | None
    target: str | None
    tolerance: Tolerance | float | None
    min_accuracy: float | None
    scenario: Scenario
    verify: bool
    place_caller: bool | None
    signed: bool | None
    isolated: bool


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
    def load(  # noqa: PLR0913 - each is a decision of its own
        self,
        name: str,
        *,
        as_: LoadForm = "model",
        revision: str | None = None,
        target: str | None = "auto",
        tolerance: Tolerance | float | None = None,
        min_accuracy: float | None = None,
        scenario: Scenario = SINGLE_STREAM,
        verify: bool = False,
        place_caller: bool | None = None,
        signed: bool | None = None,
        isolated: bool = False,
    ) -> Any:
        """Load the fastest trustworthy build for this machine.

        Without one, the published model is loaded with a :class:`PlainModelWarning`. If the hub is
        unreachable, its last answer is used with a :class:`StaleAnswerWarning`.

        Args:
            name: ``namespace/name``, or a persistent identifier of a model or of one version:
                ``ark:/99999/h2...``, ``doi:10.../...``, or a URL of either.
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
            revision: Branch, tag or commit id; default: the default branch.
            target: ``auto``, another target of this machine, or ``None`` for the published model.
            tolerance: Accepted deviation from the float32 reference: ``exact`` (the default),
                ``fp16``, ``bf16`` or ``int8``, each of which implies the stricter ones, or a
                number, the largest relative L2 error: with 0.01, the fastest build of any class
                whose measured error is at most 1 %.
            min_accuracy: Least accuracy on labelled samples, 0 to 1; alone, it admits any class.
            scenario: ``single-stream`` for the lowest latency, or ``offline`` for the most samples
                per second by :meth:`Loaded.map`; the former, if nothing was measured in the latter.
            verify: Verify the digests of all files, even of unchanged ones.
            place_caller: Whether the calling thread is kept off the processors of the runtime's
                pinned workers during runs (Linux, ONNX Runtime, 0.5 ms or more; one thread at a
                time). Default: unless ``taskset`` or the like restricted it; ``True``: also then.
            signed: Refuse what the hub did not sign; default: ``HPCFAIR_SIGNED``.
            isolated: Run in a child process without network and without your files (Linux).

        Raises:
            ModelNotFound, RevisionNotFound, Withdrawn: as the classes say.
            Untrusted: a signature is wrong, or missing although it is required.
            BadInput: no such form, tolerance or scenario, or a limit is not a number from 0 to 1.
            Invalid: ``min_accuracy`` of a model that has no labelled samples.
            MissingPackage: no runtime is installed, or a package that the form needs.
            NoModelFile: the published network is not in ONNX, which the form needs.
            NotSupported: the network cannot be converted, or the runtime has no session.
        """
        if as_ not in get_args(LoadForm):
            raise BadInput(
                f"There is no form {as_!r}.", f"Choose of {', '.join(get_args(LoadForm))}."
            )
        if isolated and as_ != "model":
            raise BadInput("isolated=True runs a model elsewhere, so only as_='model' is possible.")
        if as_ in ("model", "session"):
            loading.require_runtime()
        acceptance, guard = Acceptance.of(tolerance, min_accuracy), Guard(verify, signed)
        name, revision = pid.locate(self.http, self.cache, name, revision)
        model = loading.fetch(
            self.http,
            self.cache,
            name,
            revision=revision,
            target=None if as_ in ("onnx", "torch") else target,
            acceptance=acceptance,
            scenario=checked_scenario(scenario),
            guard=guard,
        )
        hints.show_hint(self.config.url, model.resolution)
        match as_:
            case "path":
                return model.path
            case "session":
                return loading.native_session(model)
            case "onnx":
                return loading.published_onnx(model)
            case "torch":
                return loading.published_torch(self.http, self.cache, model, guard)
        return loading.load(
            self.http, self.cache, model, isolated=isolated, place_caller=place_caller
        )

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
        name, revision = pid.locate(self.http, self.cache, name, revision)
        return resolution.resolve(
            self.http,
            self.cache,
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
        name, revision = pid.locate(self.http, self.cache, name, revision)
        return reproduction.reproduce(
            self.http, self.cache, name, revision=revision, target=target, acceptance=limits
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
        name, revision = pid.locate(self.http, self.cache, name, revision)
        return mlmodel.builds(
            self.http,
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
