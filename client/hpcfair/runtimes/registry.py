"""The table of runtimes. Each is imported on first use.

Other packages add runtimes by entry points of the group :data:`ENTRY_POINTS`: the name of the
runtime, pointing at a :class:`RuntimeEntry`. Built-in runtimes cannot be replaced.
"""

import shlex
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module, metadata
from pathlib import Path
from typing import cast

from hpcfair.errors import BadConfig, MissingPackage, NotSupported
from hpcfair.localfiles import local_files
from hpcfair.plugins import load_entries
from hpcfair.runtimes.base import Options, Runtime

ENTRY_POINTS = "hpcfair.runtimes"


class PlugInWarning(UserWarning):
    """A runtime of another package cannot be used; it is ignored."""


@dataclass(frozen=True, slots=True)
class RuntimeEntry:
    """A runtime that may or may not be installed.

    Attributes:
        path: ``module:class`` of the :class:`~hpcfair.runtimes.base.Runtime`; the class is called
            with the path of the entry point and the runtime options.
        distribution: Package that must be installed; its version is reported to the hub.
        requirement: Argument of ``pip install`` that installs it.
    """

    path: str
    distribution: str
    requirement: str

    @property
    def hint(self) -> str:
        """How to install it."""
        return f"Install it with: pip install {shlex.quote(self.requirement)}"


RUNTIMES: dict[str, RuntimeEntry] = {
    "onnxruntime": RuntimeEntry(
        "hpcfair.runtimes.onnxruntime:OnnxRuntime", "onnxruntime", "hpcfair[run]"
    ),
    # Separate from the CPU's runtime: a machine without CUDA must not be offered its builds.
    "onnxruntime_cuda": RuntimeEntry(
        "hpcfair.runtimes.onnxruntime_cuda:OnnxRuntimeCuda", "onnxruntime-gpu", "hpcfair[cuda]"
    ),
    "tensorrt": RuntimeEntry("hpcfair.runtimes.tensorrt:TensorRt", "tensorrt", "hpcfair[tensorrt]"),
    "openvino": RuntimeEntry("hpcfair.runtimes.openvino:OpenVino", "openvino", "hpcfair[openvino]"),
    "litert": RuntimeEntry("hpcfair.runtimes.litert:LiteRt", "ai-edge-litert", "hpcfair[litert]"),
    "torch": RuntimeEntry("hpcfair.runtimes.torch:TorchRuntime", "torch", "hpcfair[torch]"),
    "torch_cuda": RuntimeEntry(
        "hpcfair.runtimes.torch_cuda:TorchCudaRuntime", "torch", "hpcfair[torch]"
    ),
    "tvm": RuntimeEntry("hpcfair.runtimes.tvm:TvmRuntime", "apache-tvm", "hpcfair[tvm]"),
    "tvm_cuda": RuntimeEntry("hpcfair.runtimes.tvm:TvmCudaRuntime", "apache-tvm", "hpcfair[tvm]"),
}

#: Runtimes whose builds run on an NVIDIA GPU.
GPU_RUNTIMES = frozenset({"onnxruntime_cuda", "tensorrt", "torch_cuda", "tvm_cuda"})


def entries() -> dict[str, RuntimeEntry]:
    """All runtimes by name, those of other packages included; issues a :class:`PlugInWarning` for
    each entry point that cannot be used."""
    added, problems = load_entries(ENTRY_POINTS, RuntimeEntry, RUNTIMES)
    for problem in problems.values():
        warnings.warn(f"Runtime {problem}", PlugInWarning, stacklevel=2)
    return RUNTIMES | added


def open(name: str, path: Path, options: Options) -> Runtime:  # noqa: A001  called as registry.open
    """Open the build whose entry point is ``path``.

    Args:
        name: A key of :func:`entries`.
        options: The build's ``runtime_options``.

    Raises:
        BadConfig: the runtime or one of the options is unknown.
        MissingPackage: the runtime's package is not installed; the hint says how to install it.
        RuntimeFailed: the runtime cannot open these files.
        StorageFailed: a file cannot be read.
    """
    runtime = runtime_of(name)
    with local_files(path.parent):
        return runtime(path, options)


def runtime_of(name: str) -> Callable[[Path, Options], Runtime]:
    """Import a runtime's class, and with it the runtime's library.

    Raises:
        BadConfig: there is no runtime of that name.
        MissingPackage: its package is not installed, or cannot be imported.
    """
    entry = RUNTIMES.get(name)
    if entry is None:
        every = entries()
        if name not in every:
            raise BadConfig(
                f"there is no runtime {name!r}",
                f"Available are: {', '.join(sorted(every))}. A newer hpcfair may have it, "
                "or a package of its own.",
            )
        entry = every[name]
    module, _, attribute = entry.path.partition(":")
    try:
        return cast("Callable[[Path, Options], Runtime]", getattr(import_module(module), attribute))
    # OSError: a shared library of the package is missing.
    except (ImportError, AttributeError, OSError) as error:
        raise MissingPackage(f"runtime {name} cannot be imported: {error}", entry.hint) from error


def open_isolated(name: str, path: Path, options: Options) -> Runtime:
    """Open the build whose entry point is ``path`` in a confined child process; see :func:`open`.

    Raises NotSupported: this system cannot confine processes.
    """
    if sys.platform != "linux":
        raise NotSupported(f"isolated=True needs Linux; this is {sys.platform}.")
    # Imported here: most programs isolate nothing.
    module = import_module("hpcfair.runtimes.isolated")
    with local_files(None, "TMPDIR"):
        return cast("Runtime", module.IsolatedRuntime(name, path, options))


def installed() -> dict[str, str]:
    """Version of each installed runtime by name; imports no runtime.

    Reading the metadata of all packages takes as long as opening a small model, so that the result
    is kept until a folder of the import path changes.
    """
    return dict(_installed(tuple((entry, _changed_at(entry)) for entry in sys.path)))


@lru_cache(maxsize=1)
def _installed(_: tuple[tuple[str, int], ...]) -> dict[str, str]:
    versions = {}
    for name, entry in entries().items():
        try:
            versions[name] = metadata.version(entry.distribution)
        except metadata.PackageNotFoundError:
            continue
    return versions


def _changed_at(folder: str) -> int:
    try:
        return Path(folder or ".").stat().st_mtime_ns
    except OSError:
        return 0
