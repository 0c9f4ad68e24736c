"""``/catalog/records.jsonl.gz``: all public records as JSON-LD, one a line, compressed.

The file is written while it is sent, in batches. Its entity tag is weak: a description is cached
for a minute, in which the bytes of equal answers can differ.
"""

import zlib
from collections.abc import Iterator

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response
from django.utils.http import content_disposition_header, http_date
from django.views.decorators.http import require_safe

from hub.fair.headers import harmless
from hub.headers import shared
from registry.fair.linked import jsonld
from registry.fair.parts import METADATA_LICENSE
from registry.fair.signposting import header, typed
from registry.selectors.fair.dump import dump_records, dump_state
from registry.selectors.fair.hub import this_hub

#: Records in memory at once.
AT_ONCE = 100
_TYPE = "application/gzip"
# Window bits of zlib that write the header and the checksum of gzip (RFC 1952).
_GZIP = 16 + zlib.MAX_WBITS


@require_safe
def dump(request: HttpRequest) -> HttpResponseBase:
    """All records; 304 if the client has them. Conditions are evaluated by the entity tag only,
    because profiles of people change records without a time."""
    state = dump_state()
    etag = f'W/"{state.validator}"'
    response: HttpResponseBase | None = get_conditional_response(request, etag=etag)
    if response is None:
        is_head = request.method == "HEAD"
        response = (
            HttpResponse(content_type=_TYPE)
            if is_head
            else StreamingHttpResponse(_compressed(), content_type=_TYPE)
        )
    if state.modified is not None:
        response.headers["Last-Modified"] = http_date(state.modified.timestamp())
    response.headers["ETag"] = etag
    response.headers["Cache-Control"] = "public, no-cache"
    response.headers["Content-Disposition"] = content_disposition_header(
        as_attachment=True, filename="records.jsonl.gz"
    )
    response.headers["Link"] = header(
        [
            typed("", "license", METADATA_LICENSE),
            typed("", "collection", f"{this_hub().url}/catalog"),
        ]
    )
    return shared(harmless(response))


def _compressed() -> Iterator[bytes]:
    compressor = zlib.compressobj(wbits=_GZIP)
    for records in dump_records(AT_ONCE):
        for one in records:
            yield compressor.compress(jsonld.render_line(one))
    yield compressor.flush()
