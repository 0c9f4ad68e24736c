"""Makes a series of files of each revision; later commits share the rows of a series (ADR 42).

The column of files that named the revision names the series from now on: both have the same key, so
no row of a file is computed anew. There is no way back: a series may have many revisions by then.
"""

from typing import Any

import django.db.models.deletion
from django.core.management.color import no_style
from django.db import migrations, models

#: ``end`` of rows that no revision has ended.
_OPEN = 2**31 - 1
_SERIES = (
    """
    INSERT INTO registry_fileseries (id, mlmodel_id, length, row_count, fewest_files)
    SELECT id, mlmodel_id, 1, file_count, file_count FROM registry_revision
    """,
    "UPDATE registry_revision SET series_id = id",
)


def restart_sequence(apps: Any, editor: Any) -> None:
    """Let the keys of new series follow those of revisions."""
    series = apps.get_model("registry", "FileSeries")
    for sql in editor.connection.ops.sequence_reset_sql(no_style(), [series]):
        editor.execute(sql)


class Migration(migrations.Migration):
    dependencies = [
        ("registry", "0026_user_targets"),
    ]

    operations = [
        migrations.CreateModel(
            name="FileSeries",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("length", models.PositiveIntegerField(default=0)),
                ("row_count", models.PositiveBigIntegerField(default=0)),
                ("fewest_files", models.PositiveIntegerField(default=0)),
                (
                    "mlmodel",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="file_series",
                        to="registry.mlmodel",
                    ),
                ),
            ],
        ),
        migrations.AddField(
            model_name="revision",
            name="series",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.RESTRICT,
                related_name="revisions",
                to="registry.fileseries",
            ),
        ),
        migrations.AddField(
            model_name="revision",
            name="position",
            field=models.PositiveIntegerField(default=0),
            preserve_default=False,
        ),
        # Without a reverse: see above.
        *map(migrations.RunSQL, _SERIES),
        migrations.RunPython(restart_sequence),
        migrations.AlterField(
            model_name="revision",
            name="series",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.RESTRICT,
                related_name="revisions",
                to="registry.fileseries",
            ),
        ),
        migrations.AddConstraint(
            model_name="revision",
            constraint=models.UniqueConstraint(
                fields=("series", "position"), name="revision_position_unique"
            ),
        ),
        migrations.RemoveConstraint(model_name="file", name="file_path_unique"),
        migrations.RenameField(model_name="file", old_name="revision", new_name="series"),
        migrations.AlterField(
            model_name="file",
            name="series",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="files",
                to="registry.fileseries",
            ),
        ),
        migrations.AddField(
            model_name="file",
            name="first",
            field=models.PositiveIntegerField(default=0),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="file",
            name="end",
            field=models.PositiveIntegerField(default=_OPEN),
        ),
        migrations.AlterField(
            model_name="file",
            name="blob",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="files",
                to="registry.blob",
            ),
        ),
        migrations.AddConstraint(
            model_name="file",
            constraint=models.UniqueConstraint(
                fields=("series", "path", "end"), name="file_path_unique"
            ),
        ),
        migrations.AddConstraint(
            model_name="file",
            constraint=models.CheckConstraint(
                condition=models.Q(("first__lt", models.F("end"))), name="file_ends_after_first"
            ),
        ),
        migrations.AddIndex(
            model_name="file",
            index=models.Index(fields=["blob", "series"], name="file_of_blob"),
        ),
    ]
