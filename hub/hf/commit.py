"""Commits: ``POST /api/{kind}/{ns}/{name}/commit/{revision}``, see :mod:`hub.hf.ndjson`.

A commit that changes nothing creates no revision and is answered with the head of the branch:
clients repeat a commit whose answer they did not receive.
"""

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from django.http import HttpRequest, HttpResponse

from hub.credentials import signed_in
from hub.hf.errors import BadRequest
from hub.hf.ndjson import CommitLine, lines_of
from hub.hf.preupload import size_in
from hub.hf.views import absolute, flag_in, json_answer, text_in, web_path
from registry.selectors.repository.revision import target_get
from registry.services.discussion.proposal import propose
from registry.services.discussion.talk import require_voice
from registry.services.repository.branch import require_commit
from registry.services.repository.revision import Add, Copy, Delete, Operation, commit
from registry.services.storage.blob import blobs_store
from registry.storage import Readable
from registry.tables import Discussion, MLModel, Revision
from registry.validation.texts import message_of

_Store: TypeAlias = Callable[[Readable, int], str]


def create(request: HttpRequest, mlmodel: MLModel, rev: str) -> HttpResponse:
    """Create a revision of a branch or, with ``create_pr``, of a new pull request."""
    actor, is_proposal = signed_in(request), flag_in(request.GET, "create_pr")
    # Checked before any byte is stored; the services check again.
    if is_proposal:
        require_voice(actor, mlmodel)
        target_get(mlmodel, rev)
    else:
        require_commit(actor, mlmodel, rev)
    lines = lines_of(request)
    header = _header(next(lines, None))
    summary, description = text_in(header, "summary"), text_in(header, "description", "")
    parent = text_in(header, "parentCommit", "") or None
    with blobs_store(actor=actor) as store:
        operations = _operations(store, rev, lines)
    if not is_proposal:
        revision = commit(
            actor=actor,
            mlmodel=mlmodel,
            branch=rev,
            message=message_of(summary, description),
            operations=operations,
            parent_oid=parent,
            is_checked=False,
            again_ok=True,
        )
        return json_answer(_shape(mlmodel, revision))
    pull, revision = propose(
        actor=actor,
        mlmodel=mlmodel,
        base=rev,
        title=summary,
        description=description,
        operations=operations,
        parent_oid=parent,
    )
    return json_answer(_shape(mlmodel, revision, pull))


def _shape(mlmodel: MLModel, revision: Revision, pull: Discussion | None = None) -> dict[str, Any]:
    address = absolute(web_path(mlmodel))
    shape = {
        "success": True,
        "commitOid": revision.oid,
        "commitUrl": f"{address}/commit/{revision.oid}",
        "hookOutput": "",
    }
    if pull is not None:
        shape["pullRequestUrl"] = f"{address}/discussions/{pull.num}"
    return shape


def _header(line: CommitLine | None) -> dict[str, Any]:
    if line is None or line.key != "header":
        raise BadRequest("The first line must be the header.")
    return line.value


def _operations(store: _Store, rev: str, lines: Iterator[CommitLine]) -> list[Operation]:
    """The operations after the header, stored as they arrive. The later of equal paths counts."""
    put: dict[str, Operation] = {}
    deleted: dict[str, Operation] = {}
    for line in lines:
        path = text_in(line.value, "path")
        match line.key:
            case "file":
                put[path] = _file(store, path, line)
            case "lfsFile":
                put[path] = _large_file(path, line.value)
            case "copyFile":
                source = text_in(line.value, "srcPath")
                put[path] = Copy(path, source, text_in(line.value, "srcRevision", rev))
            case "deletedFile" | "deletedFolder" | "deletedEntry":
                deleted[path] = Delete(path)
            case _:
                raise BadRequest(f"{line.key[:50]!r} is not an operation of a commit.")
    return [*deleted.values(), *put.values()]


def _file(store: _Store, path: str, line: CommitLine) -> Add:
    if line.content is None or line.value.get("encoding", "base64") != "base64":
        raise BadRequest("A file needs its content, in base64.")
    return Add(path, store(line.content, line.content.size_bytes))


def _large_file(path: str, value: dict[str, Any]) -> Add:
    if value.get("algo", "sha256") != "sha256":
        raise BadRequest("A large file is named by its SHA-256.")
    size_bytes = None if value.get("size") is None else size_in(value)
    return Add(path, text_in(value, "oid"), size_bytes, is_lfs=True)
