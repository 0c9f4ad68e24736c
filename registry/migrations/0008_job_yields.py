"""Counts how often a job gave way, which is no sign of trouble."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("registry", "0007_derivations")]

    operations = [
        migrations.AddField(
            model_name="job",
            name="yields",
            field=models.IntegerField(default=0),
        ),
    ]
