"""Reads of conversions, and of what can be converted."""

from collections.abc import Collection

from registry.errors import NotFound
from registry.selectors.repository.contents import config_of, described_blobs
from registry.selectors.repository.revision import file_get
from registry.tables import Conversion, ConversionFile, File, Revision

CONFIG = "config.json"
WEIGHTS_SUFFIX = ".safetensors"


def is_convertible(revision: Revision, paths: Collection[str]) -> bool:
    """Whether a revision without a network has weights and a configuration of ``transformers``.

    Args:
        paths: Of its networks and weights. Those in folders do not count.
    """
    if not any(path.endswith(WEIGHTS_SUFFIX) and "/" not in path for path in paths):
        return False
    return "model_type" in config_of(described_blobs(revision))


def conversion_of(revision: Revision) -> Conversion | None:
    """The conversion of a revision; ``None`` without one."""
    return Conversion.objects.filter(revision=revision).first()


def conversion_files(revision: Revision) -> list[ConversionFile]:
    """The files of the revision's conversion with their blobs, by path; none without one."""
    rows = ConversionFile.objects.filter(conversion__revision=revision)
    return list(rows.select_related("blob").order_by("path"))


def has_file(revision: Revision, sha256: str) -> bool:
    """Whether a file of that digest was published in the revision, or converted from it."""
    if revision.files.filter(blob=sha256).exists():
        return True
    return ConversionFile.objects.filter(conversion__revision=revision, blob=sha256).exists()


def network_file_get(revision: Revision, path: str) -> File | ConversionFile:
    """The published or converted file at ``path``. Raises ``NotFound``: ``file_not_found``."""
    try:
        return file_get(revision, path)
    except NotFound:
        converted = next((file for file in conversion_files(revision) if file.path == path), None)
        if converted is None:
            raise
        return converted
