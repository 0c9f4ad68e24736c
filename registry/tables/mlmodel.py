"""What is shared."""

from django.conf import settings
from django.db import models
from django.db.models.functions import Lower

from registry.ids import uuid_column
from registry.states import Visibility
from registry.tables.account import Namespace


class MLModel(models.Model):
    """``namespace/name``: a line of revisions with a card.

    The columns from ``title`` to ``library`` repeat what the card of the default branch's newest
    revision says, so that lists need no parsing; ``services/revision.py`` writes them.
    """

    uuid = uuid_column()
    namespace = models.ForeignKey(Namespace, models.PROTECT, related_name="mlmodels")
    name = models.CharField(max_length=96)
    visibility = models.CharField(
        max_length=8, choices=Visibility.choices, default=Visibility.PUBLIC
    )
    default_branch = models.CharField(max_length=200, default="main")
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="mlmodels"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    # Time of the last commit or setting change; orders the catalogue.
    updated_at = models.DateTimeField(db_index=True)
    downloads = models.BigIntegerField(default=0)

    title = models.CharField(max_length=300, blank=True)
    description = models.TextField(blank=True)
    license = models.CharField(max_length=200, blank=True, db_index=True)
    task = models.CharField(max_length=100, blank=True, db_index=True)
    library = models.CharField(max_length=100, blank=True, db_index=True)

    class Meta:
        constraints = [
            models.UniqueConstraint("namespace", Lower("name"), name="mlmodel_name_unique")
        ]
        indexes = [models.Index(fields=["-updated_at", "-id"], name="mlmodel_newest")]

    def __str__(self) -> str:
        return self.full_name

    @property
    def full_name(self) -> str:
        """``namespace/name``, in the case it was created with."""
        return f"{self.namespace.name}/{self.name}"


class Tag(models.Model):
    """A keyword of the card."""

    mlmodel = models.ForeignKey(MLModel, models.CASCADE, related_name="tags")
    value = models.CharField(max_length=200, db_index=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["mlmodel", "value"], name="tag_unique")]
