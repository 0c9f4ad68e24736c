"""The bytes of a file: ``/{ns}/{name}/resolve/{revision}/{path}``.

Clients cache files by their ETag: git's id of the bytes, or the SHA-256 of a file in large file
storage, which they recognise by its length and verify. They take size and ETag from the first
answer that is no redirection within the hub. It may redirect to a bucket: hence ``X-Linked-ETag``
and ``X-Linked-Size``. "No such file" has ``X-Repo-Commit``, because clients cache that, too.
"""

from contextlib import suppress

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from hub.credentials import actor_of
from hub.files import caching, count_download, serve_blob
from hub.hf.errors import answer, refuse
from hub.hf.views import KINDS, repository_view
from hub.hf.xetread import announce
from registry.errors import NotFound
from registry.selectors.fair.identifier import ResolvedIdentifier, pid_url, withdrawn_get
from registry.selectors.repository.gate import require_fetch_file
from registry.selectors.repository.mlmodel import repository_get
from registry.selectors.repository.revision import file_get, main_path, revision_along
from registry.states import RepositoryKind
from registry.tables import File, MLModel, Revision

_GONE = 410
# Clients read the protocol's code, whatever the status is.
_CAUSES = {
    "model_not_found": "RepoNotFound",
    "dataset_not_found": "RepoNotFound",
    "revision_not_found": "RevisionNotFound",
}


def resolve(
    request: HttpRequest, kind: str, name: str, rest: str, namespace: str = ""
) -> HttpResponseBase:
    """``GET`` and ``HEAD``; 410 for withdrawn repositories, with the address of the record."""
    try:
        return _existing(request, kind=kind, namespace=namespace, name=name, rest=rest)
    except NotFound as missing:
        if missing.code not in _CAUSES:
            raise
        withdrawn = _withdrawn(request, KINDS[kind], f"{namespace}/{name}", rest.partition("/")[0])
        if withdrawn is None:
            raise
        message = f"Withdrawn; its record is at {pid_url(withdrawn.identifier.name)}"
        return refuse(_GONE, message, code=_CAUSES[missing.code])


def _withdrawn(
    request: HttpRequest, kind: RepositoryKind, full_name: str, rev: str
) -> ResolvedIdentifier | None:
    with suppress(NotFound):
        mlmodel = repository_get(actor_of(request), kind, full_name)
        return withdrawn_get(kind, full_name, rev, mlmodel=mlmodel)
    return withdrawn_get(kind, full_name, rev)


@repository_view
def _existing(request: HttpRequest, mlmodel: MLModel, rest: str) -> HttpResponseBase:
    name, revision, path = revision_along(mlmodel, rest)
    # Avoids a query: this row has its namespace.
    revision.mlmodel = mlmodel
    require_fetch_file(actor_of(request), mlmodel, path)
    try:
        file = file_get(revision, path)
    except NotFound as missing:
        response: HttpResponseBase = answer(request, missing)
    else:
        cache_control = caching(mlmodel, fixed=name == revision.oid)
        response = _send(request, revision, file, cache_control)
    response.headers["X-Repo-Commit"] = revision.oid
    return response


def _send(
    request: HttpRequest, revision: Revision, file: File, cache_control: str
) -> HttpResponseBase:
    etag = file.blob.sha256 if file.is_lfs else file.oid
    response = serve_blob(
        request,
        file.blob,
        path=file.path,
        cache_control=cache_control,
        etag=etag,
        version=revision,
    )
    response.headers["X-Linked-ETag"] = f'"{etag}"'
    response.headers["X-Linked-Size"] = str(file.blob.size_bytes)
    announce(response, revision, file)
    if file.path == main_path(revision):
        count_download(request, response, revision.mlmodel)
    return response
