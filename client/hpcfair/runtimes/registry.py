"""The runtimes this client can use: a table line each, imported on first use."""

from dataclasses import dataclass
from importlib import import_module, metadata
from pathlib import Path
from typing import cast

from hpcfair.errors import BadConfig, MissingPackage
from hpcfair.runtimes.base import Options, Runtime


@dataclass(frozen=True, slots=True)
class Entry:
    """A runtime that may or may not be installed.

    Attributes:
        path: ``module:class`` of the :class:`~hpcfair.runtimes.base.Runtime`.
        distribution: Package that must be installed.
        extra: Extra of ``hpcfair`` that installs it.
    """

    path: str
    distribution: str
    extra: str

    @property
    def hint(self) -> str:
        """What to type to get it."""
        return f"Install it with: pip install 'hpcfair[{self.extra}]'"


RUNTIMES: dict[str, Entry] = {
    "onnxruntime": Entry("hpcfair.runtimes.onnxruntime:OnnxRuntime", "onnxruntime", "onnxruntime"),
    # Not the processor's runtime: a machine without CUDA must not be offered its builds.
    "onnxruntime_cuda": Entry(
        "hpcfair.runtimes.onnxruntime_cuda:OnnxRuntimeCuda", "onnxruntime-gpu", "cuda"
    ),
    "tensorrt": Entry("hpcfair.runtimes.tensorrt:TensorRt", "tensorrt", "tensorrt"),
    "openvino": Entry("hpcfair.runtimes.openvino:OpenVino", "openvino", "openvino"),
    "litert": Entry("hpcfair.runtimes.litert:LiteRt", "ai-edge-litert", "litert"),
    "torch": Entry("hpcfair.runtimes.torch:TorchRuntime", "torch", "torch"),
    "tvm": Entry("hpcfair.runtimes.tvm:TvmRuntime", "apache-tvm", "tvm"),
    "tvm_cuda": Entry("hpcfair.runtimes.tvm:TvmCudaRuntime", "apache-tvm", "tvm"),
}


def open(name: str, path: Path, options: Options) -> Runtime:  # noqa: A001  called as registry.open
    """Open the build whose entry point is ``path``.

    Args:
        name: A key of :data:`RUNTIMES`.
        options: The build's ``runtime_options``.

    Raises:
        BadConfig: no such runtime, or it does not know an option.
        MissingPackage: the runtime's package is not installed; the hint says how to get it.
        RuntimeFailed: it cannot open these files.
    """
    entry = RUNTIMES.get(name)
    if entry is None:
        raise BadConfig(
            f"no runtime is called {name!r}",
            f"Known are: {', '.join(sorted(RUNTIMES))}. A newer hpcfair may know more.",
        )
    module, _, attribute = entry.path.partition(":")
    try:
        loaded = getattr(import_module(module), attribute)
    except ImportError as error:
        raise MissingPackage(f"runtime {name} cannot be imported: {error}", entry.hint) from error
    return cast("Runtime", loaded(path, options))


def installed() -> dict[str, str]:
    """Name to version of each runtime that is installed; imports none of them."""
    found = {}
    for name, entry in RUNTIMES.items():
        try:
            found[name] = metadata.version(entry.distribution)
        except metadata.PackageNotFoundError:
            continue
    return found
