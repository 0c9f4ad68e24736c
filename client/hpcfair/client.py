"""The client of one hub: all operations as methods."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self, Unpack

import httpx

from hpcfair import (
    catalogue,
    comparison,
    experiments,
    fork,
    hints,
    importedprofile,
    job,
    loaded,
    mlmodel,
    performance,
    pid,
    publish,
    record,
    reproduction,
    resolution,
    revision,
    runon,
    snapshot,
    topology,
    workload,
)
from hpcfair.acceptance import Acceptance
from hpcfair.cache import Cache
from hpcfair.catalogue import Filters
from hpcfair.comparison import ComparisonFilters
from hpcfair.config import Config
from hpcfair.exporters.registry import Examples
from hpcfair.fork import Form, Reused
from hpcfair.importedprofile import ImportedProfile, ImportOptions
from hpcfair.job import Job, Jobs
from hpcfair.loaded import Guard, Loaded
from hpcfair.performance import Performance
from hpcfair.precisions import Tolerance
from hpcfair.publish import Publication
from hpcfair.record import Record
from hpcfair.reproduction import Reproduction
from hpcfair.resolution import Resolution
from hpcfair.runon import RemoteRun
from hpcfair.runtimes.base import Array
from hpcfair.transport import Transport, pages
from hpcfair.types import Account, Build, Finding, Hits, MLModel, Revision, Target


class Client:
    """A hub, accessed with one account. Thread-safe.

    Args:
        url: Address of the hub; default: ``HPCFAIR_URL``, else the hub of ``hpcfair login``.
        token: Access token; default: ``HPCFAIR_TOKEN``, else the one stored by ``hpcfair login``.
        config: All settings at once; excludes ``url`` and ``token``.
        transport: Replaces the network in tests.

    Every method raises :class:`hpcfair.errors.HubError` if the hub rejects the request and
    :class:`hpcfair.errors.HubUnreachable` if it does not answer.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        config: Config | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.config = config or Config.read(url, token)
        self.http = Transport(self.config, transport=transport)
        self.cache = Cache(self.config.cache)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close connections."""
        self.http.close()

    def whoami(self) -> Account:
        """The account the token belongs to."""
        return Account.from_json(self.http.get("/api/v1/whoami"))

    def search(self, query: str = "", *, limit: int = 30, **filters: Unpack[Filters]) -> Hits:
        """Search for models by text and facts.

        Args:
            query: Words, ``"phrases"`` and filters such as ``task:image-classification`` or
                ``latency:<5ms``.
            limit: Maximum number of models returned; ``total`` of the result counts all.
            filters: As in the query: ``task="regression"``, ``latency="<5ms"``; ``target="auto"``
                is this machine's; see :class:`hpcfair.catalogue.Filters`. ``sort`` is one of
                :data:`hpcfair.catalogue.Sort`, such as ``latency`` or ``downloads``.

        Raises:
            Invalid: the query is malformed, or has a filter, target or class that the hub does not
                know; the message suggests a correction.
        """
        return catalogue.search(self.http, query, limit=limit, **filters)

    def compare(
        self, builds: Sequence[str] = (), **filters: Unpack[ComparisonFilters]
    ) -> dict[str, Any]:
        """Compare published builds: figures, conditions, failures, times by groups of nodes.

        Args:
            builds: UUIDs, of which the first is what the others are compared with.
            filters: ``models=["lab/net"]``, ``targets``, ``backends``, ``tolerances``; and limits,
                ``accuracy=0.98``, ``latency_ms=5``, within which ``answer`` of the result names the
                cheapest build by ``cost``; see :class:`hpcfair.comparison.ComparisonFilters`.

        Returns:
            The document of the hub's API; figures that were not measured are ``None``.
        """
        return comparison.compare(self.http, builds, **filters)

    def info(self, name: str) -> MLModel:
        """Everything that the hub states about a model."""
        return mlmodel.info(self.http, pid.locate(self.http, self.cache, name)[0])

    def load(  # noqa: PLR0913 - each is a decision of its own
        self,
        name: str,
        *,
        revision: str | None = None,
        target: str | None = "auto",
        tolerance: Tolerance | float | None = None,
        min_accuracy: float | None = None,
        verify: bool = False,
        place_caller: bool | None = None,
        signed: bool | None = None,
        isolated: bool = False,
    ) -> Loaded:
        """Load the fastest trustworthy build for this machine.

        Without a suitable build, the published model is loaded with a :class:`PlainModelWarning`.
        If the hub is unreachable, its last answer is used with a :class:`StaleAnswerWarning`.

        Args:
            name: ``namespace/name``, or a persistent identifier of a model or of one version:
                ``ark:/99999/h2...``, ``doi:10.../...``, or a URL of either.
            revision: Branch, tag or commit id; default: the default branch.
            target: ``auto``, another target that this machine supports, or ``None`` for the
                published model.
            tolerance: Accepted deviation from the float32 reference: ``exact`` (the default),
                ``fp16``, ``bf16`` or ``int8``, each of which implies the stricter ones, or the
                largest relative L2 error, such as 0.01.
            min_accuracy: Least accuracy on labelled samples, 0 to 1; alone, it admits any class.
            verify: Verify the digests of all files, even of unchanged ones.
            place_caller: Whether the calling thread is kept off the processors of the runtime's
                pinned workers during runs (Linux, ONNX Runtime, 0.5 ms or more; one thread at a
                time). Default: unless ``taskset`` or the like restricted it; ``True``: also then.
            signed: Refuse what the hub did not sign; default: ``HPCFAIR_SIGNED``. A wrong signature
                is refused in any case.
            isolated: Run in a child process without network and without your files (Linux).

        Raises:
            ModelNotFound, RevisionNotFound, Withdrawn: as the classes say.
            Untrusted: a signature is wrong, or missing although it is required.
            MissingPackage: no runtime is installed; the hint names one.
        """
        acceptance = Acceptance.of(tolerance, min_accuracy)
        name, revision = pid.locate(self.http, self.cache, name, revision)
        model = loaded.load(
            self.http,
            self.cache,
            name,
            revision=revision,
            target=target,
            acceptance=acceptance,
            guard=Guard(verify, signed, isolated),
            place_caller=place_caller,
        )
        hints.show_hint(self.config.url, model.resolution)
        return model

    def resolve(
        self,
        name: str,
        *,
        revision: str | None = None,
        target: str | None = "auto",
        tolerance: Tolerance | float | None = None,
        min_accuracy: float | None = None,
    ) -> Resolution:
        """The build that :meth:`load` would load."""
        limits = Acceptance.of(tolerance, min_accuracy)
        name, revision = pid.locate(self.http, self.cache, name, revision)
        return resolution.resolve(
            self.http, self.cache, name, revision=revision, target=target, acceptance=limits
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

    def save(
        self,
        model: Any,
        name: str,
        *,
        example_inputs: Examples | Array = None,
        labels: Array | None = None,
        **how: Unpack[Publication],
    ) -> Revision:
        """Publish a model; the hub inspects it and tunes it for its targets.

        Saving an unchanged model creates no new revision.

        Args:
            model: Path to an ONNX file or a folder, ONNX bytes, an ``onnx.ModelProto``, a
                scikit-learn estimator, or a PyTorch module. A PyTorch module is also published as
                an exported program, so that PyTorch's own compiler is tried.
            name: ``namespace/name``; created if it does not exist.
            example_inputs: Arrays of samples, in the order of the inputs or by name. The hub checks
                and measures builds on them instead of on random numbers.
            labels: Class of each sample, ``int64[n]``, if the first output is scores
                ``[n, classes]``; builds then state their accuracy.
            how: ``card`` (front matter of README.md: ``license`` is required unless the card has
                it; ``title``, ``task``, ``library``, ``tags``, ``description``...), ``message``,
                ``branch`` (created from the default branch if missing), ``visibility``
                (``public`` or ``private``, for a new model; by default that of the namespace),
                ``wait`` (for the inspection, on by default), ``timeout_s``.

        Returns:
            The new revision, or the current one if nothing changed.

        Raises:
            LicenseMissing: nothing was sent.
            InvalidModelFile: the hub cannot use the file; ``code`` states the reason.
            NotSupported: there is no exporter for this object.
        """
        return publish.save(
            self.http, model, name, example_inputs=example_inputs, labels=labels, **how
        )

    def reuse(
        self, name: str, *, as_: Form = "path", to: str | None = None, revision: str | None = None
    ) -> Reused:
        """Get the files of a model for further work, and optionally publish a copy.

        Args:
            as_: ``path`` for the folder of its files, ``onnx`` for an ``onnx.ModelProto``.
            to: Also publish the files, unchanged, as this model. The hub records the copy and its
                source. Publish a model that you trained further by :meth:`save`, with
                ``base_model`` and ``base_model_relation: finetune`` in its card.
        """
        name, revision = pid.locate(self.http, self.cache, name, revision)
        return fork.reuse(self.http, self.cache, name, as_=as_, to=to, revision=revision)

    def pull(self, name: str, folder: Path | str, *, revision: str | None = None) -> Revision:
        """Copy the files of a revision into a folder.

        Unchanged files are kept, and an interrupted download is resumed.
        """
        name, revision = pid.locate(self.http, self.cache, name, revision)
        return snapshot.pull(self.http, self.cache, name, Path(folder), revision)

    def tune(
        self,
        name: str,
        *,
        targets: Sequence[str] | None = None,
        budget: str | float | None = None,
        revision: str | None = None,
        strategy: str | None = None,
    ) -> Jobs:
        """Request searches for faster builds.

        Args:
            targets: Hardware targets; default: all targets with an online device.
            budget: Search time per target: seconds, or ``"10min"``.
            strategy: Name of the search strategy; default: chosen by the hub.

        Returns:
            One job per target. ``wait()`` waits for all of them.
        """
        name, revision = pid.locate(self.http, self.cache, name, revision)
        return job.tune(
            self.http, name, targets=targets, budget=budget, revision=revision, strategy=strategy
        )

    def run_on(  # noqa: PLR0913 - each is a decision of its own
        self,
        target: str,
        name: str,
        inputs: Any,
        *,
        revision: str | None = None,
        tolerance: Tolerance | float | None = None,
        min_accuracy: float | None = None,
        build: str | None = None,
        wait: bool = True,
        timeout_s: float | None = None,
    ) -> RemoteRun:
        """Run a model on a device of the hub, of a target that this machine need not have.

        The hub checks the inputs against the model's signature before it queues the run. The run is
        visible to this account only, counts towards its quotas and expires after some days.

        Args:
            target: Name of the target, as in :meth:`targets`.
            inputs: An array, a list of arrays in the order of the inputs, or arrays by input name.
            tolerance, min_accuracy: As of :meth:`load`, whose rule selects the build.
            build: Id of the build to run, instead of limits.
            wait: Whether to wait for the end of the run, at most ``timeout_s`` seconds.

        Raises:
            BadInput: the inputs do not match the signature; nothing was sent.
            Invalid: the hub refused the inputs or the target.
            Forbidden: a quota is used up.
            JobFailed, TimedOut: as of :meth:`hpcfair.Job.wait`.
        """
        limits = Acceptance.of(tolerance, min_accuracy)
        name, revision = pid.locate(self.http, self.cache, name, revision)
        run = runon.run_on(
            self.http, target, name, inputs, revision=revision, acceptance=limits, build=build
        )
        return run.wait(timeout_s) if wait else run

    def remote_run(self, uuid: str) -> RemoteRun:
        """The run of this account with the job id ``uuid``. Raises NotFound."""
        return runon.remote_run(self.http, uuid)

    def job(self, uuid: str) -> Job:
        """The job of that id."""
        return job.job(self.http, uuid)

    def jobs(
        self,
        *,
        state: str | None = None,
        kind: str | None = None,
        model: str | None = None,
        target: str | None = None,
    ) -> Iterator[Job]:
        """Jobs visible to this account, newest first."""
        return job.jobs(self.http, state=state, kind=kind, model=model, target=target)

    def principles(
        self, *, status: str | None = None, anchor: str | None = None
    ) -> Iterator[experiments.Principle]:
        """What fast schedules of each operator share."""
        return experiments.principles(self.http, status=status, anchor=anchor)

    def principle(self, identifier: str, *, version: int | None = None) -> dict[str, Any]:
        """A principle with its query and evidence; :mod:`hpcfair.experiments`."""
        return experiments.principle(self.http, identifier, version=version)

    def ablate(self, workload: str, *, budget: str | float | None = None) -> Job:
        """Request an ablation of the best schedule of an operator workload, by its id."""
        return experiments.ablate(self.http, workload, budget=budget)

    def ablations(self, workload: str) -> list[dict[str, Any]]:
        """The newest ablation of an operator workload."""
        return experiments.ablations(self.http, workload)

    def workloads(
        self, *, target: str | None = None, operator: str | None = None
    ) -> Iterator[workload.Workload]:
        """Operator workloads of readable models, newest first."""
        return workload.workloads(self.http, target=target, operator=operator)

    def workload_trials(self, uuid: str) -> Iterator[dict[str, Any]]:
        """Trials of the schedules of an operator workload, in the order in which they ended."""
        return workload.workload_trials(self.http, uuid)

    def targets(self) -> list[Target]:
        """Hardware targets of the hub."""
        return [Target.from_json(item) for item in pages(self.http, "/api/v1/targets")]

    def builds(
        self, name: str, *, revision: str | None = None, target: str | None = None
    ) -> list[Build]:
        """Published builds of a revision."""
        name, revision = pid.locate(self.http, self.cache, name, revision)
        return mlmodel.builds(self.http, name, revision=revision, target=target)

    def performance(
        self, name: str, *, target: str | None = None, build: str | None = None
    ) -> Performance:
        """What a build spends its time on, and why; by default the best profiled build."""
        name, revision = pid.locate(self.http, self.cache, name, None)
        return performance.performance(self.http, name, revision, target=target, build=build)

    def topology(
        self, name: str, *, revision: str | None = None, path: str | None = None
    ) -> topology.Topology:
        """A network as a graph: nodes, tensors, statistics of weights, groups and coordinates.

        ``path`` is the file of the network; by default the primary one.
        """
        name, revision = pid.locate(self.http, self.cache, name, revision)
        return topology.topology(self.http, name, revision=revision, path=path)

    def record(self, record_id: str) -> Record:
        """A benchmark record, verified against its digest."""
        return record.record(self.http, self.cache, record_id)

    def records(self, *, name: str | None = None, target: str | None = None) -> Iterator[Record]:
        """Benchmark records, newest first."""
        return record.records(self.http, name=name, target=target)

    def revisions(self, name: str, revision_: str | None = None) -> Iterator[Revision]:
        """History of a model, newest first."""
        name, revision_ = pid.locate(self.http, self.cache, name, revision_)
        return revision.revisions(self.http, name, revision_)

    def findings(self, name: str, *, revision: str | None = None) -> tuple[Finding, ...]:
        """Findings in the card of a model, with lines of README.md."""
        return mlmodel.findings(self.http, name, revision)

    def profiles_import(
        self, name: str, file: Path | str, *, target: str, **options: Unpack[ImportOptions]
    ) -> ImportedProfile:
        """Import a profile that another tool measured, and match it to the model's network.

        Args:
            file: An ONNX Runtime trace, OpenVINO counters, a profile of ``trtexec`` or kernels of
                Nsight Systems.
            target: The machine, as a name of a target or in words.
            options: See :class:`hpcfair.importedprofile.ImportOptions`.

        Raises:
            Invalid: ``invalid_profile``: the file is damaged, its times cannot be true, or it is a
                profile of another network.
        """
        return importedprofile.import_profile(self.http, name, Path(file), target=target, **options)

    def profiles(self, name: str) -> list[ImportedProfile]:
        """The imported profiles of a model, newest first."""
        return importedprofile.profiles(self.http, name)

    def profile(self, uuid: str) -> ImportedProfile:
        """An imported profile with its totals."""
        return importedprofile.profile(self.http, uuid)

    def profile_delete(self, uuid: str) -> None:
        """Delete an imported profile; its importer and admins may."""
        importedprofile.delete_profile(self.http, uuid)

    def register_doi(self, name: str, *, revision: str | None = None) -> Job:
        """Register a permanent DOI for a version, if the hub has an account with DataCite.

        After the job has succeeded, ``result["doi"]`` contains the DOI.

        Raises:
            Invalid: the hub registers no DOIs, or the metadata record is incomplete: see
                ``fields``.
        """
        name, revision = pid.locate(self.http, self.cache, name, revision)
        return Job(
            self.http, self.http.post(f"{mlmodel.address(name)}/doi", {"revision": revision})
        )

    def locate(self, name: str, *, revision: str | None = None) -> tuple[str, str | None]:
        """Resolve a persistent identifier to ``namespace/name`` and a version.

        The version is a commit id, or ``revision`` for an identifier of all versions.
        """
        return pid.locate(self.http, self.cache, name, revision)

    def delete(self, name: str) -> None:
        """Delete a model with all its revisions, builds and records. This cannot be undone."""
        self.http.json("DELETE", mlmodel.address(name))
