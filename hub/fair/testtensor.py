"""Test tensors of a version: ``/{ns}/{name}/tests/{commit id}/test_data_set_0/input_0.pb``.

Tensors have the names of ONNX's test data sets. Records refer to these addresses.
"""

from django.http import HttpRequest, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_safe

from hub.credentials import actor_of
from hub.fair.tombstone import tombstone
from hub.files import caching, serve_blob
from hub.refusals import refusing
from registry.errors import NotFound
from registry.fair.addresses import RepositoryAddress
from registry.selectors.fair.identifier import withdrawn_get
from registry.selectors.repository.gate import require_fetch
from registry.selectors.repository.mlmodel import (
    repository_get,
    repository_moved,
    repository_replaced,
)
from registry.selectors.repository.revision import revision_get
from registry.selectors.results.testtensor import tensor_get
from registry.states import RepositoryKind


@require_safe
@refusing
def tensor(
    request: HttpRequest, namespace: str, name: str, oid: str, path: str
) -> HttpResponseBase:
    """One tensor, a serialised ONNX ``TensorProto``; the tombstone for withdrawn versions."""
    actor, full_name = actor_of(request), f"{namespace}/{name}"
    mlmodel = None
    try:
        mlmodel = repository_get(actor, RepositoryKind.MODEL, full_name)
        revision = revision_get(mlmodel, oid)
    except NotFound:
        if mlmodel is None:
            moved = repository_moved(actor, RepositoryKind.MODEL, full_name)
        else:
            moved = repository_replaced(actor, RepositoryKind.MODEL, full_name, oid)
        if moved is not None:
            return HttpResponseRedirect(
                RepositoryAddress("", "model", moved.full_name).test(oid, path)
            )
        withdrawn = withdrawn_get(RepositoryKind.MODEL, full_name, oid, mlmodel=mlmodel)
        if withdrawn is None:
            raise
        return tombstone(request, withdrawn)
    # Avoids a query: this row has its namespace.
    revision.mlmodel = mlmodel
    require_fetch(actor, mlmodel)
    row = tensor_get(revision, path)
    return serve_blob(
        request,
        row.blob,
        path=path,
        cache_control=caching(mlmodel, fixed=oid == revision.oid),
        version=revision,
    )
