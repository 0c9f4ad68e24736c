"""Writes the parts of exported PyTorch programs that inspection reads, without PyTorch.

The layout is that of ``torch.export.save`` of PyTorch 2.13; see :mod:`workers.inspection.pt2`.
"""

import copy
import io
import json
import zipfile
from pathlib import Path
from typing import Any

_FLOAT = 7
_ROOT = "model"
_LEAF = '{"type": null, "context": null, "children_spec": []}'


def document(width: int = 8) -> dict[str, Any]:
    """The editable graph of a ReLU, ``float32[N,width] -> float32[N,width]``."""
    shape = [
        {
            "as_expr": {
                "expr_str": "Symbol('s77', positive=True, integer=True)",
                "hint": {"as_int": 2},
            }
        },
        {"as_int": width},
    ]
    tensor = {"dtype": _FLOAT, "sizes": shape, "device": {"type": "cpu", "index": None}}
    node = {
        "target": "torch.ops.aten.relu.default",
        "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "x"}}, "kind": 1}],
        "outputs": [{"as_tensor": {"name": "relu"}}],
        "metadata": {"stack_trace": 'File "a.py", line 1, in forward\n'},
        "name": "relu",
    }
    return {
        "graph_module": {
            "graph": {
                "inputs": [{"as_tensor": {"name": "x"}}],
                "outputs": [{"as_tensor": {"name": "relu"}}],
                "nodes": [node],
                "tensor_values": {"x": copy.deepcopy(tensor), "relu": tensor},
            },
            "signature": {
                "input_specs": [{"user_input": {"arg": {"as_tensor": {"name": "x"}}}}],
                "output_specs": [{"user_output": {"arg": {"as_tensor": {"name": "relu"}}}}],
            },
            "module_call_graph": [{"fqn": "", "signature": {"in_spec": f"[1, {_LEAF}]"}}],
        },
        "range_constraints": {"s77": {"min_val": 0, "max_val": None}},
        "torch_version": "2.13.0+cpu",
        "guards_code": ["L['x'].size()[0] >= 2"],
    }


def write_pt2(
    path: Path,
    graph: Any = None,
    *,
    pickle: bytes = b"\x80\x02).",
    members: dict[str, bytes] | None = None,
    compression: int = zipfile.ZIP_STORED,
) -> Path:
    """Write a program.

    Args:
        graph: Contents of ``model.json``; :func:`document` by default.
        pickle: Pickle of the sample inputs; an empty tuple by default.
        members: Members to add or replace, by name without the folder.
    """
    weights = {"config": {"w": {"path_name": "weight_0", "use_pickle": False}}}
    contents = {
        "data/weights/weight_0": bytes(32),
        "data/weights/model_weights_config.json": json.dumps(weights).encode(),
        "data/constants/model_constants_config.json": b'{"config": {}}',
        "models/model.json": json.dumps(document() if graph is None else graph).encode(),
        "data/sample_inputs/model.pt": tensor_file(pickle),
        "archive_format": b"pt2",
        "archive_version": b"0",
        "byteorder": b"little",
        ".data/version": b"6\n",
        **(members or {}),
    }
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in contents.items():
            archive.writestr(f"{_ROOT}/{name}", data)
    return path


def tensor_file(pickle: bytes, **members: bytes) -> bytes:
    """A file of ``torch.save`` with a pickle."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, data in {"data.pkl": pickle, "version": b"3\n", **members}.items():
            archive.writestr(f"archive/{name}", data)
    return stream.getvalue()
