"""All that can be told about an MLModel or a data set at one of its revisions."""

from functools import cached_property
from typing import Any

from registry.selectors.repository.contents import config_of, parameters_of, telling_blobs
from registry.selectors.repository.revision import files_of
from registry.tables import Blob, File, MLModel, Revision
from registry.validation.labels import LabelValue, labels_of


class Details:
    """Looks things up when they are first asked for; a list hands in what it has for all.

    Args:
        mlmodel: With its namespace; one the asker may read.
        revision: One of its own.
        paths: Of all files of the revision, in order.
        labels: Of the revision.
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
        """With their blobs, ordered by path."""
        return list(files_of(self.revision))

    @cached_property
    def paths(self) -> list[str]:
        """The paths of all files, in order."""
        if self._paths is not None:
            return self._paths
        return list(self.revision.files.order_by("path").values_list("path", flat=True))

    @cached_property
    def config(self) -> dict[str, Any]:
        """See :func:`registry.selectors.repository.contents.config_of`."""
        return config_of(self._telling)

    @cached_property
    def parameters(self) -> dict[str, int]:
        """See :func:`registry.selectors.repository.contents.parameters_of`."""
        return parameters_of(self._telling)

    @cached_property
    def labels(self) -> list[LabelValue]:
        """See :func:`registry.validation.labels.labels_of`."""
        if self._labels is not None:
            return self._labels
        return labels_of(self.mlmodel.kind, self.revision.card, self.paths, self.config)

    @cached_property
    def task(self) -> str:
        """As the card says, else as the files tell; "" where unknown."""
        return self._first("pipeline_tag")

    @cached_property
    def library(self) -> str:
        """As the card says, else as the files tell; "" where unknown."""
        return self._first("library")

    @cached_property
    def _telling(self) -> dict[str, Blob]:
        return telling_blobs(self.revision)

    def _first(self, kind: str) -> str:
        return next((label.value for label in self.labels if label.kind == kind), "")
