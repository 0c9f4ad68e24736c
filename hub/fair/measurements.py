"""Tables of a model's tuning log: ``/{ns}/{name}/measurements/{trials,samples}.csv``."""

from collections.abc import Iterable, Iterator

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response
from django.utils.http import content_disposition_header

from hub.fair.headers import harmless, of_version
from hub.fair.subject import version_view
from hub.files import caching
from hub.headers import shared_if_public
from registry.errors import NotFound
from registry.fair.crate.measurements import TABLES, MeasurementTable, table_csv
from registry.selectors.fair.description import describe
from registry.selectors.results.measurement import cache_validator, rows_of
from registry.tables import Revision

# "header=present" is the parameter of RFC 4180 for a header line.
_TYPE = "text/csv; charset=utf-8; header=present"
_BLOCK_BYTES = 2**16


@version_view
def measurements(request: HttpRequest, revision: Revision, *, file_name: str) -> HttpResponseBase:
    """One table, which is read while it is sent."""
    table = next((one for one in TABLES if one.file_name == file_name), None)
    if table is None:
        raise NotFound(
            "page_not_found",
            f"The table {file_name[:50]!r} does not exist.",
            f"Tables: {', '.join(one.file_name for one in TABLES)}.",
        )
    etag = f'W/"{cache_validator(revision)}-{table.file_name}"'
    early = get_conditional_response(request, etag=etag)
    response = _answer(request, revision, table) if early is None else early
    response.headers["Content-Disposition"] = content_disposition_header(
        as_attachment=True, filename=f"{revision.mlmodel.name}-{table.file_name}"
    )
    response.headers["ETag"] = etag
    response.headers["Cache-Control"] = caching(revision.mlmodel, fixed=False)
    return of_version(shared_if_public(harmless(response)), describe(revision))


def _answer(request: HttpRequest, revision: Revision, table: MeasurementTable) -> HttpResponseBase:
    if request.method == "HEAD":
        return HttpResponse(content_type=_TYPE)
    lines = table_csv(table, rows_of(revision, table))
    return StreamingHttpResponse(_blocks(lines), content_type=_TYPE)


def _blocks(lines: Iterable[bytes]) -> Iterator[bytes]:
    block = bytearray()
    for line in lines:
        block += line
        if len(block) >= _BLOCK_BYTES:
            yield bytes(block)
            block.clear()
    yield bytes(block)
