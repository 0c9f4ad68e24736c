"""Identifiers: integer keys inside, UUIDs outside, names and digests for people.

Each kind is defined once, with a column constructor, so that length, case rule and uniqueness agree
in all tables.
"""

import re
import uuid
from typing import Any

from django.core.validators import RegexValidator
from django.db import models

# DANGER: blobs on disk, records and citations are named by these digests. Changing the hash
# function or its notation orphans every stored byte.
SHA256_PATTERN = r"[0-9a-f]{64}"
OID_PATTERN = r"[0-9a-f]{40}"
UUID_PATTERN = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"

# The Hugging Face Hub's rule for each part of a repository id, so that its clients accept ours.
NAME_PATTERN = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,94}[A-Za-z0-9_])?"
SLUG_PATTERN = r"[a-z0-9]+(?:-[a-z0-9]+)*"

SHA256_RE = re.compile(SHA256_PATTERN)
OID_RE = re.compile(OID_PATTERN)
NAME_RE = re.compile(NAME_PATTERN)
SLUG_RE = re.compile(SLUG_PATTERN)

# First path segments of the hub's own pages; a namespace of that name would shadow a page.
RESERVED_NAMESPACES = frozenset({
    "about", "account", "accounts", "admin", "api", "ark", "assets", "audit", "blobs", "buckets",
    "builds", "catalog", "catalogue", "collections", "compare", "datasets", "device", "devices",
    "docs", "doi", "fair", "favicon.ico", "feeds", "fleet", "healthz", "help", "jobs", "join",
    "kernels", "login", "logout", "metrics", "models", "new", "oai", "oauth", "organisations",
    "organizations", "pages", "papers", "passes", "policy", "principles", "profiles", "readyz",
    "records", "resolve", "robots", "robots.txt", "schema", "search", "settings", "shapes",
    "signup", "sitemap", "sitemap.xml", "spaces", "static", "targets", "terms", "tokens", "trials",
    "tune-next", "tuning", "undefined", "uploads", "user", "users", "v1", "well-known", "workloads",
    "xet",
})  # fmt: skip


class PathField(models.CharField):  # type: ignore[type-arg]
    """A path in a revision, which every database compares and sorts byte by byte."""

    def db_parameters(self, connection: Any) -> Any:
        """The collation depends on the database; that of SQLite compares bytes by itself."""
        parameters = super().db_parameters(connection)
        collation = "C" if connection.vendor == "postgresql" else None
        return {**parameters, "collation": collation}


def parse_uuid(text: object) -> uuid.UUID:
    """The UUID in ``text``; if it is malformed, the nil UUID, which no row has."""
    try:
        return uuid.UUID(str(text))
    except ValueError:
        return uuid.UUID(int=0)


def uuid_column() -> "models.UUIDField[uuid.UUID, uuid.UUID]":
    """The public identifier, for addresses, messages and documents."""
    return models.UUIDField(default=uuid.uuid4, unique=True, editable=False)


def sha256_column(**options: object) -> "models.CharField[str, str]":
    """A SHA-256 of bytes: 64 lowercase hex digits."""
    return models.CharField(
        max_length=64,
        validators=[RegexValidator(f"^{SHA256_PATTERN}$")],
        **options,  # type: ignore[arg-type]
    )


def oid_column(**options: object) -> "models.CharField[str, str]":
    """A git object id (SHA-1 over header and content): 40 lowercase hex digits."""
    return models.CharField(
        max_length=40,
        validators=[RegexValidator(f"^{OID_PATTERN}$")],
        **options,  # type: ignore[arg-type]
    )
