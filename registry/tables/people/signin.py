"""Table of attempts to sign in by password."""

from django.db import models

from registry.ids import sha256_column


class SignInAttempts(models.Model):
    """Recent failures that count together; ``key`` is a digest, so that no address is stored."""

    key = sha256_column(unique=True)
    failures = models.PositiveIntegerField(default=0)
    last_at = models.DateTimeField(db_index=True)
