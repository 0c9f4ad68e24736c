"""Tables of conversions: networks that the hub wrote from published weights, and the converters."""

from django.db import models

from registry.ids import uuid_column
from registry.tables.repository.revision import Revision
from registry.tables.storage.blob import Blob


class Conversion(models.Model):
    """The network of a revision that has weights and their configuration, but no network file.

    Its files belong to the hub: they are in no commit of the repository, and are made again from
    the same sources if they are lost. ``provenance`` is ``{"architecture", "inputs", "outputs",
    "dynamic", "deviation", "unused", "tools", "sources"}``: ``deviation`` is the largest difference
    from the original in PyTorch, in units of the largest value of an output; ``sources`` maps paths
    of the revision to digests.
    """

    uuid = uuid_column()
    revision = models.OneToOneField(Revision, models.CASCADE, related_name="conversion")
    provenance = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)


class ConversionFile(models.Model):
    """One file of a conversion, at a path that no published file of the revision has."""

    conversion = models.ForeignKey(Conversion, models.CASCADE, related_name="files")
    path = models.CharField(max_length=1024)
    blob = models.ForeignKey(Blob, models.PROTECT, related_name="conversion_files")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["conversion", "path"], name="conversion_path_unique")
        ]


class Converter(models.Model):
    """A converter that a worker of this hub has, by its version and those of its tools.

    What another one refused before ``seen_at`` is tried again.
    """

    identity = models.CharField(max_length=300, unique=True)
    seen_at = models.DateTimeField(auto_now_add=True)
