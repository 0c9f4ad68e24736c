"""Adds the table of attempts at jobs, without earlier attempts, and an index of records."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("registry", "0028_devices"),
    ]

    operations = [
        migrations.CreateModel(
            name="JobAttempt",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("fence", models.IntegerField()),
                ("level", models.SmallIntegerField()),
                ("wait_s", models.FloatField()),
                ("started_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "end",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("succeeded", "Succeeded"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                            ("lost", "Lost"),
                            ("released", "Released"),
                        ],
                        max_length=10,
                    ),
                ),
                (
                    "failure_class",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("infrastructure", "Infrastructure"),
                            ("invalid", "Invalid"),
                            ("timeout", "Timeout"),
                            ("crash", "Crash"),
                            ("wrong-output", "Wrong Output"),
                        ],
                        max_length=16,
                    ),
                ),
                (
                    "account",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="attempts",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "device",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="attempts",
                        to="registry.device",
                    ),
                ),
                (
                    "job",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="attempts",
                        to="registry.job",
                    ),
                ),
                (
                    "target",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="attempts",
                        to="registry.target",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["ended_at"], name="attempt_by_end"),
                    models.Index(fields=["target", "ended_at"], name="attempt_of_target"),
                    models.Index(fields=["device", "ended_at"], name="attempt_of_device"),
                    models.Index(fields=["device", "-id"], name="attempt_newest"),
                    models.Index(
                        condition=models.Q(("end__in", ["failed", "lost"])),
                        fields=["ended_at"],
                        name="attempt_failures",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("job", "fence"), name="attempt_unique"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("end", ""), ("ended_at__isnull", True)),
                            models.Q(
                                ("ended_at__isnull", False), models.Q(("end", ""), _negated=True)
                            ),
                            _connector="OR",
                        ),
                        name="attempt_end_has_time",
                    ),
                ],
            },
        ),
        migrations.AddIndex(
            model_name="record",
            index=models.Index(fields=["device", "-created_at", "-id"], name="record_of_device"),
        ),
    ]
