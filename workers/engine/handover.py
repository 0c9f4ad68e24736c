"""Takes over what a child has built on a stranger's bytes: nothing is taken on trust."""

import os
import stat
from pathlib import Path, PurePosixPath
from typing import Any

from workers.engine.errors import CandidateFailed
from workers.engine.types import TOLERANCES, BuildResult, Limits


def result_of(described: Any, artefact: Path, limits: Limits) -> BuildResult:
    """The build a child describes, believed only as far as its files bear it out.

    Args:
        described: What :func:`workers.engine.child_work.build` returned, if it did.
        artefact: The folder it built in.

    Raises:
        CandidateFailed: the files or the description make no sense.
    """
    _check_files(artefact, limits)
    try:
        result = BuildResult(
            outcome="measured",
            directory=artefact,
            entry_point=str(PurePosixPath(described["entry_point"])),
            runtime=str(described["runtime"]),
            runtime_options=dict(described["runtime_options"]),
            tolerance=described["tolerance"],
            compile_s=float(described["compile_s"]),
            peak_rss_bytes=int(described["peak_rss_bytes"]),
            toolchain={str(name): str(v) for name, v in described["toolchain"].items()},
            provenance=dict(described["provenance"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise nonsense(error) from error
    if result.tolerance not in TOLERANCES:
        raise CandidateFailed("invalid", f"the build claims the tolerance {result.tolerance!r}")
    entry_point = artefact / result.entry_point
    if ".." in entry_point.parts or not entry_point.is_relative_to(artefact):
        raise CandidateFailed("invalid", f"its entry point lies outside: {result.entry_point}")
    if not entry_point.is_file():
        raise CandidateFailed("invalid", f"the build lacks its entry point {result.entry_point}")
    return result


def _check_files(artefact: Path, limits: Limits) -> None:
    """Only folders and regular files, of a bearable size: they are read outside the sandbox."""
    total = 0
    for folder, folders, files in os.walk(artefact):
        for name in (*folders, *files):
            status = (Path(folder) / name).lstat()
            plain = stat.S_ISREG(status.st_mode) and status.st_nlink == 1
            if not plain and not stat.S_ISDIR(status.st_mode):
                raise CandidateFailed("invalid", f"the build holds {name}, which is no plain file")
            total += status.st_size
    if total > limits.file_bytes:
        raise CandidateFailed("invalid", f"the build has {total} bytes, over the limit")


def nonsense(what: object) -> CandidateFailed:
    """For answers that only a child gone astray gives."""
    return CandidateFailed("crash", f"the child answered nonsense: {what}", "protocol")
