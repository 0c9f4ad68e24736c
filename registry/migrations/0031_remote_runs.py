"""Adds runs on devices with a person's inputs, and their quotas."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("registry", "0030_agent_work"),
    ]

    operations = [
        migrations.AlterField(
            model_name="job",
            name="kind",
            field=models.CharField(
                choices=[
                    ("inspect", "Inspect"),
                    ("tables", "Tables"),
                    ("tune", "Tune"),
                    ("schedule", "Schedule"),
                    ("passes", "Passes"),
                    ("reproduce", "Reproduce"),
                    ("assess", "Assess"),
                    ("doi", "Doi"),
                    ("run", "Run"),
                ],
                max_length=16,
            ),
        ),
        migrations.RemoveConstraint(model_name="job", name="job_open_unique"),
        migrations.AddConstraint(
            model_name="job",
            constraint=models.UniqueConstraint(
                condition=models.Q(
                    ("state__in", ["queued", "leased"]), models.Q(("kind", "run"), _negated=True)
                ),
                fields=("kind", "revision", "target"),
                name="job_open_unique",
            ),
        ),
        migrations.AddField(
            model_name="namespace",
            name="quota_run_mib",
            field=models.IntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="namespace",
            name="quota_run_seconds",
            field=models.IntegerField(blank=True, null=True),
        ),
        migrations.CreateModel(
            name="RemoteRun",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("reason", models.TextField(blank=True)),
                ("arrays", models.JSONField(default=dict)),
                ("report", models.JSONField(default=dict)),
                ("limit_s", models.FloatField()),
                ("expires_at", models.DateTimeField(db_index=True)),
                (
                    "build",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="runs",
                        to="registry.build",
                    ),
                ),
                (
                    "inputs",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="inputs_of_runs",
                        to="registry.blob",
                    ),
                ),
                (
                    "job",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="run",
                        to="registry.job",
                    ),
                ),
                (
                    "outputs",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="outputs_of_runs",
                        to="registry.blob",
                    ),
                ),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="runs",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
    ]
