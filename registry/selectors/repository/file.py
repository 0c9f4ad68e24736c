"""Lists of a revision's files in pages."""

from registry.pagination import Page, keyset_page
from registry.selectors.repository.revision import files_of
from registry.tables import File, Revision

#: Upper bound on the files that are listed at once; longer lists are read in pages.
MAX_LISTED = 1000


def files_page(
    revision: Revision, *, cursor: str | None = None, limit: int = MAX_LISTED
) -> Page[File]:
    """The first files of a revision with their blobs, or those after ``cursor``, by path.

    Raises ``Invalid``: ``invalid_cursor``.
    """
    name = f"file.{revision.uuid}"
    rows = files_of(revision)
    return keyset_page(rows, name=name, cursor=cursor, limit=limit, order=("path",))
