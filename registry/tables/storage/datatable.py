"""Tables in the files of data sets."""

from django.db import models

from registry.tables.storage.blob import Blob


class DataTable(models.Model):
    """The columns of a blob, read as a table of one format; copies of a file share them.

    ``format`` is ``csv``, ``tsv``, ``jsonl`` or ``parquet``; ``columns`` is a list of ``{"name",
    "type", "is_list"}``, empty if the bytes are not such a table.
    """

    blob = models.ForeignKey(Blob, models.CASCADE, related_name="tables")
    format = models.CharField(max_length=16)
    rows = models.BigIntegerField()
    columns = models.JSONField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["blob", "format"], name="data_table_unique")]
