"""Stores the visibility that new repositories of an organisation have by default."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("registry", "0014_parameters"),
    ]

    operations = [
        migrations.AddField(
            model_name="namespace",
            name="default_visibility",
            field=models.CharField(
                choices=[("public", "Public"), ("private", "Private")],
                default="public",
                max_length=8,
            ),
        ),
    ]
