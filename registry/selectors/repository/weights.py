"""What files of weights state about themselves."""

from dataclasses import dataclass
from functools import lru_cache

from django.db.models import Q

from registry.selectors.storage.blob import blob_open
from registry.tables import Blob, File, Revision
from registry.weightsfiles.facts import Unreadable, WeightsFacts
from registry.weightsfiles.formats import DESCRIBED, Reader, reader_of

#: Files of a version that are read for its page.
_MOST_FILES = 4


@dataclass(frozen=True, slots=True)
class WeightsSummary:
    """Files of weights in the top folder of a version.

    Attributes:
        files: The first ones by path, each with its facts or the reason why it has none.
        more: Number of further ones.
    """

    files: tuple[tuple[str, WeightsFacts | str], ...]
    more: int


def weights_of_version(revision: Revision) -> WeightsSummary | None:
    """What the files of a version state; ``None`` if it has none that describe their tensors."""
    marks = Q()
    for suffix in DESCRIBED:
        marks |= Q(path__iendswith=suffix)
    rows = revision.files.filter(marks).exclude(path__contains="/").order_by("path")
    shown = list(rows.select_related("blob")[: _MOST_FILES + 1])
    if not shown:
        return None
    more = rows.count() - _MOST_FILES if len(shown) > _MOST_FILES else 0
    facts = ((file.path, weights_of(file)) for file in shown[:_MOST_FILES])
    return WeightsSummary(tuple((path, one) for path, one in facts if one is not None), more)


def weights_of(file: File) -> WeightsFacts | str | None:
    """Facts from the header of a file, as it is read now.

    Returns:
        The reason if the file is not of the format of its name; ``None`` if it states nothing.

    Raises:
        NotFound: ``blob_not_found``.
    """
    return weights_in(file.path, file.blob_id, file.blob.size_bytes)


def weights_in(path: str, sha256: str, size_bytes: int) -> WeightsFacts | str | None:
    """:func:`weights_of` a file of that path with these bytes."""
    read = reader_of(path)
    return None if read is None else _facts(sha256, size_bytes, read)


# A blob never changes.
@lru_cache(maxsize=256)
def _facts(sha256: str, size_bytes: int, read: Reader) -> WeightsFacts | str | None:
    with blob_open(Blob(sha256=sha256)) as stream:
        try:
            return read(stream, size_bytes)
        except Unreadable as error:
            return str(error)
