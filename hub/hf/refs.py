"""Branches, tags and references of pull requests; clients depend on statuses and some texts."""

from typing import Any

from django.http import HttpRequest, HttpResponse

from hub.credentials import actor_of
from hub.hf.errors import BadRequest
from hub.hf.views import flag_in, json_answer, json_body, text_in
from registry.errors import Conflict, Forbidden, NotFound
from registry.selectors.repository.revision import pulls_of, refs_of, revision_get
from registry.services.repository.ref import ref_create, ref_delete
from registry.services.repository.revision import squash as squash_branch
from registry.states import RefKind
from registry.tables import MLModel, Ref, Revision

_PREFIX = {RefKind.BRANCH: "refs/heads/", RefKind.TAG: "refs/tags/", RefKind.PULL: "refs/pr/"}


def refs(request: HttpRequest, mlmodel: MLModel) -> HttpResponse:
    """``GET .../refs``; ``include_prs`` adds those of pull requests."""
    rows = list(refs_of(mlmodel))
    shape: dict[str, Any] = {
        "branches": [_shape(ref) for ref in rows if ref.kind == RefKind.BRANCH],
        "converts": [],
        "tags": [_shape(ref) for ref in rows if ref.kind == RefKind.TAG],
    }
    if flag_in(request.GET, "include_prs"):
        shape["pullRequests"] = [_shape(ref) for ref in pulls_of(mlmodel)]
    return json_answer(shape)


def branch_create(request: HttpRequest, mlmodel: MLModel, rest: str) -> HttpResponse:
    """``POST .../branch/{name}`` with ``startingPoint``, by default the default branch."""
    start = text_in(json_body(request), "startingPoint", "")
    _create(request, mlmodel, RefKind.BRANCH, rest, _revision(mlmodel, start))
    return json_answer({"success": True})


def branch_delete(request: HttpRequest, mlmodel: MLModel, rest: str) -> HttpResponse:
    """``DELETE .../branch/{name}``."""
    try:
        _delete(request, mlmodel, RefKind.BRANCH, rest)
    except Forbidden as refusal:
        if rest != mlmodel.default_branch:
            raise
        raise Forbidden(refusal.code, f"Cannot delete refs/heads/{rest}") from None
    return json_answer({"success": True})


def tag_create(request: HttpRequest, mlmodel: MLModel, rest: str) -> HttpResponse:
    """``POST .../tag/{revision}`` with ``tag``; a ``message`` is ignored."""
    name = text_in(json_body(request), "tag")
    _create(request, mlmodel, RefKind.TAG, name, _revision(mlmodel, rest))
    return json_answer({"success": True})


def tag_delete(request: HttpRequest, mlmodel: MLModel, rest: str) -> HttpResponse:
    """``DELETE .../tag/{name}``."""
    _delete(request, mlmodel, RefKind.TAG, rest)
    return json_answer({"success": True})


def squash(request: HttpRequest, mlmodel: MLModel, rest: str) -> HttpResponse:
    """``POST .../super-squash/{branch}`` with ``message``."""
    message = text_in(json_body(request), "message", "") or f"Super-squash branch '{rest}'"
    try:
        revision = squash_branch(
            actor=actor_of(request), mlmodel=mlmodel, branch=rest, message=message
        )
    except NotFound:
        # Raises if no revision has this name.
        _revision(mlmodel, rest)
        raise BadRequest(f"Only a branch can be squashed, not {rest[:100]!r}.") from None
    return json_answer({"success": True, "commitOid": revision.oid})


def _create(
    request: HttpRequest, mlmodel: MLModel, kind: RefKind, name: str, revision: Revision
) -> None:
    actor = actor_of(request)
    try:
        ref_create(actor=actor, mlmodel=mlmodel, kind=kind, name=name, revision=revision)
    except Conflict as conflict:
        raise Conflict(conflict.code, f"Reference {_PREFIX[kind]}{name} already exists") from None


def _delete(request: HttpRequest, mlmodel: MLModel, kind: RefKind, name: str) -> None:
    try:
        ref_delete(actor=actor_of(request), mlmodel=mlmodel, kind=kind, name=name)
    except NotFound:
        raise _unknown(name) from None


def _revision(mlmodel: MLModel, rev: str) -> Revision:
    try:
        return revision_get(mlmodel, rev or None)
    except NotFound:
        raise _unknown(rev) from None


def _unknown(rev: str) -> NotFound:
    return NotFound("revision_not_found", f"Invalid rev id: {rev[:100]}")


def _shape(ref: Ref) -> dict[str, str]:
    full_name = f"{_PREFIX[RefKind(ref.kind)]}{ref.name}"
    return {"name": ref.name, "ref": full_name, "targetCommit": ref.revision.oid}
