"""Each rule gives its answer for numbers with a known cause, and says so if numbers are absent."""

from dataclasses import replace
from typing import Any

import pytest

from registry.kernels.assembly import InstructionMix
from registry.kernels.evidence import Evidence
from registry.kernels.reason import Reason, is_changed, is_conversion, reasons_of
from registry.kernels.roofline import Roofline, roofline_of
from registry.kernels.tir import KernelLoop, loops_of
from tests.registry.kernels.scripts import TIR

#: 1 GFLOP and 1 MB in 10 ms, on a device of 1 TFLOP/s and 100 GB/s: the roof is 1 ms.
ROOF = Roofline(1e9, 1e6, 10e6, 1e12, 100e9)
PLAIN = Evidence(time_ns=10_000_000, spread_ns=100_000, run_ns=20_000_000, between_ns=1000.0,
                 operator="Conv")  # fmt: skip
KNOWN = replace(
    PLAIN,
    precision="float32",
    model_precision="float32",
    roofline=ROOF,
    mix=InstructionMix(100, 40, 2, 30, 0, ((512, 40),)),
    loops=tuple(loops_of(TIR)),
    lanes=16,
    is_schedulable=True,
    is_scheduled=True,
)


def answer(evidence: Evidence, code: str) -> Reason:
    return next(one for one in reasons_of(evidence) if one.code == code)


def vectorised(extent: int) -> tuple[KernelLoop, ...]:
    return tuple(
        replace(loop, extent=extent) if loop.kind == "vectorised" else loop
        for loop in loops_of(TIR)
    )


@pytest.mark.parametrize(
    ("code", "changes", "state", "figures"),
    [
        ("below_roof", {}, "applies", ["10% of the roof", "1e+03 µs at the roof", "100 GFLOP/s",
                                       "10.0% of the measured peak"]),
        ("below_roof", {"roofline": replace(ROOF, time_ns=1.2e6)}, "not", ["83% of the roof"]),
        ("below_roof", {"roofline": replace(ROOF, traffic=1e9, flops=1.0, time_ns=1e6)}, "not",
         ["from a cache"]),
        ("below_roof", {"roofline": None}, "unknown", ["not known"]),
        ("memory_bound", {}, "not", ["1e+03 operations per byte", "ridge of the device is at 10"]),
        ("memory_bound", {"roofline": replace(ROOF, traffic=1e9)}, "applies", ["1 operations"]),
        ("memory_bound", {"roofline": None}, "unknown", []),
        ("unvectorised", {}, "not", ["40 vector and 2 scalar", "40 of 512 bits", "30 of them"]),
        ("unvectorised", {"mix": InstructionMix(9, 0, 4)}, "applies", ["0 vector and 4 scalar"]),
        ("unvectorised", {"mix": InstructionMix(9)}, "unknown", ["none of them floating-point"]),
        ("unvectorised", {"mix": None}, "unknown", ["does not expose the code"]),
        ("unvectorised", {"mix": None, "implementation": "ref_any"}, "applies", ["ref_any"]),
        ("unvectorised", {"mix": None, "implementation": "brgconv_avx512"}, "unknown", []),
        ("untuned", {}, "not", ["confirmed schedule"]),
        ("untuned", {"is_scheduled": False}, "applies", ["compiler's default"]),
        ("untuned", {"is_scheduled": False, "best_known_ns": 2.5e6}, "applies", ["2500 µs"]),
        ("untuned", {"is_schedulable": False}, "not", ["cannot search schedules"]),
        ("conversion", {}, "not", ["Conv computes"]),
        ("conversion", {"operator": "ReorderInput"}, "applies", ["50.0% of a run"]),
        ("overhead", {}, "not", ["1 µs pass"]),
        ("overhead", {"time_ns": 3000}, "applies", ["25% of the 4 µs"]),
        ("overhead", {"between_ns": 0.0}, "unknown", []),
        ("precision", {}, "not", ["the model is float32"]),
        ("precision", {"precision": "bfloat16"}, "applies", ["Executed in bfloat16"]),
        ("precision", {"precision": ""}, "unknown", []),
        ("lanes", {}, "not", ["j_1 runs 16 times", "16 numbers"]),
        ("lanes", {"loops": vectorised(7)}, "applies", ["j_1 runs 7 times"]),
        ("lanes", {"loops": ()}, "unknown", []),
        ("noise", {}, "not", ["1% of it"]),
        ("noise", {"spread_ns": 4_000_000}, "applies", ["40% of it"]),
        ("noise", {"time_ns": 0}, "unknown", []),
    ],
)  # fmt: skip
def test_a_rule_gives_its_answer_with_its_numbers(
    code: str, changes: dict[str, Any], state: str, figures: list[str]
) -> None:
    found = answer(replace(KNOWN, **changes), code)
    assert found.state == state
    for figure in figures:
        assert figure in found.text


def test_what_would_save_most_comes_first() -> None:
    found = reasons_of(replace(KNOWN, is_scheduled=False, best_known_ns=5e6))
    applying = [one for one in found if one.state == "applies"]
    assert [one.code for one in applying] == ["below_roof", "untuned"]
    assert [one.saving for one in applying] == [pytest.approx(0.45), pytest.approx(0.25)]
    states = [one.state for one in found]
    assert states == sorted(states, key=["applies", "unknown", "not"].index)


def test_without_numbers_no_rule_claims_a_cause() -> None:
    empty = Evidence(time_ns=0, spread_ns=0, run_ns=0, between_ns=0.0, operator="")
    assert not [one.code for one in reasons_of(empty) if one.state == "applies"]
    assert empty.share == 0.0


@pytest.mark.parametrize(
    ("operator", "converts"),
    [
        ("ReorderInput", True), ("Reorder", True), ("Transpose", True), ("transpose1", True),
        ("layout_transform", True), ("QuantizeLinear", True), ("Convert", True), ("Cast", True),
        ("Conv", False), ("MatMul", False), ("fused_transpose_matmul", False), ("", False),
    ],
)  # fmt: skip
def test_conversions_are_known_by_name(operator: str, converts: bool) -> None:  # noqa: FBT001
    assert is_conversion(operator) is converts


def test_integers_that_count_are_no_precision() -> None:
    assert is_changed("bfloat16", "float32")
    assert not is_changed("int64", "float32")
    assert not is_changed("float32", "float32")
    assert not is_changed("int8", "")


def test_a_roofline_needs_all_of_its_numbers() -> None:
    numbers = {"flops": 1.0, "traffic": 1.0, "time_ns": 1.0, "peak": 1.0, "bandwidth": 1.0}
    assert roofline_of(**numbers) is not None
    assert roofline_of(**numbers | {"flops": 0.0}) is not None
    for name in numbers:
        assert roofline_of(**numbers | {name: None}) is None
        assert roofline_of(**numbers | {name: -1.0}) is None
