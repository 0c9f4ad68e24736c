"""Git trees: the folders of revisions, shared by all revisions in which they are the same."""

from django.db import models

from registry.ids import oid_column
from registry.tables.repository.mlmodel import MLModel


class Tree(models.Model):
    """The bytes of a git tree object: names and ids of the files and folders in one folder.

    They can be computed from the files of a revision; a commit that finds its parent's trees stored
    reads only those on the way to a changed path. ``content`` is as git stores it, without header.
    """

    mlmodel = models.ForeignKey(MLModel, models.CASCADE, related_name="trees")
    oid = oid_column()
    content = models.BinaryField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["mlmodel", "oid"], name="tree_unique")]
