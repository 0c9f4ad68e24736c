"""Tables of numbered writes of devices, and of their reports on the ends of attempts."""

from django.db import models

from registry.ids import sha256_column
from registry.tables.work.jobattempt import JobAttempt


class JobWrite(models.Model):
    """Digest and reply of a numbered write of an attempt, which takes effect once."""

    attempt = models.ForeignKey(JobAttempt, models.CASCADE, related_name="writes", db_index=False)
    number = models.BigIntegerField()
    sha256 = sha256_column()
    reply = models.JSONField()
    at = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["attempt", "number"], name="write_unique")]


class JobReport(models.Model):
    """The report of a device on the end of an attempt, with its signature.

    ``document`` is ``{"outcome", "result"}``, as the signature covers it. A report that ``is_late``
    arrived after the attempt had ended in another way, and had no effect.
    """

    attempt = models.OneToOneField(JobAttempt, models.CASCADE, related_name="report")
    document = models.JSONField()
    signature = models.CharField(max_length=128)
    is_late = models.BooleanField(default=False)
    at = models.DateTimeField(auto_now_add=True)
