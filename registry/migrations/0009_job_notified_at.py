"""Renames the time of a job's last wake-up notification."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("registry", "0008_job_yields")]

    operations = [migrations.RenameField("job", "rung_at", "notified_at")]
