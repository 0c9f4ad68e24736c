"""Models and data sets as repositories, with their tags, labels, likes and access requests."""

from django.conf import settings
from django.db import models
from django.db.models.functions import Lower

from registry.ids import uuid_column
from registry.states import Gate, RepositoryKind, RequestState, Visibility
from registry.tables.people.account import Namespace

#: Keys of repositories in one part of the site map. DANGER: an index contains it.
SITE_MAP_PART = 5000
_IS_PUBLIC = models.Q(visibility=Visibility.PUBLIC)


class MLModel(models.Model):
    """The repository ``namespace/name``: a history of revisions with a card.

    The columns from ``title`` to ``library`` repeat the card of the default branch's head, so that
    lists need no parsing; :func:`registry.services.repository.card.card_apply` writes them.

    A data set is a row of another ``kind`` (ADR 0010), which cannot be inspected, tuned or built.
    Where the kind matters, "MLModel" means a model.
    """

    uuid = uuid_column()
    kind = models.CharField(
        max_length=8, choices=RepositoryKind.choices, default=RepositoryKind.MODEL
    )
    namespace = models.ForeignKey(Namespace, models.PROTECT, related_name="mlmodels")
    name = models.CharField(max_length=96)
    visibility = models.CharField(
        max_length=8, choices=Visibility.choices, default=Visibility.PUBLIC
    )
    # Created to be public, and private until its first files have passed their checks.
    is_held = models.BooleanField(default=False)
    default_branch = models.CharField(max_length=200, default="main")
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="mlmodels"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    # Time of the last commit or setting change; orders the catalogue.
    updated_at = models.DateTimeField()
    downloads = models.BigIntegerField(default=0)
    likes = models.BigIntegerField(default=0)
    gate = models.CharField(max_length=8, choices=Gate.choices, default=Gate.OPEN)
    # Sum over the distinct blobs of its revisions; counts against the namespace's quota.
    used_bytes = models.BigIntegerField(default=0)
    # Part of the address of its Xet store. Clients assume that xorbs they sent to an address are
    # still there; the address changes whenever that may be false.
    xet_epoch = models.PositiveIntegerField(default=1)

    title = models.CharField(max_length=300, blank=True)
    description = models.TextField(blank=True)
    license = models.CharField(max_length=200, blank=True, db_index=True)
    task = models.CharField(max_length=100, blank=True, db_index=True)
    library = models.CharField(max_length=100, blank=True, db_index=True)
    # Of its safetensors files; null where there are none, or their headers are unreadable.
    parameters = models.BigIntegerField(null=True)

    class Meta:
        verbose_name = "model or data set"
        verbose_name_plural = "models and data sets"
        constraints = [
            models.UniqueConstraint("kind", "namespace", Lower("name"), name="mlmodel_name_unique")
        ]
        indexes = [
            models.Index(fields=["-updated_at", "-id"], name="mlmodel_newest"),
            models.Index(fields=["kind", "-updated_at", "-id"], name="mlmodel_kind_newest"),
            models.Index(fields=["kind", "-likes", "-id"], name="mlmodel_kind_liked"),
            models.Index(fields=["kind", "-downloads", "-id"], name="mlmodel_kind_fetched"),
            # For harvesters: pages, lists by time, and parts of the site map. Partial, because the
            # planner prefers the primary key to an index that begins with the visibility.
            models.Index(fields=["id"], condition=_IS_PUBLIC, name="mlmodel_public"),
            models.Index(
                fields=["kind", "updated_at", "id"],
                condition=_IS_PUBLIC,
                name="mlmodel_public_changed",
            ),
            models.Index(
                fields=["created_at", "id"], condition=_IS_PUBLIC, name="mlmodel_public_created"
            ),
            models.Index(
                fields=["namespace", "kind", "updated_at", "id"],
                condition=_IS_PUBLIC,
                name="mlmodel_public_of_owner",
            ),
            models.Index(
                models.F("id") / SITE_MAP_PART,
                "updated_at",
                condition=_IS_PUBLIC,
                name="mlmodel_site_map",
            ),
        ]

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


class Label(models.Model):
    """A property that lists are filtered by; see :mod:`registry.validation.labels`.

    Labels repeat the files of the default branch's head, in the order of their keys.
    """

    mlmodel = models.ForeignKey(MLModel, models.CASCADE, related_name="labels")
    kind = models.CharField(max_length=32)
    value = models.CharField(max_length=200)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["mlmodel", "value"], name="label_unique")]
        indexes = [models.Index(fields=["value", "mlmodel"], name="label_by_value")]


class FormerName(models.Model):
    """A name that an MLModel was moved away from.

    It redirects until the name is used again. From then on, only addresses of versions that the
    moved MLModel alone has lead to it.
    """

    kind = models.CharField(max_length=8, choices=RepositoryKind.choices)
    namespace = models.CharField(max_length=96)
    name = models.CharField(max_length=96)
    # Empty after the deletion of one that left a record; ``full_name`` is its last name then.
    mlmodel = models.ForeignKey(
        MLModel, models.CASCADE, null=True, blank=True, related_name="former_names"
    )
    full_name = models.CharField(max_length=200, blank=True)
    # When another MLModel took the name.
    replaced_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                "kind",
                Lower("namespace"),
                Lower("name"),
                condition=models.Q(replaced_at=None),
                name="former_name_unique",
            )
        ]
        indexes = [
            models.Index("kind", Lower("namespace"), Lower("name"), name="former_name_named")
        ]


class Like(models.Model):
    """A person's like of an MLModel."""

    mlmodel = models.ForeignKey(MLModel, models.CASCADE, related_name="liked_by")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="likes")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["mlmodel", "user"], name="like_unique")]
        indexes = [
            models.Index(fields=["mlmodel", "-id"], name="like_of_mlmodel"),
            models.Index(fields=["user", "-id"], name="like_of_user"),
        ]


class AccessRequest(models.Model):
    """A person's request for the files behind an MLModel's gate."""

    uuid = uuid_column()
    mlmodel = models.ForeignKey(MLModel, models.CASCADE, related_name="access_requests")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="access_requests"
    )
    state = models.CharField(
        max_length=8, choices=RequestState.choices, default=RequestState.PENDING
    )
    # Written by the person, and by the owner who rejected the request.
    message = models.TextField(blank=True)
    rejection_reason = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    handled_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    handled_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["mlmodel", "user"], name="access_request_unique")
        ]
