"""Writes down what versions were made from, of which only their cards have told so far."""

from django.db import migrations

from registry.fair.card.links import bases_of
from registry.fair.card.values import CardReader
from registry.validation.card import Card

_AT_ONCE = 1000


def derive(apps, schema_editor):
    """Add a row for each base model that the card of a revision names."""
    alias = schema_editor.connection.alias
    derivations = apps.get_model("registry", "Derivation").objects.using(alias)
    mlmodels = apps.get_model("registry", "MLModel").objects.using(alias)
    revisions = apps.get_model("registry", "Revision").objects.using(alias)
    revisions = revisions.select_related("mlmodel__namespace").order_by("pk")
    last = 0
    while some := list(revisions.filter(pk__gt=last)[:_AT_ONCE]):
        last = some[-1].pk
        rows = [row for one in some for row in _rows(one, derivations.model, mlmodels)]
        derivations.bulk_create(rows, ignore_conflicts=True)


def _rows(revision, table, mlmodels):
    if not isinstance(revision.card, dict) or "base_model" not in revision.card:
        return
    mlmodel = revision.mlmodel
    full_name = f"{mlmodel.namespace.name}/{mlmodel.name}"
    for base in bases_of(CardReader(Card(values=revision.card)), full_name, lambda _: ()):
        owner, _, name = base.source.partition("/")
        found = None
        if name.isprintable() and owner.isprintable():
            same = mlmodels.filter(namespace__name__iexact=owner, name__iexact=name)
            found = same.filter(kind=mlmodel.kind).first()
        written = f"{base.source}@{base.revision}" if base.revision else base.source
        yield table(
            revision=revision,
            relation=base.relation or "derived",
            source=written[:500],
            source_mlmodel=found,
        )


class Migration(migrations.Migration):
    dependencies = [
        ("registry", "0006_identifiers"),
    ]

    operations = [
        migrations.RunPython(derive, migrations.RunPython.noop),
    ]
