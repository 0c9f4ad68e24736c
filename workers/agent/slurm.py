"""The allocation of a Slurm job: how long it lasts.

The end is read from the scheduler, since an operator may move it while the job runs, and from the
environment where the scheduler does not answer.
"""

import os
import re
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

_LEFT = re.compile(
    r"(?:(?P<days>\d+)-)?(?:(?P<hours>\d+):)?(?P<minutes>\d+):(?P<seconds>\d+)", re.ASCII
)
_TIMEOUT_S = 20.0
#: Seconds between queries to the scheduler, which serves a whole cluster.
_FRESH_S = 300.0


class NoAllocation(Exception):
    """This process does not run in a Slurm job, or the end of the job is unknown; the message says
    why."""


@dataclass(frozen=True, slots=True)
class Allocation:
    """The allocation in which this process runs.

    Attributes:
        job: Id of the job; for an element of an array, the id of the element.
        ends_at: End of the allocation as seconds since 1970; ``None`` without a limit.
        read_at: Time at which the end was read, as seconds since 1970.
    """

    job: str
    ends_at: float | None
    read_at: float

    @classmethod
    def read(cls, environment: Mapping[str, str] | None = None) -> Self:
        """The allocation of this process. Raises NoAllocation."""
        env = os.environ if environment is None else environment
        job = env.get("SLURM_JOB_ID", "")
        if not job.isdigit():
            raise NoAllocation("SLURM_JOB_ID is not set: --slurm is for jobs of Slurm.")
        now = time.time()
        try:
            left_s = parse_left(_query_squeue(job))
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            end_text = env.get("SLURM_JOB_END_TIME", "")
            if not end_text.isdigit():
                raise NoAllocation(
                    f"squeue does not report how long job {job} lasts: {error}"
                ) from error
            return cls(job, float(end_text), now)
        return cls(job, None if left_s is None else now + left_s, now)

    @property
    def is_stale(self) -> bool:
        """Whether the end is to be read again."""
        return time.time() - self.read_at >= _FRESH_S

    def left_s(self, margin_s: float) -> float | None:
        """Seconds until ``margin_s`` before the end; ``None`` without a limit."""
        return None if self.ends_at is None else self.ends_at - margin_s - time.time()


def parse_left(text: str) -> float | None:
    """Seconds in the form that ``squeue --format %L`` prints (``[days-][hours:]minutes:seconds``);
    ``None`` for a job without a limit. Raises ValueError."""
    if text in {"UNLIMITED", "NOT_SET"}:
        return None
    match = _LEFT.fullmatch(text)
    if not match:
        raise ValueError(f"{text[:60]!r} is not a time in the form of squeue")
    days, hours, minutes, seconds = (
        int(match[name] or 0) for name in ("days", "hours", "minutes", "seconds")
    )
    return ((days * 24.0 + hours) * 60 + minutes) * 60 + seconds


def _query_squeue(job: str) -> str:
    command = ["squeue", "--noheader", "--jobs", job, "--format", "%L"]
    result = subprocess.run(command, check=True, capture_output=True, text=True, timeout=_TIMEOUT_S)
    return result.stdout.strip()
