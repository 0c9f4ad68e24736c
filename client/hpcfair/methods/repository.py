"""Methods of the client for models and their files."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hpcfair import (
    catalogue,
    composition,
    fork,
    mlmodel,
    modelimport,
    pid,
    publish,
    revision,
    snapshot,
)
from hpcfair.catalogue import Filters
from hpcfair.composition import Composition
from hpcfair.exporters.base import Examples
from hpcfair.fork import Reused
from hpcfair.forms import Form
from hpcfair.importrules import ModelImportOptions
from hpcfair.job import Job
from hpcfair.methods.base import BaseClient
from hpcfair.modelbundle.importing import import_bundle
from hpcfair.modelbundle.source import is_bundle, source_of
from hpcfair.modelimport import ModelImport
from hpcfair.origin import origin_of
from hpcfair.publish import Publication
from hpcfair.runtimes.base import Array
from hpcfair.searchresults import Hits
from hpcfair.types import Finding, MLModel, Revision
from hpcfair.typingnames import Unpack


class RepositoryMethods(BaseClient):
    """Methods of the client for models and their files."""

    def search(self, query: str = "", *, limit: int = 30, **filters: Unpack[Filters]) -> Hits:
        """Search for models by text and facts.

        Args:
            query: Words, ``"phrases"`` and filters such as ``task:image-classification`` or
                ``latency:<5ms``.
            limit: Maximum number of models returned; ``total`` of the result counts all.
            filters: As in the query: ``task="regression"``, ``latency="<5ms"``; ``target="auto"``
                is this machine's; see :class:`hpcfair.catalogue.Filters`. ``sort`` is one of
                :data:`hpcfair.catalogue.Sort`, such as ``latency`` or ``downloads``.

        With ``HPCFAIR_OFFLINE``, the models that can be loaded from the cache are searched.

        Raises:
            Invalid: the query is malformed, or has a filter, target or class that the hub does not
                know; the message suggests a correction.
            BadInput: without the hub, the same, or the query needs the hub.
        """
        return catalogue.search(self.http, self.cache, query, limit=limit, **filters)

    def info(self, name: str) -> MLModel:
        """Everything that the hub states about a model, or stated when a bundle was made."""
        source = source_of(self.http, self.cache, name)
        return mlmodel.info(source.http, source.name)

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
            model: Path to an ONNX file or a folder, ONNX bytes, an ``onnx.ModelProto``, the result
                of :meth:`compose`, or a model of PyTorch, scikit-learn, XGBoost, LightGBM,
                CatBoost, Keras 3, Flax or a function under ``jax.jit`` or ``tf.function``. Its ONNX
                file must compute what it computes on the example inputs. A PyTorch module is also
                published as an exported program, so that PyTorch's own compiler is tried.
            name: ``namespace/name``; created if it does not exist.
            example_inputs: Arrays or a table of samples, in the order of the inputs or by name. The
                hub checks and measures builds on them instead of on random numbers. Models of other
                libraries require them.
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
            BadInput: the object cannot be exported, or its file deviates from it: where and by how
                much. Nothing was sent.
        """
        return publish.save(
            self.http, model, name, example_inputs=example_inputs, labels=labels, **how
        )

    def import_model(
        self,
        origin: str,
        name: str | None = None,
        *,
        license: str | None = None,
        visibility: str | None = None,
        overwrite: bool = False,
    ) -> ModelImport:
        """Copy a model of another server into the hub, with its card; again to update it.

        The hub records the origin. Only files that changed there are moved, and nothing if none
        did. A new model is private unless everybody may fetch it at the origin and its license lets
        anyone pass it on.

        Args:
            origin: ``hf:org/name`` on the server that ``HF_ENDPOINT`` names (by default
                https://huggingface.co), ``hf:org/name@revision``, or ``hf:https://host/org/name``
                on any other server of the Hugging Face Hub's protocol, such as another hub; or
                the path of a :meth:`bundle`, whose signatures are verified.
            name: ``namespace/name``; default: the account's namespace and the name at the origin.
            license: License of the model, if its card states none.
            visibility: ``public`` or ``private``, in place of the rule above.
            overwrite: Also replace files that were changed on this hub since the last import.

        Raises:
            ModelNotFound, RevisionNotFound: at the origin.
            Forbidden: the model is gated there, or there is no room for it here.
            LicenseMissing: the card states no license.
            Conflict: the name is that of another model, or files were changed on both sides.
            Corrupt: the bytes that arrived are not those that the server states, or the bundle was
                changed.
            Untrusted: a signature in the bundle is not valid.
        """
        options = ModelImportOptions(license, visibility, overwrite)
        if is_bundle(origin):
            return import_bundle(self.http, self.cache, Path(origin), name, options)
        source = origin_of(origin, self.config)
        return modelimport.import_model(self.http, self.cache, source, name, options)

    def reuse(
        self, name: str, *, as_: Form = "path", to: str | None = None, revision: str | None = None
    ) -> Reused:
        """Get the files of a model for further work, and optionally publish a copy.

        Args:
            as_: ``path`` for the folder of its files, ``onnx`` for an ``onnx.ModelProto``,
                ``torch`` for a PyTorch module (see :meth:`load`).
            to: Also publish the files, unchanged, as this model. The hub records the copy and its
                source. Publish a model that you trained further by :meth:`save`, with
                ``base_model`` and ``base_model_relation: finetune`` in its card.
        """
        name, revision = pid.locate(self.http, self.cache, name, revision)
        return fork.reuse(self.http, self.cache, name, as_=as_, to=to, revision=revision)

    def compose(self, models: Sequence[Any]) -> Composition:
        """Join networks to one, in which each takes the outputs of the one before it.

        An input takes the output of its name; if some input has none, outputs and inputs are joined
        in order. The result has the inputs of the first network and the outputs of the last one,
        and was compared with the networks run one after another on random inputs.

        Args:
            models: At least two: names of models (``namespace/name``, with ``@revision``, or
                identifiers), whose published networks are taken; paths of ONNX files;
                ``onnx.ModelProto``.

        Returns:
            A network that :meth:`save` publishes with the published ones as its base models.

        Raises:
            BadInput: an output does not fit an input, with both; the networks cannot be joined; the
                result computes something else.
            NoModelFile: a network is not in ONNX.
            MissingPackage: ``onnx`` or ONNX Runtime is not installed.
        """
        return composition.compose(self.http, self.cache, models)

    def pull(self, name: str, folder: Path | str, *, revision: str | None = None) -> Revision:
        """Copy the files of a revision, from the hub or a bundle, into a folder.

        Unchanged files are kept, and an interrupted download is resumed.
        """
        http, cache, name, revision = source_of(self.http, self.cache, name, revision)
        return snapshot.pull(http, cache, name, Path(folder), revision)

    def revisions(self, name: str, revision_: str | None = None) -> Iterator[Revision]:
        """History of a model, newest first."""
        name, revision_ = pid.locate(self.http, self.cache, name, revision_)
        return revision.revisions(self.http, name, revision_)

    def findings(self, name: str, *, revision: str | None = None) -> tuple[Finding, ...]:
        """Findings in the card of a model, with lines of README.md."""
        return mlmodel.findings(self.http, name, revision)

    def locate(self, name: str, *, revision: str | None = None) -> tuple[str, str | None]:
        """Resolve a persistent identifier to ``namespace/name`` and a version.

        The version is a commit id, or ``revision`` for an identifier of all versions.
        """
        return pid.locate(self.http, self.cache, name, revision)

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

    def delete(self, name: str) -> None:
        """Delete a model with all its revisions, builds and records. This cannot be undone."""
        self.http.json("DELETE", mlmodel.address(name))
