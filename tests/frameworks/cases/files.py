"""Cases of files and folders."""

import tempfile
from pathlib import Path

import numpy as np
import onnx
import torch
import transformers
from onnx import TensorProto, helper, numpy_helper

from tests.frameworks.cases.live import NEW, Live

_WEIGHT = np.linspace(-1, 1, 32, dtype=np.float32).reshape(4, 8)


def proto() -> Live:
    """An object of the package onnx."""
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "product",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 8])],
        [numpy_helper.from_array(_WEIGHT, "w")],
    )
    opset = helper.make_opsetid("", 21)
    model = helper.make_model(graph, opset_imports=[opset], ir_version=10)
    return Live(model, (NEW,), {"x": NEW}, {"y": NEW @ _WEIGHT})


def external_data() -> Live:
    """A file whose weights lie in another file."""
    live = proto()
    path = Path(tempfile.mkdtemp()) / "product.onnx"
    onnx.save(
        live.model, path, save_as_external_data=True, location="product.bin", size_threshold=0
    )
    return Live(path, live.examples, live.inputs, live.outputs)


def folder() -> Live:
    """A folder with a network and other files."""
    live = external_data()
    (live.model.parent / "notes.txt").write_text("for me\n")
    return Live(live.model.parent, live.examples, live.inputs, live.outputs)


def huggingface_folder() -> Live:
    """What ``save_pretrained`` writes."""
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=50,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=32,
    )
    model = transformers.BertForSequenceClassification(config).eval()
    path = Path(tempfile.mkdtemp()) / "bert"
    model.save_pretrained(path)
    words = np.random.default_rng(0).integers(0, 50, (6, 8))
    inputs = {
        "input_ids": words,
        "attention_mask": np.ones_like(words),
        "token_type_ids": np.zeros_like(words),
    }
    with torch.no_grad():
        outputs = model(**{name: torch.from_numpy(array) for name, array in inputs.items()})
    return Live(path, None, inputs, {"logits": outputs.logits.numpy()})
