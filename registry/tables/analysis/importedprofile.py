"""Tables of imported profiles: what somebody else measured, matched to a network of the hub."""

from django.conf import settings
from django.db import models

from registry.ids import uuid_column
from registry.tables.results.graph import Graph
from registry.tables.storage.blob import Blob


class ImportedProfile(models.Model):
    """A profile from a file of another tool.

    It is never ranked with the hub's own measurements. ``target`` and ``environment`` are what the
    person states. ``fit`` has the counts of :class:`registry.nodelinks.fit.LinkFit`, ``notes`` what
    a reader must know to believe the times. ``blob`` is the file as it was uploaded, ``details``
    the second file of formats that have one.
    """

    uuid = uuid_column()
    graph = models.ForeignKey(Graph, models.CASCADE, related_name="imported_profiles")
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="imported_profiles"
    )
    format = models.CharField(max_length=16)
    tool_version = models.CharField(max_length=100, blank=True)
    target = models.CharField(max_length=200)
    environment = models.TextField(blank=True)
    method = models.CharField(max_length=200)
    total_ns = models.BigIntegerField()
    # Whether the file states the time of a run; otherwise it is the sum of the calls.
    is_total_stated = models.BooleanField()
    # Whether the calls are in the order of execution.
    is_ordered = models.BooleanField()
    notes = models.JSONField(default=list)
    folded = models.JSONField(default=list)
    fit = models.JSONField(default=dict)
    blob = models.ForeignKey(Blob, models.PROTECT, related_name="imported_profiles")
    details = models.ForeignKey(
        Blob, models.PROTECT, null=True, related_name="details_of_imported_profiles"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["graph", "blob", "target"], name="imported_profile_unique"
            )
        ]


class ImportedCall(models.Model):
    """One operator or kernel of an imported profile, with the columns of a call site.

    ``reason`` says why it is linked to no node.
    """

    profile = models.ForeignKey(ImportedProfile, models.CASCADE, related_name="call_sites")
    sequence = models.IntegerField()
    name = models.CharField(max_length=500)
    operator = models.CharField(max_length=200, blank=True)
    median_ns = models.BigIntegerField()
    mad_ns = models.BigIntegerField()
    runs = models.IntegerField()
    precision = models.CharField(max_length=16, blank=True)
    implementation = models.CharField(max_length=200, blank=True)
    nodes = models.JSONField(default=list)
    reason = models.CharField(max_length=200, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["profile", "sequence"], name="imported_call_order")
        ]
