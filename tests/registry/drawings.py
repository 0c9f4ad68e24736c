"""Topologies of real networks, drawn in this process, for tests of what is stored and shown."""

import gzip
import json
import tempfile
from pathlib import Path
from typing import Any

from django.db import transaction
from jsonschema import Draft202012Validator
from onnx import ModelProto

from registry import schemas
from registry.services.analysis.topology import topology_store
from registry.services.storage.blob import blob_store_bytes
from registry.tables import Graph, Topology
from registry.validation.topology import check_topology
from workers.inspection.inspect import inspect

#: Of a network of a product and a ReLU.
EXAMPLE: dict[str, Any] = json.loads(
    (Path(schemas.__file__).parent / "examples" / "topology.json").read_bytes()
)


def topology_problems(document: dict[str, Any]) -> dict[str, str]:
    """Where a document does not have the schema, which the hub itself has no time to check."""
    return schemas.problems_by(Draft202012Validator(schemas.topology_schema()), document, 20)


def document_of(model: ModelProto | bytes) -> dict[str, Any]:
    """The topology of ``model.onnx``, as its inspection writes it."""
    with tempfile.TemporaryDirectory() as folder:
        files, drawings = Path(folder) / "files", Path(folder) / "drawings"
        files.mkdir()
        drawings.mkdir()
        data = model if isinstance(model, bytes) else model.SerializeToString()
        (files / "model.onnx").write_bytes(data)
        report = inspect(str(files), topologies=str(drawings))
        assert "error" not in report, report
        packed = (drawings / report["topologies"]["model.onnx"]).read_bytes()
    document: dict[str, Any] = json.loads(gzip.decompress(packed))
    return document


def draw(graph: Graph, document: dict[str, Any]) -> Topology:
    """Store a topology of a graph."""
    data = gzip.compress(json.dumps(document | {"path": graph.path}).encode(), mtime=0)
    blob = blob_store_bytes(actor=None, data=data)
    with transaction.atomic():
        return topology_store(graph=graph, drawing=check_topology(data, blob.sha256, graph.path))
