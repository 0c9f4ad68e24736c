"""A version with all its files as one RO-Crate: ``/{ns}/{name}/crate?revision=...``, a ZIP.

Nothing is packed before it is sent: the length follows from the sizes of the files, which are
stored as they are, and each is opened when its turn comes.
"""

from collections.abc import Iterator

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.http import content_disposition_header
from zipstream import ZipStream

from hub.credentials import actor_of
from hub.fair.documents import file_stem
from hub.fair.headers import harmless
from hub.fair.subject import version_view
from hub.files import caching, count_download
from hub.sharing import shared_if_public
from registry.fair import signposting
from registry.fair.crate import rocrate
from registry.fair.description import Description
from registry.selectors.access import require_fetch
from registry.selectors.blob import blob_open
from registry.selectors.description import describe
from registry.selectors.revision import files_of
from registry.tables import Blob, Revision

_BLOCK_BYTES = 2**18


@version_view
def crate(request: HttpRequest, revision: Revision) -> HttpResponseBase:
    """The ZIP; of what is behind a gate, for those who were let in."""
    mlmodel = revision.mlmodel
    require_fetch(actor_of(request), mlmodel)
    description = describe(revision)
    archive = _archive(revision, description)
    response: HttpResponseBase
    if request.method == "HEAD":
        response = HttpResponse(content_type="application/zip")
    else:
        response = StreamingHttpResponse(iter(archive), content_type="application/zip")
    response.headers["Content-Length"] = str(len(archive))
    response.headers["Content-Disposition"] = content_disposition_header(
        as_attachment=True, filename=f"{file_stem(description)}.crate.zip"
    )
    # The metadata in it changes with the builds of the version.
    response.headers["Cache-Control"] = caching(mlmodel, fixed=False)
    links = [
        signposting.typed("", "collection", description.landing, "text/html"),
        signposting.typed("", "profile", rocrate.PROFILE),
    ]
    response.headers["Link"] = signposting.header(links)
    count_download(request, response, mlmodel)
    return shared_if_public(harmless(response))


def _archive(revision: Revision, description: Description) -> ZipStream:
    archive = ZipStream(sized=True)
    archive.add(rocrate.render_with_files(description), rocrate.DESCRIPTOR)
    for file in files_of(revision):
        # One of that name is named in the crate by its address.
        if file.path != rocrate.DESCRIPTOR:
            archive.add(_content(file.blob), file.path, size=file.blob.size_bytes)
    return archive


def _content(blob: Blob) -> Iterator[bytes]:
    with blob_open(blob) as stream:
        while block := stream.read(_BLOCK_BYTES):
            yield block
