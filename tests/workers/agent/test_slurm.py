"""The remaining time of an allocation of Slurm."""

import time

import pytest

from workers.agent.slurm import Allocation, NoAllocation, parse_left


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0:07", 7.0),
        ("59:59", 3599.0),
        ("1:00:00", 3600.0),
        ("23:59:59", 86399.0),
        ("1-00:00:00", 86400.0),
        ("365-12:30:15", 31581015.0),
        ("UNLIMITED", None),
        ("NOT_SET", None),
    ],
)
def test_times_of_squeue(text: str, seconds: float | None) -> None:
    assert parse_left(text) == seconds


@pytest.mark.parametrize("text", ["", "INVALID", "7", "1-2", "a:b", "-1:00", "1:00\n2:00"])
def test_other_texts_are_errors(text: str) -> None:
    with pytest.raises(ValueError, match="is not a time"):
        parse_left(text)


@pytest.mark.parametrize("job", ["", "12;reboot", "--help"])
def test_outside_of_slurm_there_is_no_allocation(job: str) -> None:
    with pytest.raises(NoAllocation, match="SLURM_JOB_ID"):
        Allocation.read({"SLURM_JOB_ID": job})


def test_the_environment_serves_where_the_scheduler_does_not_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    end = int(time.time()) + 1000
    environment = {"SLURM_JOB_ID": "7", "SLURM_JOB_END_TIME": str(end)}
    left_s = Allocation.read(environment).left_s(60)
    assert left_s is not None
    assert 900 < left_s <= 940
    with pytest.raises(NoAllocation, match="squeue"):
        Allocation.read({"SLURM_JOB_ID": "7"})


def test_the_end_is_read_again_from_time_to_time() -> None:
    now = time.time()
    assert not Allocation("7", now + 1000, now).is_stale
    assert Allocation("7", now + 1000, now - 301).is_stale
