"""Takes over the results of a child that worked on untrusted files, and validates them."""

import os
import shutil
import stat
import subprocess
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any, get_args

from hpcfair.isolation.limits import Limits
from hpcfair.precisions import TOLERANCES
from workers.engine.errors import CandidateFailed
from workers.engine.profile import Grade, Profile, profile_from_dict
from workers.engine.types import BuildResult, canonical_json

#: More than any compiler writes; bounds the work of all readers of a build.
_MOST_FILES, _MOST_LEVELS, _LONGEST_DESCRIPTION = 10_000, 16, 2**20
#: Ten thousand call sites with their links, and the schedules of their kernels.
_LONGEST_PROFILE = 32 * 2**20
#: What the hub stores of the name of a runtime, and of a path in a build.
_LONGEST_RUNTIME, _LONGEST_PATH = 32, 1024
#: Nanoseconds of a century; databases hold no more than 63 bits.
_MOST = 2**62


def result_of(described: Any, artefact: Path, limits: Limits) -> BuildResult:
    """The build that a child describes, after a check against its files in the folder ``artefact``.

    ``described`` is supposedly the result of :func:`workers.engine.child_work.build`. Raises
    CandidateFailed if the files or the description are invalid.
    """
    check_files(artefact, limits)
    try:
        # Also rejects NaN, lone surrogates and endless nesting.
        if len(canonical_json(described)) > _LONGEST_DESCRIPTION:
            raise protocol_error("the description is too long")
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
        raise protocol_error(error) from error
    _check_result(result, artefact)
    return result


def profile_of(described: Any, code: Path, limits: Limits) -> Profile:
    """The profile that a child describes, after a check for consistency.

    ``described`` is supposedly the result of :func:`workers.engine.child_work.profile`, ``code``
    the folder of the kernels' code. Raises CandidateFailed if the files or the description are
    invalid.
    """
    check_files(code, limits)
    try:
        if len(canonical_json(described)) > _LONGEST_PROFILE:
            raise protocol_error("the description is too long")
        profile = profile_from_dict(described)
        _check_profile(profile, code)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise protocol_error(error) from error
    return profile


def _check_profile(profile: Profile, code: Path) -> None:
    """Raises TypeError, ValueError or AttributeError for an inconsistent profile."""
    symbols = {kernel.symbol for kernel in profile.kernels}
    if len(symbols) != len(profile.kernels):
        raise ValueError("two kernels of one symbol")
    for kernel in profile.kernels:
        _texts(kernel.symbol, *kernel.code, *kernel.code.values(), kernel.workload or "none")
        for name in kernel.code.values():
            path = code / name
            if ".." in path.parts or not path.is_relative_to(code) or not path.is_file():
                raise ValueError(f"a kernel without its code {name!r}")
    _texts(profile.method)
    _counts(profile.total_ns, *profile.folded)
    for site in profile.call_sites:
        optional = (site.precision, site.layout, site.implementation)
        _texts(site.name, site.operator, *(text for text in optional if text is not None))
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
    if not result.runtime.isprintable() or len(result.runtime) > _LONGEST_RUNTIME:
        raise protocol_error(f"the runtime {result.runtime!r:.100}")
    if len(result.entry_point) > _LONGEST_PATH:
        raise protocol_error("an entry point that is too long")
    if not all(isinstance(v, str | int | float | bool) for v in result.runtime_options.values()):
        raise protocol_error("runtime options that are no plain values")
    entry_point = artefact / result.entry_point
    if ".." in entry_point.parts or not entry_point.is_relative_to(artefact):
        raise CandidateFailed("invalid", f"its entry point lies outside: {result.entry_point}")
    if not entry_point.is_file():
        raise CandidateFailed("invalid", f"the build lacks its entry point {result.entry_point}")


def check_files(artefact: Path, limits: Limits) -> None:
    """Accept only folders and regular files, of printable names and limited depth and size: they
    are read outside the sandbox afterwards."""
    total, count, pending = 0, 0, [(artefact, 1)]
    while pending:
        folder, level = pending.pop()
        with os.scandir(folder) as entries:
            for entry in entries:
                count += 1
                status = _check_file(entry)
                total += status.st_size
                if stat.S_ISDIR(status.st_mode):
                    pending.append((Path(entry.path), level + 1))
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
    """Delete a folder with untrusted content as far as possible."""
    with suppress(OSError):
        try:
            shutil.rmtree(folder)
        except RecursionError:
            # Folders nested deeper than Python's stack; rm needs no stack.
            subprocess.run(["rm", "-rf", "--", str(folder)], check=False)


def protocol_error(reason: object) -> CandidateFailed:
    """The failure of a child whose answer violates the protocol."""
    return CandidateFailed("crash", f"the child's answer is invalid: {reason}", "protocol")
