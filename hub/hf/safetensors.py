"""Headers of the tensors of a model."""

from django.http import HttpRequest, HttpResponse

from hub.credentials import actor_of
from hub.hf.views import json_answer
from registry.selectors.repository.contents import shards_of
from registry.selectors.repository.gate import require_fetch
from registry.selectors.repository.revision import revision_get
from registry.tables import MLModel


def sharded(request: HttpRequest, mlmodel: MLModel, rest: str) -> HttpResponse:
    """``GET /api/models/{id}/safetensors-metadata/{rest}``: all headers of an index on ``main``."""
    require_fetch(actor_of(request), mlmodel)
    index, headers = shards_of(revision_get(mlmodel, None), rest)
    # The tensors' files follow from the headers.
    return json_answer({"index": {"metadata": index.get("metadata")}, "headers": headers})
