"""Adds job bundles: jobs that are exported to devices without a network."""

import uuid

import django.core.validators
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("registry", "0031_remote_runs"),
    ]

    operations = [
        migrations.CreateModel(
            name="JobBundle",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("uuid", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("exported", "Exported"),
                            ("imported", "Imported"),
                            ("cancelled", "Cancelled"),
                        ],
                        default="exported",
                        max_length=9,
                    ),
                ),
                ("envelope", models.JSONField(default=dict)),
                ("claims", models.JSONField(default=dict)),
                ("budget_s", models.FloatField()),
                ("lease_until", models.DateTimeField()),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("imported_at", models.DateTimeField(null=True)),
                (
                    "results_sha256",
                    models.CharField(
                        blank=True,
                        max_length=64,
                        validators=[django.core.validators.RegexValidator("^[0-9a-f]{64}$")],
                    ),
                ),
                ("report", models.JSONField(default=list)),
                (
                    "answers",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="registry.blob",
                    ),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "device",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="bundles",
                        to="registry.device",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["-created_at"], name="bundle_newest")],
            },
        ),
    ]
