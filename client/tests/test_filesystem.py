"""Which file systems are read ahead, and how."""

import sys
from pathlib import Path

import pytest

from hpcfair import filesystem
from hpcfair.client import Client

LUSTRE, EXT4, TMPFS = 0x0BD00BD0, 0xEF53, 0x01021994


@pytest.mark.parametrize(
    ("magic", "name"),
    [
        (LUSTRE, "Lustre"),
        (0x47504653, "GPFS"),
        (0x6969, "NFS"),
        (0xFF534D42, "CIFS"),
        (0x65735546, "FUSE"),
        (EXT4, ""),
        (TMPFS, ""),
        (0, ""),
    ],
)
def test_file_systems_across_a_network_are_known(magic: int, name: str) -> None:
    assert filesystem.network_name(magic) == name


@pytest.mark.skipif(sys.platform != "linux", reason="statfs of Linux")
def test_the_kernel_names_the_file_system_of_a_path() -> None:
    assert filesystem.magic_of(Path("/proc")) == 0x9FA0
    assert filesystem.magic_of(Path("/no such file")) == 0


def calls() -> dict[str, int]:
    """Counters of this process: bytes and calls of reads."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return {name: int(value) for name, value in (line.split(": ") for line in lines)}


@pytest.mark.skipif(sys.platform != "linux", reason="counters of Linux")
def test_files_across_a_network_are_read_once_in_large_blocks(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("model.onnx", "weights.bin")]
    for file in files:
        file.write_bytes(bytes(2 * filesystem.BLOCK_BYTES + 1))
    before = calls()

    count = filesystem.read_ahead(files, LUSTRE)

    after = calls()
    assert count == sum(file.stat().st_size for file in files)
    assert count <= after["rchar"] - before["rchar"] < count + 100_000
    # Three blocks and the end of each file, and the counters themselves.
    assert after["syscr"] - before["syscr"] < 20


def test_local_files_are_left_to_the_runtime_which_maps_them(tmp_path: Path) -> None:
    file = tmp_path / "model.onnx"
    file.write_bytes(bytes(1000))

    assert filesystem.read_ahead([file], EXT4) == 0


def test_files_that_do_not_fit_into_memory_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "model.onnx"
    file.write_bytes(bytes(1000))
    monkeypatch.setattr(filesystem, "_memory_bytes", lambda: 1999)

    assert filesystem.read_ahead([file], LUSTRE) == 0


def test_load_reads_ahead_what_lies_across_a_network(
    client: Client, resolution: object, tiny: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_ahead, counts = filesystem.read_ahead, list[int]()
    monkeypatch.setattr(filesystem, "magic_of", lambda _: LUSTRE)
    monkeypatch.setattr(
        filesystem, "read_ahead", lambda *call: counts.append(read_ahead(*call)) or counts[-1]
    )

    client.load("lab/tiny")

    assert counts == [len(tiny)]
