"""Upload plans: the way in which a client sends each file, if it must."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from registry.errors import Invalid
from registry.selectors.repository.revision import text_of
from registry.selectors.storage.blob import blob_open
from registry.tables import Blob, Revision
from registry.validation.attributes import MAX_ATTRIBUTES_BYTES, lfs_rule
from registry.validation.ignore import MAX_IGNORE_BYTES, ignore_rule
from registry.validation.paths import check_path


@dataclass(frozen=True, slots=True)
class Offer:
    """A file that a client offers to put at ``path``."""

    path: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class UploadPlan:
    """How an offered file is to be sent.

    Attributes:
        is_large: Whether its bytes are uploaded separately (Xet, LFS), before the commit.
        is_ignored: Whether ``.gitignore`` excludes it.
        oid: Of the present content of the path: its SHA-256 if ``is_large``, else its git blob id;
            ``None`` if there is none. Clients skip unchanged files.
    """

    path: str
    is_large: bool
    is_ignored: bool
    oid: str | None


def upload_plans(
    revision: Revision, offers: Sequence[Offer], *, ignore: str | None = None
) -> list[UploadPlan]:
    """A plan for each offer, in the same order, for a commit on top of ``revision``.

    Raises ``Invalid``: ``invalid_path``, or ``invalid_request`` for a huge ``.gitignore``.

    Args:
        offers: At most some hundreds.
        ignore: The text of the ``.gitignore`` to apply; ``None`` for the revision's own.
    """
    paths = [check_path(offer.path) for offer in offers]
    present = {
        file.path: file.blob
        for file in revision.files.select_related("blob").filter(
            path__in=[*paths, ".gitattributes"]
        )
    }
    if ignore is None:
        ignore = text_of(revision, ".gitignore", most_bytes=MAX_IGNORE_BYTES) or ""
    is_large, is_ignored = lfs_rule_of(present.get(".gitattributes")), ignore_rule(ignore)
    plans = []
    for offer in offers:
        large = is_large(offer.path, offer.size_bytes)
        blob = present.get(offer.path)
        oid = (blob.sha256 if large else blob.git_oid) if blob else None
        plans.append(UploadPlan(offer.path, large, is_ignored(offer.path), oid))
    return plans


def lfs_rule_of(attributes: Blob | None) -> Callable[[str, int], bool]:
    """A predicate of path and size in bytes: whether this ``.gitattributes`` makes a file large.

    Raises ``Invalid``: ``invalid_request`` for a huge ``.gitattributes``.
    """
    if attributes is None:
        return lfs_rule(b"")
    if attributes.size_bytes > MAX_ATTRIBUTES_BYTES:
        raise Invalid(
            "invalid_request",
            f".gitattributes has {attributes.size_bytes} bytes, it may have "
            f"{MAX_ATTRIBUTES_BYTES}.",
        )
    with blob_open(attributes) as stream:
        return lfs_rule(stream.read())
