"""Kernels of Nsight Systems. The columns are those of its releases of 2023 to 2026."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.profilefiles.errors import ProfileFault
from registry.profilefiles.formats import read
from registry.profilefiles.nsight import repetition
from tests.registry.profilefiles.contract import OPERATORS, ReaderContract

HEADER = (
    "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),"
    "DymSMem (MB),Bytes (MB),Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,GreenCtx,Strm,Name\n"
)
PREAMBLE = (
    "\nNOTICE: Existing SQLite export found\n\nProcessing [x.sqlite] with [cuda_gpu_trace.py]... \n"
)
CONV, RELU = (
    "sm80_xmma_fprop_implicit_gemm_f16",
    '"void vectorized_elementwise_kernel<4, relu, float>(int)"',
)
SOFTMAX = "softmax_warp_forward"


def trace(kernels: Sequence[tuple[str, str]]) -> bytes:
    rows = [
        f"{100 * place},{took},{place},1,1,1,128,1,1,16,0.000,0.000,,,,,GPU,1,,7,{name}\n"
        for place, (name, took) in enumerate(kernels)
    ]
    return f"{PREAMBLE}{HEADER}{''.join(rows)}\n".encode()


class TestNsight(ReaderContract):
    name, unit_ns = "nsight", 1.0

    def file(self, times: Sequence[str]) -> bytes:
        return trace(list(zip(OPERATORS, times, strict=False)))


class TestNsightSummary(ReaderContract):
    name, unit_ns = "nsight", 1.0

    def file(self, times: Sequence[str]) -> bytes:
        header = "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),Name\n"
        rows = [
            f'1.0,{time},50,1.0,1.0,1,1,"{name}"\n'
            for name, time in zip(OPERATORS, times, strict=False)
        ]
        return f"{PREAMBLE}{header}{''.join(rows)}".encode()

    def test_it_has_no_order(self) -> None:
        assert not read(self.file(["1", "2", "3"])).is_ordered


def test_runs_are_found_by_their_repetition_and_copies_are_left_out() -> None:
    one = [(CONV, "10"), (RELU, "2"), (CONV, "20"), (SOFTMAX, "3")]
    copy = ("[CUDA memcpy Host-to-Device]", "99")
    warm = [(CONV, "900"), ("cudnn::ops::nchwToNhwcKernel", "50"), *one[1:]]
    profile = read(trace([copy, *warm, *one, *one, *one]))
    assert [call.median_ns for call in profile.calls] == [10, 2, 20, 3]
    assert all(call.runs == 3 for call in profile.calls)
    assert [call.operator for call in profile.calls] == ["Conv", "Elementwise", "Conv", "Softmax"]


def test_a_trace_that_does_not_repeat_is_one_run() -> None:
    profile = read(trace([(CONV, "10"), (RELU, "2"), (SOFTMAX, "3")]))
    assert [call.runs for call in profile.calls] == [1, 1, 1]
    assert "does not repeat" in profile.notes[0]


def test_a_trace_of_copies_is_refused() -> None:
    with pytest.raises(ProfileFault, match="only copies"):
        read(trace([("[CUDA memcpy Host-to-Device]", "9")]))


@given(
    run=st.lists(st.sampled_from("abcd"), min_size=1, max_size=8),
    count=st.integers(3, 5),
    before=st.lists(st.sampled_from("xyz"), max_size=8),
)
def test_what_repeats_is_found_behind_a_first_run_that_differs(
    run: list[str], count: int, before: list[str]
) -> None:
    names = [*before[: len(run) * count], *run * count]
    length, times = repetition(names)
    assert len(run) % length == 0
    assert times == len(run) // length * count
    assert names[-length:] == run[-length:]


def test_nothing_repeats() -> None:
    assert repetition(list("abcde")) == (5, 1)
    assert repetition(list("abcabcx")) == (7, 1)
    assert repetition([]) == (0, 1)
