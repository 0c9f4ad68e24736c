"""Counters of attempts to sign in, networks of sign-ins of programs, further quotas."""

import django.core.validators
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("registry", "0018_hub_keys")]

    operations = [
        migrations.CreateModel(
            name="SignInAttempts",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "key",
                    models.CharField(
                        max_length=64,
                        unique=True,
                        validators=[django.core.validators.RegexValidator("^[0-9a-f]{64}$")],
                    ),
                ),
                ("failures", models.PositiveIntegerField(default=0)),
                ("last_at", models.DateTimeField(db_index=True)),
            ],
        ),
        migrations.CreateModel(
            name="PartsBegun",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "key",
                    models.CharField(
                        max_length=64,
                        unique=True,
                        validators=[django.core.validators.RegexValidator("^[0-9a-f]{64}$")],
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="parts_begun",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.AddField(
            model_name="devicegrant",
            name="network",
            field=models.CharField(blank=True, default="", max_length=64),
        ),
        migrations.AddIndex(
            model_name="devicegrant",
            index=models.Index(fields=["network"], name="devicegrant_network"),
        ),
        migrations.AddField(
            model_name="namespace",
            name="quota_models",
            field=models.IntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="namespace",
            name="quota_jobs",
            field=models.IntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="namespace",
            name="quota_uploads",
            field=models.IntegerField(blank=True, null=True),
        ),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(
                condition=models.Q(("state__in", ["queued", "leased"])),
                fields=["requested_by"],
                name="job_open_of_person",
            ),
        ),
    ]
