"""Discussions and pull requests of an MLModel, and their events."""

from django.conf import settings
from django.db import models

from registry.ids import uuid_column
from registry.states import DiscussionState, EventKind
from registry.tables.repository.mlmodel import MLModel
from registry.tables.repository.revision import Revision


class Discussion(models.Model):
    """Discussion ``num`` of an MLModel; if ``is_pull_request``, ``refs/pr/<num>`` is its branch.

    Numbers count up from 1 within an MLModel; discussions and pull requests share them.
    """

    uuid = uuid_column()
    mlmodel = models.ForeignKey(MLModel, models.CASCADE, related_name="discussions")
    num = models.PositiveIntegerField()
    title = models.CharField(max_length=300)
    state = models.CharField(max_length=8, choices=DiscussionState.choices)
    is_pull_request = models.BooleanField(default=False)
    # The branch that a pull request would change, and the revision that merging made.
    target_branch = models.CharField(max_length=200, blank=True)
    merged_as = models.ForeignKey(Revision, models.RESTRICT, null=True, related_name="+")
    # Where a squashed branch parted from its target; its own history starts at the squashed commit.
    parted_at = models.ForeignKey(Revision, models.RESTRICT, null=True, related_name="+")
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="discussions"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["mlmodel", "num"], name="discussion_num_unique")
        ]


class DiscussionEvent(models.Model):
    """An event of a discussion; a comment may be edited or hidden later.

    ``text`` is the comment, the new title, the new state, or the commit's subject; ``before`` is
    the previous title or state, or the commit's id.
    """

    uuid = uuid_column()
    discussion = models.ForeignKey(Discussion, models.CASCADE, related_name="events")
    kind = models.CharField(max_length=16, choices=EventKind.choices)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    text = models.TextField(blank=True)
    before = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    edited_at = models.DateTimeField(null=True, blank=True)
    hidden_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [models.Index(fields=["discussion", "id"], name="discussion_event_order")]
