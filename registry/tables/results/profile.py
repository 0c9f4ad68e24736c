"""Tables of profiles: kernels and call sites of published builds.

The rows are the parts of a :class:`workers.engine.profile.Profile`, so that a kernel can be found
from all models that run it.
"""

from django.db import models

from registry.ids import sha256_column
from registry.tables.results.build import Build
from registry.tables.storage.blob import Blob


class Profile(models.Model):
    """A run of a build under its runtime's profiler."""

    build = models.OneToOneField(Build, models.CASCADE, related_name="profile")
    method = models.CharField(max_length=200)
    total_ns = models.BigIntegerField()
    # Indices of graph nodes that were evaluated at compile time.
    folded = models.JSONField(default=list)
    created_at = models.DateTimeField(auto_now_add=True)


class Kernel(models.Model):
    """Machine code of a build; several call sites may share it.

    ``workload`` is the ``key`` of a :class:`registry.tables.ScheduleTask`, if the compiler has
    workloads; ``schedule`` is the trace of the schedule's decisions.
    """

    profile = models.ForeignKey(Profile, models.CASCADE, related_name="kernels")
    symbol = models.CharField(max_length=500)
    workload = sha256_column(blank=True, db_index=True)
    schedule = models.JSONField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["profile", "symbol"], name="kernel_symbol_unique")
        ]


class KernelCode(models.Model):
    """Code of a kernel as ``tir``, ``asm``, ``llvm``, ``cuda``, ``ptx`` or ``c++``."""

    kernel = models.ForeignKey(Kernel, models.CASCADE, related_name="code")
    kind = models.CharField(max_length=8)
    blob = models.ForeignKey(Blob, models.PROTECT, related_name="kernel_code")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["kernel", "kind"], name="kernel_code_kind_unique")
        ]


class CallSite(models.Model):
    """One executed operator of a build, in order.

    ``nodes`` is ``[{"index", "grade"}]``: the graph nodes that it computes, by position in the
    ONNX file, and the grade of that link (``exact``, ``inferred``, ``shared``).
    """

    profile = models.ForeignKey(Profile, models.CASCADE, related_name="call_sites")
    sequence = models.IntegerField()
    kernel = models.ForeignKey(Kernel, models.CASCADE, null=True, related_name="call_sites")
    name = models.CharField(max_length=500)
    operator = models.CharField(max_length=200)
    median_ns = models.BigIntegerField()
    mad_ns = models.BigIntegerField()
    runs = models.IntegerField()
    precision = models.CharField(max_length=16, blank=True)
    layout = models.CharField(max_length=32, blank=True)
    implementation = models.CharField(max_length=200, blank=True)
    nodes = models.JSONField(default=list)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["profile", "sequence"], name="call_site_order_unique")
        ]
