"""Which devices can do which jobs."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.matching import Capabilities, Requirement, fits, memory_step, step_up

GIB = 2**30
SERVER = Capabilities(
    architecture="x86-64",
    features=frozenset({"avx2", "fma", "avx512f"}),
    memory_bytes=64 * GIB,
    cores=16,
    tools=frozenset({"onnxruntime", "tvm"}),
)
PHONE = Capabilities(
    architecture="arm64", features=frozenset({"asimd"}), memory_bytes=4 * GIB, cores=8
)
EMULATED = replace(PHONE, features=frozenset({"asimd", "emulated"}), is_emulated=True)
SLURM = replace(SERVER, available_s=540.0)
UNKNOWN = replace(SERVER, memory_bytes=0)

TABLE = [
    (SERVER, Requirement(), ""),
    (SERVER, Requirement(architecture="x86-64", features=frozenset({"avx2"})), ""),
    (SERVER, Requirement(architecture="arm64"), "needs the architecture arm64, has x86-64"),
    (PHONE, Requirement(architecture="arm64"), ""),
    (SERVER, Requirement(features=frozenset({"amx_tile"})), "lacks the feature amx_tile"),
    (
        SERVER,
        Requirement(features=frozenset({"cuda", "sm_90", "avx2"})),
        "lacks the features cuda, sm_90",
    ),
    (SERVER, Requirement(memory_bytes=64 * GIB), ""),
    (SERVER, Requirement(memory_bytes=65 * GIB), "needs 65 GiB of memory, has 64 GiB"),
    (PHONE, Requirement(memory_bytes=5 * GIB), "needs 5 GiB of memory, has 4 GiB"),
    (UNKNOWN, Requirement(), ""),
    (
        UNKNOWN,
        Requirement(memory_bytes=GIB),
        "needs 1 GiB of memory, that of the device is unknown",
    ),
    (SERVER, Requirement(cores=16), ""),
    (SERVER, Requirement(cores=17), "needs 17 cores, has 16"),
    (EMULATED, Requirement(is_emulated=True, features=frozenset({"emulated"})), ""),
    (EMULATED, Requirement(is_emulated=False), "needs a real machine, this one is emulated"),
    (PHONE, Requirement(is_emulated=True), "needs an emulated machine, this one is real"),
    (PHONE, Requirement(is_emulated=False), ""),
    (EMULATED, Requirement(is_emulated=None), ""),
    (SERVER, Requirement(tools=frozenset({"tvm"})), ""),
    (SERVER, Requirement(tools=frozenset({"openvino"})), "lacks the backend openvino"),
    # A device that has not listed its backends may have any.
    (PHONE, Requirement(tools=frozenset({"openvino"})), ""),
    (
        replace(PHONE, tools=frozenset()),
        Requirement(tools=frozenset({"tvm"})),
        "lacks the backend tvm",
    ),
    (SERVER, Requirement(seconds=1e9), ""),
    (SLURM, Requirement(seconds=540.0), ""),
    (SLURM, Requirement(seconds=541.0), "needs 541 s, is available for 540 s"),
    (
        replace(SLURM, available_s=-3.0),
        Requirement(seconds=1.0),
        "needs 1 s, is available for 0 s",
    ),
    # The first unmet demand is the reason; permanent ones come first.
    (
        EMULATED,
        Requirement(architecture="x86-64", is_emulated=False, memory_bytes=8 * GIB),
        "needs the architecture x86-64, has arm64",
    ),
]


@pytest.mark.parametrize(("capabilities", "requirement", "reason"), TABLE)
def test_a_device_fits_or_the_reason_says_why_not(
    capabilities: Capabilities, requirement: Requirement, reason: str
) -> None:
    fit = fits(capabilities, requirement)
    assert fit.is_fit == (not reason)
    assert fit.reason == reason


@given(
    st.builds(
        Capabilities,
        architecture=st.sampled_from(["x86-64", "arm64"]),
        features=st.frozensets(st.sampled_from("abc")),
        memory_bytes=st.integers(0, 8),
        cores=st.integers(1, 4),
        is_emulated=st.booleans(),
        tools=st.none() | st.frozensets(st.sampled_from("xyz")),
        available_s=st.none() | st.floats(0, 10),
    ),
    st.builds(
        Requirement,
        architecture=st.sampled_from(["", "x86-64", "arm64"]),
        features=st.frozensets(st.sampled_from("abc")),
        memory_bytes=st.integers(0, 8),
        cores=st.integers(0, 4),
        is_emulated=st.none() | st.booleans(),
        tools=st.frozensets(st.sampled_from("xyz")),
        seconds=st.floats(0, 10),
    ),
)
def test_a_larger_device_fits_whatever_a_smaller_one_fits(
    capabilities: Capabilities, requirement: Requirement
) -> None:
    larger = replace(
        capabilities,
        features=capabilities.features | {"a"},
        memory_bytes=max(1, capabilities.memory_bytes) * 2,
        cores=capabilities.cores + 1,
        tools=None,
        available_s=None,
    )
    if fits(capabilities, requirement).is_fit:
        assert fits(larger, requirement).is_fit


@given(st.floats(0.0, 1e7))
def test_steps_are_few_and_never_below_the_value(value: float) -> None:
    step = step_up(value)
    assert value <= step * (1 + 1e-8)
    assert step <= max(1.0, 1.25 * value)
    assert step_up(step) == step


def test_there_are_few_steps() -> None:
    assert len({step_up(second) for second in range(86_400)}) < 60


@pytest.mark.parametrize(
    ("size", "step"),
    [(0, 0), (2**28 - 1, 0), (2**28, 2**28), (2**28 + 1, 2**29), (3 * GIB, 4 * GIB)],
)
def test_memory_is_rounded_up_to_powers_of_two(size: int, step: int) -> None:
    assert memory_step(size) == step
