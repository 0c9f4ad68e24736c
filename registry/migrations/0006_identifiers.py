"""Names what was shared before there were identifiers."""

from django.conf import settings
from django.db import migrations

from registry.fair import ark

_AT_ONCE = 1000


def mint(apps, schema_editor):
    """Give every repository and every revision that has none an identifier."""
    alias = schema_editor.connection.alias
    identifiers = apps.get_model("registry", "Identifier").objects.using(alias)
    mlmodels = apps.get_model("registry", "MLModel").objects.using(alias)
    revisions = apps.get_model("registry", "Revision").objects.using(alias)
    unnamed = mlmodels.exclude(identifiers__kind="concept").select_related("namespace")
    for some in _in_parts(unnamed):
        _name(identifiers, [_row("concept", mlmodel) for mlmodel in some])
    unnamed = revisions.filter(identifiers=None).select_related("mlmodel__namespace")
    for some in _in_parts(unnamed):
        _name(
            identifiers,
            [_row("version", r.mlmodel, revision=r, oid=r.oid) for r in some],
        )


def _in_parts(rows):
    last = 0
    while some := list(rows.filter(pk__gt=last).order_by("pk")[:_AT_ONCE]):
        yield some
        last = some[-1].pk


def _row(kind, mlmodel, **more):
    full_name = f"{mlmodel.namespace.name}/{mlmodel.name}"
    same = {"mlmodel": mlmodel, "repository_kind": mlmodel.kind, "full_name": full_name}
    return {"kind": kind, **same, **more}


def _name(identifiers, rows):
    names = set()
    while len(names) < len(rows):
        drawn = {ark.mint(settings.NAAN) for _ in range(len(rows) - len(names))}
        names |= drawn - set(identifiers.filter(name__in=drawn).values_list("name", flat=True))
    identifiers.bulk_create([identifiers.model(name=name, **row) for name, row in zip(names, rows)])


class Migration(migrations.Migration):
    dependencies = [
        ("registry", "0005_fair"),
    ]

    operations = [
        migrations.RunPython(mint, migrations.RunPython.noop),
    ]
