"""What a file of weights states about itself."""

from functools import lru_cache

from registry.selectors.storage.blob import blob_open
from registry.tables import Blob, File
from registry.weightsfiles.facts import Unreadable, WeightsFacts
from registry.weightsfiles.formats import Reader, reader_of


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
