"""Stores with each revision the number, the size and the directory id of its files, which records
name without reading the files; and git trees, which commits share. Paths are sorted by bytes."""

from typing import Any

from django.core.validators import RegexValidator
from django.db import migrations, models
from django.db.models import Exists, F, OuterRef

from registry.ids import PathField
from registry.storage.git import tree_oid

_SUMS = """
    UPDATE registry_revision SET
        file_count = (
            SELECT COUNT(*) FROM registry_file WHERE revision_id = registry_revision.id
        ),
        size_bytes = (
            SELECT COALESCE(SUM(b.size_bytes), 0) FROM registry_file f
            JOIN registry_blob b ON b.sha256 = f.blob_id
            WHERE f.revision_id = registry_revision.id
        )
"""


def fill(apps: Any, _editor: Any) -> None:
    """Compute the ids of revisions with large files; all others have that of their tree."""
    revisions = apps.get_model("registry", "Revision").objects
    files = apps.get_model("registry", "File").objects
    large = Exists(files.filter(revision=OuterRef("pk"), is_lfs=True))
    revisions.exclude(large).update(directory_oid=F("tree_oid"))
    for pk in revisions.filter(large).order_by("pk").values_list("pk", flat=True).iterator():
        rows = files.filter(revision=pk).values_list("path", "blob__git_oid")
        revisions.filter(pk=pk).update(directory_oid=tree_oid(dict(rows.iterator())))


class Migration(migrations.Migration):
    dependencies = [
        ("registry", "0020_fair_queue"),
    ]

    operations = [
        migrations.AddField(
            model_name="revision",
            name="directory_oid",
            field=models.CharField(
                default="", max_length=40, validators=[RegexValidator("^[0-9a-f]{40}$")]
            ),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="revision",
            name="file_count",
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddField(
            model_name="revision",
            name="size_bytes",
            field=models.BigIntegerField(default=0),
        ),
        migrations.CreateModel(
            name="Tree",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "oid",
                    models.CharField(
                        max_length=40, validators=[RegexValidator("^[0-9a-f]{40}$")]
                    ),
                ),
                ("content", models.BinaryField()),
                (
                    "mlmodel",
                    models.ForeignKey(
                        on_delete=models.CASCADE, related_name="trees", to="registry.mlmodel"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("mlmodel", "oid"), name="tree_unique")
                ],
            },
        ),
        migrations.AlterField(
            model_name="file",
            name="path",
            field=PathField(max_length=1024),
        ),
        migrations.RunSQL(_SUMS, migrations.RunSQL.noop),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
