"""Which revision last changed each file, worked out for what was there before the column was."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


def fill(apps, schema_editor):
    Revision, File = apps.get_model("registry", "Revision"), apps.get_model("registry", "File")
    # Parents have lower keys than their children.
    for revision in Revision.objects.order_by("pk").iterator():
        before = {
            file.path: file
            for file in File.objects.filter(revision_id=revision.parent_id).iterator()
        }
        files = list(File.objects.filter(revision=revision))
        for file in files:
            known = before.get(file.path)
            same = known is not None and known.oid == file.oid
            file.changed_in_id = known.changed_in_id if same else revision.pk
        File.objects.bulk_update(files, ["changed_in"], batch_size=500)


class Migration(migrations.Migration):
    # PostgreSQL cannot alter a table whose rows were changed in the same transaction.
    atomic = False

    dependencies = [("registry", "0001_initial")]

    operations = [
        migrations.AddField(
            "blob",
            "used_at",
            models.DateTimeField(db_index=True, default=django.utils.timezone.now),
        ),
        migrations.AddField(
            "file",
            "changed_in",
            models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.RESTRICT,
                related_name="changes",
                to="registry.revision",
            ),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
        migrations.AlterField(
            "file",
            "changed_in",
            models.ForeignKey(
                on_delete=django.db.models.deletion.RESTRICT,
                related_name="changes",
                to="registry.revision",
            ),
        ),
    ]
