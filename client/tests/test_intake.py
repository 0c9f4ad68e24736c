"""What is on disk and in the digest, whatever happens in between."""

import hashlib
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hpcfair.intake import Intake
from hpcfair.progress import transferring

MIB = 2**20
DATA = bytes(range(251)) * 40_009


def blocks(*sizes: int) -> Iterator[bytes]:
    """``DATA`` in blocks of these sizes, in turns."""
    at = number = 0
    while at < len(DATA):
        yield DATA[at : at + sizes[number % len(sizes)]]
        at += sizes[number % len(sizes)]
        number += 1


@contextmanager
def intake_of(part: Path) -> Iterator[Intake]:
    part.touch()
    with transferring("lab/tiny", len(DATA)) as meter, Intake(part, meter) as intake:
        yield intake


@pytest.mark.parametrize("sizes", [(700,), (100, 300_000), (3 * MIB, 5)])
def test_blocks_of_any_sizes_are_written_and_hashed_in_order(
    tmp_path: Path, sizes: tuple[int, ...]
) -> None:
    with intake_of(tmp_path / "part") as intake:
        for block in blocks(*sizes):
            intake.write(block)

        assert intake.sha256() == hashlib.sha256(DATA).hexdigest()
        assert (tmp_path / "part").read_bytes() == DATA


def test_a_restart_forgets_what_waits(tmp_path: Path) -> None:
    with intake_of(tmp_path / "part") as intake:
        for block in blocks(300_000):
            intake.write(block)
        intake.restart()
        intake.write(b"new")

        assert intake.sha256() == hashlib.sha256(b"new").hexdigest()
    assert (tmp_path / "part").read_bytes() == b"new"


def test_what_waits_is_written_after_a_failure_elsewhere(tmp_path: Path) -> None:
    with pytest.raises(ConnectionError), intake_of(tmp_path / "part") as intake:  # noqa: PT012
        for block in blocks(100_000):
            intake.write(block)
        raise ConnectionError

    assert (tmp_path / "part").read_bytes() == DATA


def test_nothing_follows_what_could_not_be_written(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with intake_of(tmp_path / "part") as intake:
        resource.setrlimit(resource.RLIMIT_FSIZE, (3 * MIB, before[1]))
        try:
            with pytest.raises(OSError, match="large"):  # noqa: PT012
                for block in blocks(300_000):
                    intake.write(block)
                intake.sha256()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        with pytest.raises(OSError, match="earlier"):  # noqa: PT012
            intake.write(DATA)
            intake.sha256()

    assert (tmp_path / "part").read_bytes() == DATA[: 3 * MIB]
