"""Large files of a repository: their list, their removal, and their copies elsewhere."""

from typing import Any

from django.http import HttpRequest, HttpResponse

from hub.credentials import signed_in
from hub.hf.address import page_answer
from hub.hf.errors import BadRequest
from hub.hf.shapes import moment
from hub.hf.views import flag_in, json_answer, json_body, text_in
from registry.selectors.repository.mlmodel import repository_get
from registry.selectors.storage.lfsfile import lfsfiles_of
from registry.services.storage.lfsfile import lfsfiles_erase, lfsfiles_lend, lfsfiles_remove
from registry.states import RepositoryKind
from registry.tables import File, MLModel

#: Batch size of the clients.
_AT_ONCE = 1000


def listing(request: HttpRequest, mlmodel: MLModel) -> HttpResponse:
    """``GET /api/models/{id}/lfs-files``, for users who may delete them."""
    return page_answer(request, lfsfiles_of(signed_in(request), mlmodel), _shape)


def batch(request: HttpRequest, mlmodel: MLModel) -> HttpResponse:
    """``POST .../lfs-files/batch``: erase files from all revisions, or only from the newest.

    On the Hugging Face Hub ``rewriteHistory: false`` deletes the bytes and leaves their pointers;
    here revisions are always complete, so that old ones keep both.
    """
    actor, deletions = signed_in(request), json_body(request).get("deletions")
    if not isinstance(deletions, dict):
        raise BadRequest("'deletions' must be an object.")
    digests = deletions.get("sha")
    if not (isinstance(digests, list) and all(isinstance(digest, str) for digest in digests)):
        raise BadRequest("'sha' must be a list of SHA-256s.")
    if len(digests) > _AT_ONCE:
        raise BadRequest(f"Name at most {_AT_ONCE} files at once.")
    remove = lfsfiles_erase if flag_in(deletions, "rewriteHistory") else lfsfiles_remove
    remove(actor=actor, mlmodel=mlmodel, sha256s=set(digests))
    return json_answer({})


def duplicate(request: HttpRequest, mlmodel: MLModel) -> HttpResponse:
    """``POST .../lfs-files/duplicate``: a commit to ``target`` will name files of this repository.

    Bytes are stored once for all repositories, so nothing is copied; the files are protected from
    garbage collection until the commit. ``failed`` lists those that this repository does not hold.
    """
    actor, body = signed_in(request), json_body(request)
    target, files = body.get("target"), body.get("files")
    if not isinstance(target, dict):
        raise BadRequest("'target' must be an object.")
    if not (isinstance(files, list) and all(isinstance(file, dict) for file in files)):
        raise BadRequest("'files' must be a list of objects.")
    if len(files) > _AT_ONCE:
        raise BadRequest(f"Name at most {_AT_ONCE} files at once.")
    sha256s = [text_in(file, "sha256") for file in files]
    held = lfsfiles_lend(
        actor=actor,
        source=mlmodel,
        target=repository_get(actor, _kind_in(target), text_in(target, "name")),
        sha256s=sha256s,
    )
    error = f"{mlmodel.full_name} has no such file."
    failed = [{"sha256": sha256, "error": error} for sha256 in sha256s if sha256 not in held]
    return json_answer({"failed": failed})


def _kind_in(target: dict[str, Any]) -> RepositoryKind:
    try:
        return RepositoryKind(text_in(target, "type", RepositoryKind.MODEL))
    except ValueError:
        raise BadRequest("This hub has models and datasets only.") from None


def _shape(file: File) -> dict[str, Any]:
    branch: str | None = getattr(file, "branch", None)
    return {
        "fileOid": file.blob_id,
        "oid": file.blob_id,
        "filename": file.path,
        "size": file.blob.size_bytes,
        "ref": f"refs/heads/{branch}" if branch else None,
        "pushedAt": moment(file.changed_in.created_at),
    }
