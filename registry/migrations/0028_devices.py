"""Adds states, owners, tokens and keys of devices, their codes, requirements of targets, and
requirements of jobs."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import registry.ids

_CLASSES = [
    ("residual-cnn", "Residual Cnn"),
    ("depthwise-cnn", "Depthwise Cnn"),
    ("plain-cnn", "Plain Cnn"),
    ("detection", "Detection"),
    ("transformer", "Transformer"),
    ("recurrent", "Recurrent"),
    ("mlp", "Mlp"),
    ("other", "Other"),
]
_STATES = [
    ("active", "Active"),
    ("draining", "Draining"),
    ("maintenance", "Maintenance"),
    ("quarantined", "Quarantined"),
    ("retired", "Retired"),
]


def _key() -> models.BigAutoField:
    return models.BigAutoField(
        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
    )


class Migration(migrations.Migration):
    dependencies = [
        ("registry", "0027_file_series"),
    ]

    operations = [
        migrations.AddField("target", "memory_bytes", models.BigIntegerField(default=0)),
        migrations.AddField("target", "cores", models.PositiveIntegerField(default=0)),
        migrations.AddField("target", "is_emulated", models.BooleanField(default=False)),
        migrations.AddField("target", "catch_up_below", models.BigIntegerField(null=True)),
        migrations.AddField(
            "device",
            "owner",
            models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="devices",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField("device", "tools", models.JSONField(default=dict)),
        migrations.AddField("device", "agent_version", models.CharField(blank=True, max_length=40)),
        migrations.AddField("device", "is_emulated", models.BooleanField(default=False)),
        migrations.AddField("device", "token_hash", registry.ids.sha256_column(blank=True)),
        migrations.AddField("device", "public_key", models.TextField(blank=True)),
        migrations.AddField(
            "device",
            "state",
            models.CharField(choices=_STATES, default="active", max_length=12),
        ),
        migrations.AddField("device", "reason", models.CharField(blank=True, max_length=500)),
        migrations.AddField("device", "state_at", models.DateTimeField(null=True)),
        migrations.AddField("device", "is_trusted", models.BooleanField(default=True)),
        migrations.AddField("device", "rerank_below", models.BigIntegerField(null=True)),
        migrations.AddField("device", "checked_at", models.DateTimeField(null=True)),
        migrations.AddField("device", "check_seed", models.PositiveIntegerField(null=True)),
        migrations.AddField("device", "failures_in_row", models.PositiveIntegerField(default=0)),
        migrations.AddField("device", "recheck_below", models.BigIntegerField(null=True)),
        migrations.AddField("device", "run_s", models.FloatField(default=0.0)),
        migrations.AddConstraint(
            model_name="device",
            constraint=models.UniqueConstraint(
                condition=models.Q(("token_hash", ""), _negated=True),
                fields=("token_hash",),
                name="device_token_unique",
            ),
        ),
        migrations.AddConstraint(
            model_name="device",
            constraint=models.UniqueConstraint(
                condition=models.Q(("public_key", ""), _negated=True),
                fields=("public_key",),
                name="device_key_unique",
            ),
        ),
        migrations.AddIndex(
            model_name="device",
            index=models.Index(fields=["target", "state", "health"], name="device_of_target"),
        ),
        migrations.CreateModel(
            name="DeviceCode",
            fields=[
                ("id", _key()),
                ("digest", registry.ids.sha256_column(unique=True)),
                ("expires_at", models.DateTimeField(db_index=True)),
                ("used_at", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "device",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="codes",
                        to="registry.device",
                    ),
                ),
                (
                    "owner",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="device_codes",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "target",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="codes",
                        to="registry.target",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="JobRequirement",
            fields=[
                ("id", _key()),
                ("key", models.CharField(max_length=300, unique=True)),
                ("tools", models.JSONField(default=list)),
                ("memory_bytes", models.BigIntegerField(default=0)),
                ("seconds", models.FloatField(default=0.0)),
            ],
        ),
        migrations.AddField(
            "job",
            "requirement",
            models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="jobs",
                to="registry.jobrequirement",
            ),
        ),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(
                condition=models.Q(("state", "leased")),
                fields=["device", "target"],
                name="job_held",
            ),
        ),
        migrations.CreateModel(
            name="StudyStatistic",
            fields=[
                ("id", _key()),
                ("kind", models.CharField(max_length=16)),
                ("architecture_class", models.CharField(choices=_CLASSES, max_length=24)),
                ("ended", models.PositiveIntegerField(default=0)),
                ("improved", models.PositiveIntegerField(default=0)),
                (
                    "target",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="studies",
                        to="registry.target",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("target", "kind", "architecture_class"), name="study_unique"
                    )
                ],
            },
        ),
    ]
