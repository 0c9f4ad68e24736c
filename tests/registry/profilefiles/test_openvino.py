"""Performance counters of OpenVINO."""

from collections.abc import Sequence
from pathlib import Path

import onnx
import pytest

from registry.profilefiles.errors import ProfileFault
from registry.profilefiles.formats import read
from tests.registry.profilefiles.contract import OPERATORS, ReaderContract
from tests.registry.profilefiles.recorded import ones, openvino_report
from workers.testing.networks import residual_cnn

HEADER = "layerName;execStatus;layerType;execType;realTime (ms);cpuTime (ms)\n"


def table(rows: Sequence[str], header: str = HEADER) -> bytes:
    return f"{header}{''.join(rows)}Total;;;;9.000;9.000\n\n".encode()


class TestOpenVino(ReaderContract):
    name, unit_ns = "openvino", 1e6

    def file(self, times: Sequence[str]) -> bytes:
        rows = zip(OPERATORS, times, strict=False)
        return table(
            [f"{name};Status.EXECUTED;Convolution;jit_f32;{time};0.1\n" for name, time in rows]
        )


class TestOpenVinoJson(ReaderContract):
    name, unit_ns = "openvino", 1e6

    def file(self, times: Sequence[str]) -> bytes:
        nodes = ",".join(
            f'{{"name": "{name}", "node_type": "Convolution", "status": "Status.EXECUTED",'
            f' "real_time": "{time}", "cpu_time": "0.1", "exec_type": "jit_f32"}}'
            for name, time in zip(OPERATORS, times, strict=False)
        )
        report = f'"report_type": "detailed", "detailed_performance": [{{"nodes": [{nodes}]}}]'
        return f"{{{report}}}".encode()


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("network") / "model.onnx"
    onnx.save(residual_cnn(), path)
    return path


@pytest.mark.parametrize("as_json", [False, True])
def test_a_real_report_has_the_executed_operators(
    network: Path, tmp_path: Path, *, as_json: bool
) -> None:
    data = openvino_report(network, ones(x=(1, 3, 16, 16)), tmp_path, as_json=as_json)
    profile = read(data)
    operators = [call.operator for call in profile.calls]
    assert operators.count("Convolution") == 2
    assert "Parameter" not in operators
    assert all(call.runs == 2 for call in profile.calls)
    convolution = next(call for call in profile.calls if call.operator == "Convolution")
    assert convolution.precision == "float32"
    assert convolution.implementation


def test_the_report_of_averages_as_json_is_refused_with_its_reason(
    network: Path, tmp_path: Path
) -> None:
    """OpenVINO 2026.4 writes the first operator only."""
    inputs = ones(x=(1, 3, 16, 16))
    data = openvino_report(network, inputs, tmp_path, as_json=True, kind="average")
    with pytest.raises(ProfileFault) as refusal:
        read(data)
    assert "detailed_counters" in refusal.value.hint


def test_requests_are_runs() -> None:
    row = "conv1;Status.EXECUTED;Convolution;jit_avx512_amx_bf16;{};0.1\n"
    data = b"".join(table([row.format(time)]) for time in ("1.0", "9.0", "3.0"))
    (call,) = read(data).calls
    assert (call.median_ns, call.mad_ns, call.runs, call.precision) == (
        3_000_000,
        2_000_000,
        3,
        "bfloat16",
    )


def test_the_report_of_the_program_in_cpp_is_read() -> None:
    """It has no class before the status, and a delimiter at the end of each line."""
    header = HEADER.replace("\n", ";\n")
    data = table(
        ["conv1;EXECUTED;Convolution;jit_f32;1.5;1.5;\n", "x;NOT_RUN;Parameter;u;0;0;\n"], header
    )
    assert [call.median_ns for call in read(data).calls] == [1_500_000]


def test_operators_below_the_resolution_are_said() -> None:
    rows = ["a;Status.EXECUTED;Add;jit_f32;0.000;0\n", "b;Status.EXECUTED;Add;jit_f32;1.0;0\n"]
    assert any("1 of 2 operators took less" in note for note in read(table(rows)).notes)
