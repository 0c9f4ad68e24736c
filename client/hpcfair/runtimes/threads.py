"""Threads as builds name them: relative to the machine, so that a build travels."""

from hpcfair import machine
from hpcfair.errors import BadConfig

THREADS = ("all", "half", "one")


def count(runtime: str, threads: str | float) -> int:
    """How many ``all``, ``half`` or ``one`` of the physical cores are that this process may use.

    Raises:
        BadConfig: it is another word.
    """
    cores = machine.describe().cores
    found = {"all": cores, "half": max(1, cores // 2), "one": 1}.get(str(threads))
    if found is None:
        raise BadConfig(
            f"runtime {runtime}: threads cannot be {threads!r}",
            f"It is one of {', '.join(THREADS)}.",
        )
    return found
