"""Stores the number of parameters in the safetensors files of a model, for filters of lists."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("registry", "0013_former_names"),
    ]

    operations = [
        migrations.AddField(
            model_name="mlmodel",
            name="parameters",
            field=models.BigIntegerField(null=True),
        ),
    ]
