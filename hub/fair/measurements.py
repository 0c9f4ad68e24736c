"""A model's tuning log as tables: ``/{ns}/{name}/measurements/{trials,samples}.csv``."""

from collections.abc import Iterable, Iterator

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.http import content_disposition_header

from hub.fair.headers import harmless, of_version
from hub.fair.subject import version_view
from hub.files import caching
from registry.errors import NotFound
from registry.fair.crate.measurements import TABLES, table_csv
from registry.selectors.description import describe
from registry.selectors.measurement import rows_of
from registry.tables import Revision

# RFC 4180 names the first line's meaning so.
_TYPE = "text/csv; charset=utf-8; header=present"
_BLOCK_BYTES = 2**16


@version_view
def measurements(request: HttpRequest, revision: Revision, *, file_name: str) -> HttpResponseBase:
    """One table, read while it is sent: it grows as long as the hub tunes the model."""
    table = next((one for one in TABLES if one.file_name == file_name), None)
    if table is None:
        raise NotFound(
            "page_not_found",
            f"There is no table {file_name[:50]!r}.",
            f"There is {' and '.join(one.file_name for one in TABLES)}.",
        )
    response: HttpResponseBase
    if request.method == "HEAD":
        response = HttpResponse(content_type=_TYPE)
    else:
        lines = table_csv(table, rows_of(revision, table))
        response = StreamingHttpResponse(_blocks(lines), content_type=_TYPE)
    response.headers["Content-Disposition"] = content_disposition_header(
        as_attachment=True, filename=f"{revision.mlmodel.name}-{table.file_name}"
    )
    response.headers["Cache-Control"] = caching(revision.mlmodel, fixed=False)
    return of_version(harmless(response), describe(revision))


def _blocks(lines: Iterable[bytes]) -> Iterator[bytes]:
    """``lines`` in blocks that are worth a packet."""
    block = bytearray()
    for line in lines:
        block += line
        if len(block) >= _BLOCK_BYTES:
            yield bytes(block)
            block.clear()
    yield bytes(block)
