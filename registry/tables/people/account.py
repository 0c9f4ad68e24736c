"""People, the namespaces they publish under, and the tokens that act for them."""

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.db.models.functions import Lower

from registry.ids import sha256_column, uuid_column
from registry.states import NamespaceKind, Role, Scope, Visibility


class User(AbstractUser):
    """A person. Their personal namespace carries the same name."""

    # Not a column: the token of this request, set by authentication. It limits what the person
    # may do; a browser's session has none.
    token: "Token | None" = None

    uuid = uuid_column()
    full_name = models.CharField(max_length=200, blank=True)
    # Full, validated addresses: https://orcid.org/..., https://ror.org/...
    orcid = models.CharField(max_length=64, blank=True)
    affiliation = models.CharField(max_length=200, blank=True)
    affiliation_ror = models.CharField(max_length=64, blank=True)

    class Meta(AbstractUser.Meta):
        indexes = [models.Index(Lower("email"), name="user_email")]


class Namespace(models.Model):
    """The first part of ``namespace/name``; belongs to a person or an organisation.

    Names are case-insensitive, as the Hugging Face Hub's are, but keep their original case.
    """

    uuid = uuid_column()
    name = models.CharField(max_length=96)
    kind = models.CharField(max_length=16, choices=NamespaceKind.choices)
    title = models.CharField(max_length=200, blank=True)
    # Of an organisation: its https://ror.org/... address.
    ror = models.CharField(max_length=64, blank=True)
    # Of new repositories whose creator chooses none; organisations can change it.
    default_visibility = models.CharField(
        max_length=8, choices=Visibility.choices, default=Visibility.PUBLIC
    )
    created_at = models.DateTimeField(auto_now_add=True)
    # Empty: the hub's default; negative: unlimited.
    quota_bytes = models.BigIntegerField(null=True, blank=True)
    quota_models = models.IntegerField(null=True, blank=True)
    quota_jobs = models.IntegerField(null=True, blank=True)
    # Of a person: uploads in parts that are not complete.
    quota_uploads = models.IntegerField(null=True, blank=True)
    # Of a person: MiB that inputs and outputs of runs occupy, and seconds on devices in a day.
    quota_run_mib = models.IntegerField(null=True, blank=True)
    quota_run_seconds = models.IntegerField(null=True, blank=True)
    # Sum over its models and data sets.
    used_bytes = models.BigIntegerField(default=0)
    members = models.ManyToManyField(User, through="Membership", related_name="namespaces")

    class Meta:
        constraints = [models.UniqueConstraint(Lower("name"), name="namespace_name_unique")]

    def __str__(self) -> str:
        return self.name


class FormerNamespace(models.Model):
    """The name of a deleted organisation, which nobody else may take.

    Citations, addresses and scripts that name it must not lead to another publisher's models.
    """

    name = models.CharField(max_length=96)
    deleted_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(Lower("name"), name="former_namespace_unique")]


class Membership(models.Model):
    """A person's role in a namespace; the owner of a personal one is its only admin."""

    namespace = models.ForeignKey(Namespace, models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=8, choices=Role.choices)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["namespace", "user"], name="membership_unique")
        ]


class Token(models.Model):
    """A bearer secret, stored as SHA-256; owners recognize it by its beginning, ``prefix``."""

    uuid = uuid_column()
    user = models.ForeignKey(User, models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=16)
    digest = sha256_column(unique=True)
    scope = models.CharField(max_length=8, choices=Scope.choices, default=Scope.READ)
    # The only namespace that the token may act in; empty for all of its owner's.
    namespace = models.ForeignKey(
        Namespace, models.CASCADE, null=True, blank=True, related_name="tokens"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)


class DeviceGrant(models.Model):
    """A request of a program to act for the person who enters its code in a browser (RFC 8628).

    The program authenticates by a long secret, of which only the SHA-256 is stored; people
    compare and enter ``user_code``. The row is deleted when the token is issued.
    """

    digest = sha256_column(unique=True)
    user_code = models.CharField(max_length=9, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(db_index=True)
    polled_at = models.DateTimeField(null=True, blank=True)
    # The person who approved; empty while undecided and where it was refused.
    user = models.ForeignKey(
        User, models.CASCADE, null=True, blank=True, related_name="device_grants"
    )
    is_refused = models.BooleanField(default=False)
    # Where the program is: an IPv4 address or an IPv6 /48; "" if unknown.
    network = models.CharField(max_length=64, blank=True, default="")

    class Meta:
        indexes = [models.Index(fields=["network"], name="devicegrant_network")]
