"""Takes over what a child has built on a stranger's bytes: nothing is taken on trust."""

import os
import shutil
import stat
import subprocess
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any, get_args

from hpcfair.precisions import TOLERANCES
from workers.engine.errors import CandidateFailed
from workers.engine.profile import Grade, Profile, profile_from_dict
from workers.engine.types import BuildResult, Limits, canonical_json

#: No compiler writes more, and whoever reads a build need not fear more.
_MOST_FILES, _MOST_LEVELS, _LONGEST_DESCRIPTION = 10_000, 16, 2**20
#: Ten thousand call sites with their links, and the schedules of their kernels.
_LONGEST_PROFILE = 32 * 2**20
#: Nanoseconds of a century; databases hold no more than 63 bits.
_MOST = 2**62


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
        # Has no NaN, no lone surrogate and no bottom that cannot be reached.
        if len(canonical_json(described)) > _LONGEST_DESCRIPTION:
            raise nonsense("too much of it")
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
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise nonsense(error) from error
    _check_result(result, artefact)
    return result


def profile_of(described: Any, code: Path, limits: Limits) -> Profile:
    """The profile a child describes, believed only as far as it makes sense.

    Args:
        described: What :func:`workers.engine.child_work.profile` returned, if it did.
        code: The folder it wrote the code of kernels to.

    Raises:
        CandidateFailed: the files or the description make no sense.
    """
    _check_files(code, limits)
    try:
        if len(canonical_json(described)) > _LONGEST_PROFILE:
            raise nonsense("too much of it")
        found = profile_from_dict(described)
        _check_profile(found, code)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise nonsense(error) from error
    return found


def _check_profile(found: Profile, code: Path) -> None:
    """Raises TypeError, ValueError or AttributeError for what no profiler says."""
    symbols = {kernel.symbol for kernel in found.kernels}
    if len(symbols) != len(found.kernels):
        raise ValueError("two kernels of one symbol")
    for kernel in found.kernels:
        _texts(kernel.symbol, *kernel.code, *kernel.code.values(), kernel.workload or "none")
        for name in kernel.code.values():
            path = code / name
            if ".." in path.parts or not path.is_relative_to(code) or not path.is_file():
                raise ValueError(f"a kernel without its code {name!r}")
    _texts(found.method)
    _counts(found.total_ns, *found.folded)
    for site in found.call_sites:
        told = (site.precision, site.layout, site.implementation)
        _texts(site.name, site.operator, *(text for text in told if text is not None))
        _counts(site.median_ns, site.mad_ns, site.runs, *(link.index for link in site.nodes))
        if site.kernel is not None and site.kernel not in symbols:
            raise ValueError(f"a call of the kernel {site.kernel!r}, which is none of its kernels")
        if not all(link.grade in get_args(Grade) for link in site.nodes):
            raise ValueError(f"links of other grades than {', '.join(get_args(Grade))}")


def _texts(*values: object) -> None:
    for value in values:
        if not isinstance(value, str) or not value:
            raise TypeError(f"{value!r:.100} where text should be")


def _counts(*values: object) -> None:
    for value in values:
        if type(value) is not int or not 0 <= value < _MOST:
            raise TypeError(f"{value!r:.100} where a whole number should be")


def _check_result(result: BuildResult, artefact: Path) -> None:
    if result.tolerance not in TOLERANCES:
        raise CandidateFailed("invalid", f"the build claims the tolerance {result.tolerance!r}")
    if not all(isinstance(v, str | int | float | bool) for v in result.runtime_options.values()):
        raise nonsense("runtime options that are no plain values")
    entry_point = artefact / result.entry_point
    if ".." in entry_point.parts or not entry_point.is_relative_to(artefact):
        raise CandidateFailed("invalid", f"its entry point lies outside: {result.entry_point}")
    if not entry_point.is_file():
        raise CandidateFailed("invalid", f"the build lacks its entry point {result.entry_point}")


def _check_files(artefact: Path, limits: Limits) -> None:
    """Only folders and regular files, of bearable names, depth and size.

    They are read outside the sandbox from now on.
    """
    total, count, waiting = 0, 0, [(artefact, 1)]
    while waiting:
        folder, level = waiting.pop()
        with os.scandir(folder) as entries:
            for entry in entries:
                count += 1
                status = _check_file(entry)
                total += status.st_size
                if stat.S_ISDIR(status.st_mode):
                    waiting.append((Path(entry.path), level + 1))
                if level > _MOST_LEVELS or count > _MOST_FILES or total > limits.file_bytes:
                    raise CandidateFailed("invalid", "the build is over the limit of its files")


def _check_file(entry: os.DirEntry[str]) -> os.stat_result:
    status = entry.stat(follow_symlinks=False)
    plain = stat.S_ISREG(status.st_mode) and status.st_nlink == 1
    if not plain and not stat.S_ISDIR(status.st_mode):
        raise CandidateFailed("invalid", f"the build holds {entry.name!r}, which is no plain file")
    if not entry.name.isprintable():
        raise CandidateFailed("invalid", f"the build holds a file called {entry.name!r}")
    return status


def remove(folder: Path) -> None:
    """Delete a folder that a child may have filled with spite; what cannot be deleted stays."""
    with suppress(OSError):
        try:
            shutil.rmtree(folder)
        except RecursionError:
            # Folders nested deeper than Python's stack; rm walks them without one.
            subprocess.run(["rm", "-rf", "--", str(folder)], check=False)


def nonsense(what: object) -> CandidateFailed:
    """For answers that only a child gone astray gives."""
    return CandidateFailed("crash", f"the child answered nonsense: {what}", "protocol")
