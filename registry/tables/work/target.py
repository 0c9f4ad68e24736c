"""Table of targets."""

from django.db import models

from registry.ids import uuid_column


class Target(models.Model):
    """A kind of hardware, such as ``x86-64-avx512``.

    ``features`` are the instruction-set and accelerator features that its builds may use. A machine
    can load the builds of all targets of its architecture whose features it has; of these the
    target of the highest ``rank`` is the closest. Devices of the target have at least
    ``memory_bytes`` of memory and ``cores`` processor cores; 0: any. An emulated target is one of
    emulated machines, whose speed is never compared with that of real ones.
    """

    uuid = uuid_column()
    slug = models.SlugField(max_length=64, unique=True)
    title = models.CharField(max_length=200, blank=True)
    architecture = models.CharField(max_length=32)
    features = models.JSONField(default=list)
    memory_bytes = models.BigIntegerField(default=0)
    cores = models.PositiveIntegerField(default=0)
    is_emulated = models.BooleanField(default=False)
    rank = models.IntegerField(default=0)
    enabled = models.BooleanField(default=True)
    # Searches of revisions with smaller keys may be missing; empty: none are.
    catch_up_below = models.BigIntegerField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.slug
