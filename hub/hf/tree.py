"""Files and folders of a revision: listings, and single paths."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qs

from django.http import HttpRequest, HttpResponse

from hub.hf.address import cursor_of, revision_and_path, whole_number, with_next
from hub.hf.errors import BadRequest
from hub.hf.shapes import last_commit, tree_entry
from hub.hf.views import flag_in, json_answer, json_body
from hub.hf.xetread import offered
from registry.selectors.repository.revision import revision_get
from registry.selectors.repository.tree import (
    TreeEntry,
    bytes_below,
    changes_of,
    entries_at,
    tree_page,
)
from registry.tables import MLModel, Revision

#: Entries of one answer, as on the Hugging Face Hub; fewer with their last commits.
_PAGE = 1000
_EXPANDED_PAGE = 50
_MOST_PATHS = 1000
#: There is no scanner, but clients require all three members.
_UNSCANNED = {"status": "unscanned", "avScan": None, "pickleImportScan": None}


def tree(request: HttpRequest, mlmodel: MLModel, rest: str) -> HttpResponse:
    """``GET .../tree/{revision}[/{folder}]``, ``?recursive=&expand=&limit=&cursor=``."""
    revision, folder = revision_and_path(mlmodel, rest)
    expanded = flag_in(request.GET, "expand")
    most = _EXPANDED_PAGE if expanded else _PAGE
    page = tree_page(
        revision,
        folder.strip("/"),
        recursive=flag_in(request.GET, "recursive"),
        cursor=cursor_of(request),
        limit=whole_number(request, "limit", most, most=most) or most,
    )
    response = json_answer(_shapes(mlmodel, revision, page.items, expanded=expanded))
    return with_next(request, response, page.next)


def paths_info(request: HttpRequest, mlmodel: MLModel, rest: str) -> HttpResponse:
    """``POST .../paths-info/{revision}``: the entries at ``paths``, without missing ones."""
    revision = revision_get(mlmodel, rest)
    paths, expanded = _inputs(request)
    if len(paths) > _MOST_PATHS:
        raise BadRequest(f"Ask for at most {_MOST_PATHS} paths at once.")
    return json_answer(_shapes(mlmodel, revision, entries_at(revision, paths), expanded=expanded))


def tree_size(_request: HttpRequest, mlmodel: MLModel, rest: str) -> HttpResponse:
    """``GET .../treesize/{revision}[/{path}]``: bytes of all files there."""
    revision, path = revision_and_path(mlmodel, rest)
    path = path.strip("/")
    return json_answer({"path": f"/{path}", "size": bytes_below(revision, path)})


def _shapes(
    mlmodel: MLModel, revision: Revision, entries: Sequence[TreeEntry], *, expanded: bool
) -> list[dict[str, Any]]:
    hashes = offered(mlmodel, [entry.file for entry in entries if entry.file])
    shapes = [tree_entry(entry, hashes) for entry in entries]
    if expanded:
        changes = changes_of(revision, entries)
        for shape in shapes:
            if shape["path"] in changes:
                shape["lastCommit"] = last_commit(changes[shape["path"]])
            if shape["type"] == "file":
                shape["securityFileStatus"] = _UNSCANNED
    return shapes


def _inputs(request: HttpRequest) -> tuple[list[str], bool]:
    if request.content_type == "application/json":
        body = json_body(request)
        paths = body.get("paths", [])
        paths = [paths] if isinstance(paths, str) else paths
        if not (isinstance(paths, list) and all(isinstance(path, str) for path in paths)):
            raise BadRequest("'paths' must be a list of strings.")
        return paths, flag_in(body, "expand")
    try:
        # request.POST is limited to fewer fields than there may be paths.
        form = parse_qs(request.body.decode("ascii"), max_num_fields=2 * _MOST_PATHS)
    except ValueError:
        raise BadRequest("The body must be a form with 'paths'.") from None
    return form.get("paths", []), form.get("expand", [""])[-1].lower() in {"true", "1"}
