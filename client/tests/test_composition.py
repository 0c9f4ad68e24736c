"""Networks joined to one."""

from typing import Any

import httpx
import numpy as np
import onnx
import pytest
from onnx import helper

from hpcfair.card import parse
from hpcfair.client import Client
from hpcfair.composition import Composition
from hpcfair.errors import BadInput
from hpcfair.runtimes.onnxruntime import open_session

OID = "3f786850e387550fdab836ed7e6dc881de23001b"


def network(
    rows: int | str,
    width: int,
    *,
    names: tuple[str, str] = ("x", "y"),
    opset: int = 17,
    dtype: str = "FLOAT",
    scale: float = 1.0,
) -> Any:
    """``x[rows,4] -> y[rows,width]``: a product and a hidden tensor of the same name in all."""
    element = getattr(onnx.TensorProto, dtype)
    kind = helper.tensor_dtype_to_np_dtype(element)
    weight = (np.arange(4 * width).reshape(4, width) * scale).astype(kind)
    nodes = [
        helper.make_node("MatMul", [names[0], "w"], ["hidden"]),
        helper.make_node("Relu", ["hidden"], [names[1]]),
    ]
    tensors = (
        [helper.make_tensor_value_info(name, element, [rows, size])]
        for name, size in zip(names, (4, width), strict=True)
    )
    graph = helper.make_graph(nodes, "net", *tensors, [onnx.numpy_helper.from_array(weight, "w")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def run(proto: Any, x: Any, tmp_path: Any) -> Any:
    path = tmp_path / "net.onnx"
    path.write_bytes(proto.SerializeToString())
    session = open_session(path, {"default": True})
    return session.run(None, {session.get_inputs()[0].name: x})[0]


def test_the_joined_network_computes_what_its_parts_compute(client: Client, tmp_path: Any) -> None:
    parts = [network("N", 4), network("batch", 4, opset=20), network("M", 2, scale=0.1)]
    x = np.random.default_rng(0).standard_normal((5, 4)).astype(np.float32)

    joined = client.compose(parts)

    expected = x
    for part in parts:
        expected = run(part, expected, tmp_path)
    np.testing.assert_allclose(run(joined.model, x, tmp_path), expected, rtol=1e-5)
    assert str(joined.signature) == "float32[N,4] -> float32[N,2]"
    assert [t.name for t in (*joined.signature.inputs, *joined.signature.outputs)] == ["x", "y"]
    assert joined.lineage == {}


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        (network("N", 2, dtype="DOUBLE"), r"float64\[N,4\]: the element types differ"),
        (network(1, 2), r"dimension 0 is N, not 1"),
    ],
)
def test_networks_that_do_not_fit_are_refused_with_output_and_input(
    client: Client, second: Any, reason: str
) -> None:
    with pytest.raises(BadInput, match=rf"'y' of net \(model 1\) is float32.*'x' of.*{reason}"):
        client.compose([network("N", 4), second])


def test_outputs_and_inputs_of_other_numbers_need_names(client: Client) -> None:
    second = network("N", 2)
    second.graph.input.append(
        helper.make_tensor_value_info("mask", onnx.TensorProto.FLOAT, ["N", 4])
    )

    with pytest.raises(BadInput, match=r"gives y: .* takes x: .*, mask: "):
        client.compose([network("N", 4), second])


@pytest.mark.parametrize("models", ["lab/tiny", [network("N", 4)], [network("N", 4), 7]])
def test_what_cannot_be_joined_is_refused(client: Client, models: Any) -> None:
    with pytest.raises(BadInput, match=r"at least two|takes no int"):
        client.compose(models)


def test_it_is_saved_with_the_published_networks_as_its_base_models(
    hub: Any, client: Client, resolution: dict[str, Any], sent: Any, answer: Any
) -> None:
    address = "/api/v1/models/me/joined"
    hub.on("POST", "/api/v1/models", httpx.Response(201, json={}))
    hub.on("POST", f"{address}/commits", {"oid": OID, "files": [], "jobs": []})
    hub.on("GET", f"{address}/files/README.md", lambda _: answer(404, "model_not_found"))
    resolution |= {"build": None, "record_id": None}

    joined = client.compose([network("N", 4), "lab/tiny"])
    client.save(joined, "me/joined", card={"license": "mit"})

    assert isinstance(joined, Composition)
    operations = sent(hub.calls("POST", f"{address}/commits")[0])["operations"]
    files = {each["path"]: hub.blobs[each["sha256"]] for each in operations}
    card = parse(files["README.md"].decode())[0]
    assert card["base_model"] == [f"lab/tiny@{OID}"]
    assert onnx.load_from_string(files["model.onnx"]).graph.output[0].name == "y"
