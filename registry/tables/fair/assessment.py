"""FAIR assessments of versions over time."""

from django.db import models

from registry.ids import uuid_column
from registry.tables.repository.revision import Revision


class Assessment(models.Model):
    """The result of one assessment run: a document of schema ``hpcfair.fair/1``.

    The other columns copy parts of the document for lists and the hub-wide report; the document is
    authoritative. The newest assessment of a revision is its score, the others its history.
    """

    uuid = uuid_column()
    revision = models.ForeignKey(Revision, models.CASCADE, related_name="assessments")
    document = models.JSONField()
    tool = models.CharField(max_length=64)
    points = models.FloatField()
    most = models.FloatField()
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        indexes = [models.Index(fields=["revision", "-created_at"], name="assessment_newest")]
