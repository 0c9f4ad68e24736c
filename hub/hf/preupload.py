"""Upload plan before a commit: ``POST /api/{kind}/{ns}/{name}/preupload/{revision}``."""

from typing import Any

from django.http import HttpRequest, HttpResponse

from hub.credentials import signed_in
from hub.hf.errors import BadRequest
from hub.hf.views import flag_in, json_answer, json_body, text_in
from registry.selectors.repository.revision import branch_get, target_get
from registry.selectors.storage.upload import Offer, UploadPlan, upload_plans
from registry.services.discussion.talk import require_voice
from registry.services.repository.branch import require_commit
from registry.tables import MLModel

#: Batch size of the clients.
MAX_FILES = 256


def preupload(request: HttpRequest, mlmodel: MLModel, rev: str) -> HttpResponse:
    """The upload mode of each file, and whether it need not be sent."""
    actor = signed_in(request)
    if flag_in(request.GET, "create_pr"):
        # All readers may propose changes to any branch.
        require_voice(actor, mlmodel)
        revision = target_get(mlmodel, rev).revision
    else:
        require_commit(actor, mlmodel, rev)
        revision = branch_get(mlmodel, rev).revision
    data = json_body(request)
    ignore = None if data.get("gitIgnore") is None else text_in(data, "gitIgnore")
    plans = upload_plans(revision, _offers(data.get("files")), ignore=ignore)
    return json_answer({"files": [_shape(plan) for plan in plans]})


def _offers(files: Any) -> list[Offer]:
    if not isinstance(files, list) or not all(isinstance(file, dict) for file in files):
        raise BadRequest("'files' must be a list of objects.")
    if len(files) > MAX_FILES:
        raise BadRequest(f"Ask about at most {MAX_FILES} files at once.")
    return [Offer(text_in(file, "path"), size_in(file)) for file in files]


def size_in(data: dict[str, Any]) -> int:
    """``data["size"]`` in bytes. Raises ``BadRequest`` unless a whole number from 0 to 2^63 - 1."""
    size = data.get("size")
    if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size < 2**63:
        raise BadRequest("'size' must be a number of bytes.")
    return size


def _shape(plan: UploadPlan) -> dict[str, Any]:
    return {
        "path": plan.path,
        "uploadMode": "lfs" if plan.is_large else "regular",
        "shouldIgnore": plan.is_ignored,
        "oid": plan.oid,
    }
