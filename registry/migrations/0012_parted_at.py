"""Stores where the branch of a squashed pull request parted from its target."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("registry", "0011_copies"),
    ]

    operations = [
        migrations.AddField(
            model_name="discussion",
            name="parted_at",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.RESTRICT,
                related_name="+",
                to="registry.revision",
            ),
        ),
    ]
