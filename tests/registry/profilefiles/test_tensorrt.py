"""Profiles of trtexec. The files follow ``samples/common/sampleReporting.cpp`` of TensorRT's
repository."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from registry.profilefiles.errors import ProfileFault
from registry.profilefiles.formats import read
from registry.profilefiles.tensorrt import names_in
from tests.registry.profilefiles.contract import OPERATORS, ReaderContract


def profile(*names: str) -> bytes:
    rows: list[dict[str, Any]] = [{"count": 200}]
    rows += [
        {"name": name, "timeMs": 20.0, "averageMs": 0.1, "medianMs": 0.09, "percentage": 1.0}
        for name in names
    ]
    return json.dumps(rows).encode()


class TestTensorRT(ReaderContract):
    name, unit_ns = "tensorrt", 1e6

    def file(self, times: Sequence[str]) -> bytes:
        rows = "".join(
            f'\n, {{ "name" : "{name}", "timeMs" : 9.5, "averageMs" : {time}, "percentage" : 1 }}'
            for name, time in zip(OPERATORS, times, strict=False)
        )
        return f'[\n  {{ "count" : 625 }}{rows}\n]\n'.encode()


@pytest.mark.parametrize(
    ("name", "nodes"),
    [
        ("conv1 + relu1", ("conv1", "relu1")),
        ("Conv_0 + PWN(Clip_3)", ("Conv_0", "Clip_3")),
        (
            "PWN(PWN(/model.0/act/Sigmoid), /model.0/act/Mul)",
            ("/model.0/act/Sigmoid", "/model.0/act/Mul"),
        ),
        ("/layer1/conv1/Conv || /layer1/down/Conv", ("/layer1/conv1/Conv", "/layer1/down/Conv")),
        ("{ForeignNode[/a/MatMul.../b/Softmax]}", ()),
    ],
)
def test_the_names_in_a_layer(name: str, nodes: tuple[str, ...]) -> None:
    assert names_in(name) == nodes


def test_a_layer_between_two_nodes_names_its_ends() -> None:
    (call,) = read(profile("{ForeignNode[/a/MatMul.../b/Softmax]}")).calls
    assert call.span == ("/a/MatMul", "/b/Softmax")


def test_a_reformat_is_a_conversion_for_its_layer() -> None:
    name = "Reformatting CopyNode for Input Tensor 0 to Conv_0 + PWN(Clip_3)"
    reformat, _ = read(profile(name, "Conv_0 + PWN(Clip_3)")).calls
    assert reformat.converts
    assert reformat.names == ("Conv_0", "Clip_3")


def test_medians_are_taken_where_there_are_some() -> None:
    assert [call.median_ns for call in read(profile("conv1")).calls] == [90_000]
    assert read(profile("conv1")).calls[0].runs == 200


def test_layer_information_brings_nodes_tactic_and_precision() -> None:
    layer = {
        "Name": "conv1 + relu1",
        "LayerType": "CaskConvolution",
        "Outputs": [
            {
                "Name": "relu_out",
                "Dimensions": [1, 64, 56, 56],
                "Format/Datatype": "Channel major FP16 format where channel % 8 == 0",
            }
        ],
        "TacticName": "sm80_xmma_fprop_implicit_gemm_f16",
        "Metadata": "[ONNX Layer: /conv1/Conv]\x1f[ONNX Layer: /relu/Relu]",
    }
    (call,) = read(
        profile("conv1 + relu1"), details=json.dumps({"Layers": [layer], "Bindings": []}).encode()
    ).calls
    assert call.names == ("/conv1/Conv", "/relu/Relu")
    assert (call.operator, call.precision) == ("CaskConvolution", "float16")
    assert (call.shape, call.outputs) == ((1, 64, 56, 56), ("relu_out",))
    assert call.implementation == "sm80_xmma_fprop_implicit_gemm_f16"


def test_layer_information_of_another_engine_is_refused() -> None:
    layers = json.dumps({"Layers": [{"Name": "other", "LayerType": "Cask"}]}).encode()
    with pytest.raises(ProfileFault, match="another engine"):
        read(profile("conv1"), details=layers)
