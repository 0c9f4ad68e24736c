"""Emulated machines, on recorded /proc trees, and the builds that they may load."""

import struct
from pathlib import Path

import pytest

from hpcfair import _emulation, machine
from hpcfair._targets import TARGETS

EPYC = "model name\t: AMD EPYC\nflags\t\t: sse4_2 avx f16c fma avx2 avx512f avx512bw amx_tile\n"
REAL = frozenset(EPYC.rpartition(": ")[2].split())


def tree(root: Path, *, kernel: str = "", own: str = "", actual: str = "") -> Path:
    """A ``/proc`` with what emulators do not or do replace."""
    for name, link in (("self", own), ("thread-self", actual)):
        folder = root / "proc" / name
        folder.mkdir(parents=True)
        if link:
            (folder / "exe").symlink_to(link)
    (root / "proc/cpuinfo").write_text(EPYC)
    if kernel:
        arch = root / "proc/sys/kernel/arch"
        arch.parent.mkdir(parents=True)
        arch.write_text(f"{kernel}\n")
    return root


@pytest.mark.parametrize(
    ("kernel", "own", "actual", "processor"),
    [
        ("x86_64", "", "", None),
        ("", "/usr/bin/python3.11", "/usr/bin/qemu-aarch64-static", None),
        ("aarch64", "", "", "QEMU TCG CPU version 2.5+"),
    ],
)
def test_an_emulator_is_recognised(
    tmp_path: Path, kernel: str, own: str, actual: str, processor: str | None
) -> None:
    root = tree(tmp_path, kernel=kernel, own=own, actual=actual)
    assert _emulation.is_emulated(root, "arm64", processor)


@pytest.mark.parametrize(("kernel", "program"), [("aarch64", "/usr/bin/python3.11"), ("", "")])
def test_a_real_machine_is_not_emulated(tmp_path: Path, kernel: str, program: str) -> None:
    root = tree(tmp_path, kernel=kernel, own=program, actual=program)
    assert not _emulation.is_emulated(root, "arm64", "Neoverse N1")


def test_a_32_bit_program_is_not_emulated_by_a_64_bit_kernel(tmp_path: Path) -> None:
    assert not _emulation.is_emulated(tree(tmp_path, kernel="x86_64"), "i686", None)


def test_this_machine_is_described_as_its_kernel_says() -> None:
    here = machine.describe()
    assert ("is_emulated" in here.to_dict()) is here.is_emulated
    assert (machine.EMULATED in here.features) is here.is_emulated


def test_arm_features_are_those_of_the_auxiliary_vector(tmp_path: Path) -> None:
    words = [(16, 1 << 1 | 1 << 10 | 1 << 20), (26, 1 << 14), (0, 0)]
    vector = b"".join(struct.pack("<QQ", *word) for word in words)
    (tree(tmp_path) / "proc/self/auxv").write_bytes(vector)
    features = _emulation.features(tmp_path, "arm64", REAL)
    assert features == {"asimd", "asimdhp", "asimddp", "bf16"}


@pytest.mark.parametrize(
    ("detected", "expected"),
    [
        ({"SSE42"}, {"sse4_2"}),
        ({"X86_V2", "X86_V3"}, {"sse4_2", "avx", "f16c", "fma", "avx2"}),
        ({"AVX2", "AVX512_SKX"}, REAL),
    ],
)
def test_x86_features_end_at_the_level_that_numpy_detects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, detected: set[str], expected: set[str]
) -> None:
    monkeypatch.setattr(_emulation, "_numpy_features", lambda: frozenset(detected))
    assert _emulation.features(tmp_path, "x86-64", REAL) == expected


def test_numpy_reports_features_by_known_names() -> None:
    here = machine.describe()
    if here.architecture == "x86-64" and not here.is_emulated:
        for prefixes, names in _emulation._LEVELS:
            has = any(feature.startswith(prefixes) for feature in here.features)
            assert has is not _emulation._numpy_features().isdisjoint(names), prefixes


def test_an_emulated_machine_has_a_target_of_its_own_above_the_real_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_emulation, "_numpy_features", lambda: frozenset({"AVX2"}))
    monkeypatch.setattr(machine, "architecture", lambda: "x86-64")
    root = tree(tmp_path, kernel="aarch64")
    described = machine._describe_linux(root)
    assert described.processor == "x86-64 emulated on AMD EPYC"
    assert described.to_dict()["is_emulated"] is True
    target = machine.target_of(described)
    real = next(one for one in TARGETS if one.slug == "x86-64-avx2")
    assert target.slug == "x86-64-avx2-emulated"
    assert target.rank == real.rank + 1
    # It can load builds for both; a real machine lacks the feature.
    assert set(real.features) < set(target.features) <= set(described.features)
