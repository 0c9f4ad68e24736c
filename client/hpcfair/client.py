"""One hub, one identity, all verbs."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self, Unpack

import httpx

from hpcfair import (
    account,
    build,
    catalogue,
    doi,
    findings,
    fork,
    job,
    loaded,
    mlmodel,
    pid,
    publish,
    record,
    reproduction,
    resolution,
    revision,
    snapshot,
    target,
)
from hpcfair.cache import Cache
from hpcfair.catalogue import Filters
from hpcfair.config import Config
from hpcfair.exporters.registry import Examples
from hpcfair.fork import Form, Reused
from hpcfair.job import Job, Jobs
from hpcfair.loaded import Loaded
from hpcfair.precisions import Tolerance
from hpcfair.publish import Publication
from hpcfair.record import Record
from hpcfair.reproduction import Reproduction
from hpcfair.resolution import Resolution
from hpcfair.runtimes.base import Array
from hpcfair.transport import Transport
from hpcfair.types import Account, Build, Finding, Hits, MLModel, Revision, Target


class Client:
    """A hub as one person sees it. Threads may share it.

    Args:
        url: Address of the hub; else ``HPCFAIR_URL``, else where ``hpcfair login`` went.
        token: Access token; else ``HPCFAIR_TOKEN``, else what ``hpcfair login`` stored for the hub.
        config: All settings at once; excludes ``url`` and ``token``.
        transport: Replaces the network in tests.

    Every method raises :class:`hpcfair.errors.HubError` if the hub refuses and
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
        return account.whoami(self.http)

    def search(self, query: str = "", *, limit: int = 30, **filters: Unpack[Filters]) -> Hits:
        """Find models by words and by what the hub knows of them.

        Args:
            query: Words, ``"phrases"`` and filters such as ``task:image-classification``.
            limit: Models to return at most; the result's ``total`` counts all.
            filters: ``task``, ``license`` (``apache-2.0``), ``library``, ``tag``,
                ``architecture_class``, ``namespace``, ``signature``
                (``float32[N,3,64,64] -> float32[N,10]``), ``target`` (``auto`` is this machine's),
                ``similar_to`` (a model's name), ``sort`` (``relevance``, ``updated``,
                ``downloads``, ``name``).

        Raises:
            Invalid: the hub cannot read the query or signature; the message says what it meant.
        """
        return catalogue.search(self.http, query, limit=limit, **filters)

    def info(self, name: str) -> MLModel:
        """All the hub knows of a model."""
        name, _ = pid.locate(self.http, self.cache, name)
        return mlmodel.info(self.http, name)

    def load(
        self,
        name: str,
        *,
        revision: str | None = None,
        target: str | None = "auto",
        tolerance: Tolerance = "exact",
        verify: bool = False,
    ) -> Loaded:
        """Load the fastest trustworthy build for this machine.

        Without a suitable build the plain model runs, said aloud by a
        :class:`PlainModelWarning`. Without a hub its last answer is used, said aloud by a
        :class:`StaleAnswerWarning`.

        Args:
            name: ``namespace/name``, or a persistent identifier of a model or of one version:
                ``ark:/99999/h2...``, ``doi:10.../...``, or an address of either.
            revision: Branch, tag or commit id; else the default branch.
            target: ``auto``, another target this machine can run, or ``None`` for the plain model.
            tolerance: How far outputs may stray from the float32 reference: ``exact``, ``fp16``,
                ``bf16`` or ``int8``; each accepts those before it.
            verify: Hash all files again, even those unchanged since they were verified.

        Raises:
            ModelNotFound, RevisionNotFound, Withdrawn: as the classes say.
            MissingPackage: no runtime is installed; the hint names one.
        """
        name, revision = pid.locate(self.http, self.cache, name, revision)
        return loaded.load(
            self.http,
            self.cache,
            name,
            revision=revision,
            target=target,
            tolerance=tolerance,
            verify=verify,
        )

    def resolve(
        self,
        name: str,
        *,
        revision: str | None = None,
        target: str | None = "auto",
        tolerance: Tolerance = "exact",
    ) -> Resolution:
        """What :meth:`load` would load, without loading it."""
        name, revision = pid.locate(self.http, self.cache, name, revision)
        return resolution.resolve(
            self.http, self.cache, name, revision=revision, target=target, tolerance=tolerance
        )

    def reproduce(
        self,
        name: str,
        *,
        revision: str | None = None,
        target: str | None = "auto",
        tolerance: Tolerance = "exact",
    ) -> Reproduction:
        """Run a model on its test tensors here, and compare: proof that it can be reused.

        Args:
            name, revision, target, tolerance: As of :meth:`load`, whose build it runs.

        Raises:
            BadInput: the hub has no test tensors of that revision.
            MissingPackage: the ``onnx`` package is not installed.
        """
        name, revision = pid.locate(self.http, self.cache, name, revision)
        return reproduction.reproduce(
            self.http, self.cache, name, revision=revision, target=target, tolerance=tolerance
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

        Saving the same again makes no new revision.

        Args:
            model: Path to an ONNX file or a folder, ONNX bytes, an ``onnx.ModelProto``, a
                scikit-learn estimator, or a PyTorch module; the last is published as a program too,
                so that PyTorch's own compiler competes.
            name: ``namespace/name``; created if there is none.
            example_inputs: Arrays of samples, in the order of the inputs or by name. The hub checks
                and times builds on them, rather than on random numbers.
            labels: Their classes, ``int64[n]``, if the first output is scores ``[n, classes]``;
                then builds of lower precision show their accuracy.
            how: ``card`` (front matter of README.md: ``license`` is required unless the card has
                it; ``title``, ``task``, ``library``, ``tags``, ``description``...), ``message``,
                ``branch`` (made from the default branch if there is none), ``visibility``
                (``public`` or ``private``, for a new model), ``wait`` (for the inspection, on by
                default), ``timeout_s``.

        Returns:
            The new revision, or the branch's if nothing changed.

        Raises:
            LicenseMissing: nothing was sent.
            InvalidModelFile: the hub cannot use the model's file; its ``code`` says why.
            NotSupported: nothing here can export this object.
        """
        return publish.save(
            self.http, model, name, example_inputs=example_inputs, labels=labels, **how
        )

    def reuse(
        self,
        name: str,
        *,
        as_: Form = "path",
        to: str | None = None,
        revision: str | None = None,
    ) -> Reused:
        """Get a model's files to work on, and a fork of one's own that says where it is from.

        Args:
            as_: ``path`` for the folder of its files, ``onnx`` for an ``onnx.ModelProto``.
            to: Also publish the files as this model, with ``base_model`` in its card.
        """
        name, revision = pid.locate(self.http, self.cache, name, revision)
        return fork.reuse(self.http, self.cache, name, as_=as_, to=to, revision=revision)

    def pull(self, name: str, folder: Path | str, *, revision: str | None = None) -> Revision:
        """Copy a revision's files into a folder, to be kept and changed.

        What is there already stays; what broke off goes on where it stopped.
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
        """Ask the hub to search for faster builds.

        Args:
            targets: Kinds of hardware; else all the hub has machines of.
            budget: Search time of each: seconds, or ``"10min"``.
            strategy: Name of the search strategy; else the hub's choice.

        Returns:
            A job a target. ``wait()`` waits for all of them.
        """
        name, revision = pid.locate(self.http, self.cache, name, revision)
        return job.tune(
            self.http, name, targets=targets, budget=budget, revision=revision, strategy=strategy
        )

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
        """Jobs you may see, newest first."""
        return job.jobs(self.http, state=state, kind=kind, model=model, target=target)

    def targets(self) -> list[Target]:
        """Kinds of hardware the hub tunes for."""
        return target.targets(self.http)

    def builds(
        self, name: str, *, revision: str | None = None, target: str | None = None
    ) -> list[Build]:
        """Published builds of a revision."""
        name, revision = pid.locate(self.http, self.cache, name, revision)
        return build.builds(self.http, name, revision=revision, target=target)

    def record(self, record_id: str) -> Record:
        """A benchmark record, verified against its name."""
        return record.record(self.http, self.cache, record_id)

    def records(self, *, name: str | None = None, target: str | None = None) -> Iterator[Record]:
        """Benchmark records, newest first."""
        return record.records(self.http, name=name, target=target)

    def revisions(self, name: str, revision_: str | None = None) -> Iterator[Revision]:
        """History of a model, newest first."""
        name, revision_ = pid.locate(self.http, self.cache, name, revision_)
        return revision.revisions(self.http, name, revision_)

    def findings(self, name: str, *, revision: str | None = None) -> tuple[Finding, ...]:
        """What is to be mended in a model's card, by line of README.md."""
        return findings.findings(self.http, name, revision)

    def register_doi(self, name: str, *, revision: str | None = None) -> Job:
        """Register a DOI for a version, for ever, if the hub has an account with DataCite.

        Once the job is done, its ``result["doi"]`` has it.

        Raises:
            Invalid: the hub registers no DOIs, or the record lacks what one needs: ``fields``.
        """
        name, revision = pid.locate(self.http, self.cache, name, revision)
        return doi.register(self.http, name, revision=revision)

    def locate(self, name: str, *, revision: str | None = None) -> tuple[str, str | None]:
        """``namespace/name`` and version that a persistent identifier names.

        The version is a commit id, or ``revision`` for an identifier of all versions together.
        """
        return pid.locate(self.http, self.cache, name, revision)

    def delete(self, name: str) -> None:
        """Delete a model with all its revisions, builds and records. There is no way back."""
        mlmodel.delete(self.http, name)
