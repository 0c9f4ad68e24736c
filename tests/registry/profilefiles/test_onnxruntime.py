"""Traces of ONNX Runtime."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

from registry.profilefiles.errors import ProfileFault
from registry.profilefiles.formats import read
from tests.registry.profilefiles.contract import OPERATORS, ReaderContract
from tests.registry.profilefiles.recorded import events, ones, onnxruntime_trace
from workers.testing.networks import residual_cnn


def event(name: str, ts: int, dur: object, *, cat: str = "Node", **args: Any) -> dict[str, Any]:
    return {
        "cat": cat,
        "pid": 1,
        "tid": 1,
        "dur": dur,
        "ts": ts,
        "ph": "X",
        "name": name,
        "args": args,
    }


def run(start: int, durations: Sequence[int], names: Sequence[str] = OPERATORS) -> list[Any]:
    """The events of one run in which each kernel takes 100 microseconds of the clock."""
    kernels = [
        event(f"{name}_kernel_time", start + 100 * place, took, op_name="Conv")
        for place, (name, took) in enumerate(zip(names, durations, strict=False))
    ]
    return [*kernels, event("model_run", start, 100 * len(durations), cat="Session")]


class TestOnnxRuntime(ReaderContract):
    name, unit_ns = "onnxruntime", 1e3

    def file(self, times: Sequence[str]) -> bytes:
        kernels = ",".join(
            f'{{"cat": "Node", "ts": {100 * place}, "dur": {time}, "name": "{name}_kernel_time"}}'
            for place, (name, time) in enumerate(zip(OPERATORS, times, strict=False))
        )
        return f"[{kernels}]".encode()


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("network") / "model.onnx"
    onnx.save(residual_cnn(), path)
    return onnxruntime_trace(path, ones(x=(1, 3, 16, 16)), runs=5)


def test_a_real_trace_has_every_kernel_and_the_first_run_is_left_out(trace: bytes) -> None:
    profile = read(trace)
    told = {
        each["name"].removesuffix("_kernel_time") for each in events(trace) if each["cat"] == "Node"
    }
    assert {call.name for call in profile.calls} == told
    assert all(call.runs == 4 for call in profile.calls)
    assert profile.is_total_stated
    runs = sorted(each["dur"] for each in events(trace) if each["name"] == "model_run")
    assert runs[0] * 1000 <= profile.total_ns <= runs[-1] * 1000
    convolution = next(call for call in profile.calls if call.operator == "Conv")
    assert convolution.precision == "float32"
    assert convolution.shape == (1, 16, 16, 16)
    assert convolution.implementation == "CPUExecutionProvider"


def test_its_calls_are_in_the_order_of_execution(trace: bytes) -> None:
    kernels = [each for each in events(trace) if each["name"].endswith("_kernel_time")]
    last = {each["name"].removesuffix("_kernel_time"): each["ts"] for each in kernels}
    names = [call.name for call in read(trace).calls]
    assert names == sorted(names, key=last.__getitem__)


def test_medians_are_over_all_runs_but_the_first() -> None:
    data = [
        *run(0, [900, 90, 90]),
        *run(1000, [10, 1, 1]),
        *run(2000, [30, 1, 1]),
        *run(3000, [20, 1, 1]),
    ]
    call = read(json.dumps(data).encode()).calls[0]
    assert (call.median_ns, call.mad_ns, call.runs) == (20_000, 10_000, 3)


def test_a_loop_has_the_time_of_its_body_once() -> None:
    """Kernels inside the body of a loop are events of their own, within that of the loop."""
    loop = event("loop_kernel_time", 0, 90, op_name="Loop")
    inner = [event("step_kernel_time", 10 * place, 9, op_name="Add") for place in range(1, 9)]
    after = event("fc_kernel_time", 100, 5, op_name="Gemm")
    profile = read(json.dumps([loop, *inner, after]).encode())
    assert [(call.name, call.median_ns) for call in profile.calls] == [
        ("loop", 90_000),
        ("fc", 5_000),
    ]


def test_a_real_loop_is_one_call(tmp_path: Path) -> None:
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["go"], ["on"]),
            helper.make_node("Add", ["sum", "sum"], ["next"], name="double"),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_tensor_value_info("sum", TensorProto.FLOAT, [8]),
        ],
        [
            helper.make_tensor_value_info("on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("next", TensorProto.FLOAT, [8]),
        ],
    )
    graph = helper.make_graph(
        [helper.make_node("Loop", ["count", "yes", "x"], ["y"], name="loop", body=body)],
        "loop",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [8])],
        [
            helper.make_tensor("count", TensorProto.INT64, [], [20]),
            helper.make_tensor("yes", TensorProto.BOOL, [], [True]),
        ],
    )
    path = tmp_path / "model.onnx"
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path
    )
    profile = read(onnxruntime_trace(path, ones(x=(8,))))
    assert [call.name for call in profile.calls] == ["loop"]


def test_a_trace_without_a_kernel_is_refused() -> None:
    data = [
        event("session_initialization", 0, 9, cat="Session"),
        event("model_run", 9, 9, cat="Session"),
    ]
    with pytest.raises(ProfileFault, match="no kernel") as refusal:
        read(json.dumps(data).encode())
    assert "end_profiling" in refusal.value.hint


def test_times_of_a_device_are_said_to_be_those_of_the_host() -> None:
    kernel = event("conv1_kernel_time", 0, 5, op_name="Conv", provider="CUDAExecutionProvider")
    (one_run, host) = read(json.dumps([kernel]).encode()).notes
    assert "One run only" in one_run
    assert "CUDAExecutionProvider" in host


def test_chrome_s_object_form_is_read_too() -> None:
    assert read(json.dumps({"traceEvents": run(0, [1, 2, 3])}).encode()).calls
