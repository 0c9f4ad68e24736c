"""Properties of an MLModel or a data set at one of its revisions."""

from functools import cached_property
from typing import Any

from registry.selectors.repository.contents import (
    config_of,
    described_blobs,
    marking_paths,
    parameters_of,
)
from registry.selectors.repository.file import MAX_LISTED
from registry.selectors.repository.revision import files_of
from registry.tables import Blob, File, MLModel, Revision
from registry.validation.labels import LabelValue, labels_of


class Details:
    """Lazily computed properties of a revision of ``mlmodel``, which the actor may read.

    ``mlmodel`` comes with its namespace; ``paths`` (see :attr:`paths`) and ``labels`` are given if
    the caller has read them already.
    """

    def __init__(
        self,
        mlmodel: MLModel,
        revision: Revision,
        *,
        paths: list[str] | None = None,
        labels: list[LabelValue] | None = None,
    ) -> None:
        self.mlmodel = mlmodel
        self.revision = revision
        self._paths = paths
        self._labels = labels

    @cached_property
    def files(self) -> list[File]:
        """The first :data:`MAX_LISTED` files with their blobs, ordered by path."""
        return list(files_of(self.revision)[:MAX_LISTED])

    @property
    def is_short(self) -> bool:
        """Whether :attr:`files` and :attr:`paths` are those of all files."""
        return self.revision.file_count <= MAX_LISTED

    @cached_property
    def paths(self) -> list[str]:
        """The paths of the first :data:`MAX_LISTED` files, in order."""
        if self._paths is not None:
            return self._paths
        rows = self.revision.files.order_by("path").values_list("path", flat=True)
        return list(rows[:MAX_LISTED])

    @cached_property
    def config(self) -> dict[str, Any]:
        return config_of(self._described_blobs)

    @cached_property
    def parameters(self) -> dict[str, int]:
        return parameters_of(self._described_blobs)

    @cached_property
    def labels(self) -> list[LabelValue]:
        if self._labels is not None:
            return self._labels
        paths = marking_paths(self.revision, self.mlmodel.kind)
        return labels_of(self.mlmodel.kind, self.revision.card, paths, self.config)

    @cached_property
    def task(self) -> str:
        """From the card, else from the files; "" where unknown."""
        return self._first("pipeline_tag")

    @cached_property
    def library(self) -> str:
        """From the card, else from the files; "" where unknown."""
        return self._first("library")

    @cached_property
    def _described_blobs(self) -> dict[str, Blob]:
        return described_blobs(self.revision)

    def _first(self, kind: str) -> str:
        return next((label.value for label in self.labels if label.kind == kind), "")
