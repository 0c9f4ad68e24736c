"""Kinds of hardware."""

from django.db import models

from registry.ids import uuid_column


class Target(models.Model):
    """A kind of hardware, such as ``x86-64-avx512``.

    ``features`` are the instruction-set and accelerator features a build for it may use; a
    machine can load the builds of every target whose architecture is its own and whose features
    it has. ``rank`` orders such targets: the highest is the closest match.
    """

    uuid = uuid_column()
    slug = models.SlugField(max_length=64, unique=True)
    title = models.CharField(max_length=200, blank=True)
    architecture = models.CharField(max_length=32)
    features = models.JSONField(default=list)
    rank = models.IntegerField(default=0)
    enabled = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.slug
