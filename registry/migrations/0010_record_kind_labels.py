"""Labels the kinds of benchmark records in the terms of the glossary."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("registry", "0009_job_notified_at"),
    ]

    operations = [
        migrations.AlterField(
            model_name="record",
            name="kind",
            field=models.CharField(
                choices=[
                    ("search-trial", "Search trial"),
                    ("headline", "Confirmed result"),
                    ("reproduction", "Reproduction"),
                ],
                max_length=16,
            ),
        ),
    ]
