"""Corrects the relation of byte-identical copies, which their cards call fine-tuned."""

from django.db import migrations

from registry.selectors.fair.copies import is_copy

_RELATIONS = ("derived", "finetune", "adapter", "merge", "distilled")


def correct(apps, schema_editor):
    """Make a copy of each declared derivation whose content is all that of its source."""
    alias = schema_editor.connection.alias
    tables = {
        name: apps.get_model("registry", name).objects.using(alias)
        for name in ("Derivation", "File", "Revision")
    }
    rows = tables["Derivation"].filter(relation__in=_RELATIONS, source_mlmodel__isnull=False)
    for row in rows.order_by("pk").iterator():
        digests = dict(tables["File"].filter(revision=row.revision_id).values_list("path", "blob"))
        # A card that names no version means the newest one of that time.
        versions = tables["Revision"].filter(mlmodel=row.source_mlmodel_id)
        if row.source_oid:
            versions = versions.filter(oid=row.source_oid)
        for oid, pk in versions.order_by("-pk").values_list("oid", "pk")[:20]:
            source = tables["File"].filter(revision=pk).values_list("blob", flat=True)
            same = tables["Derivation"].filter(
                revision=row.revision_id, relation="copy", source=row.source
            )
            if is_copy(digests, source):
                if same.exists():
                    row.delete()
                else:
                    row.relation, row.source_oid = "copy", oid
                    row.save(update_fields=["relation", "source_oid"])
                break


class Migration(migrations.Migration):
    dependencies = [
        ("registry", "0010_record_kind_labels"),
    ]

    operations = [
        migrations.RunPython(correct, migrations.RunPython.noop),
    ]
