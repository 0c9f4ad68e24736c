"""The table of backends. Each is imported on first use.

Other packages add backends by entry points of the group :data:`ENTRY_POINTS`: the name of the
backend, pointing at a :class:`BackendEntry`. Built-in backends cannot be replaced.
"""

import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import cast

from hpcfair.plugins import load_entries
from workers.engine.errors import BackendUnavailable
from workers.engine.ports import Backend
from workers.engine.types import TargetSpec

ENTRY_POINTS = "hpcfair.backends"
_CUDA = "cuda"
#: Accelerators in error texts.
_ACCELERATORS = {_CUDA: "an NVIDIA GPU"}


@dataclass(frozen=True, slots=True)
class BackendEntry:
    """A backend that may or may not be installed; readable without importing it.

    Attributes:
        path: ``module:class`` of the :class:`~workers.engine.ports.Backend`.
        distribution: Package that must be installed; empty if none.
        requirement: Argument of ``pip install`` that installs it; the distribution if empty.
        architectures: Processor architectures of the targets it serves; empty for all.
        precisions: Precisions it can build in, ``float32`` included.
        accelerator: Feature of the targets it serves, such as ``cuda``; empty for processors.
        on_request: Whether it is used only where a job names it.
        formats: Model formats it takes; a model must be published in one of them.
        builds_elsewhere: Whether it can make builds on a machine of another architecture.
    """

    path: str
    distribution: str = ""
    requirement: str = ""
    architectures: frozenset[str] = frozenset()
    precisions: tuple[str, ...] = ("float32",)
    accelerator: str = ""
    on_request: bool = False
    formats: frozenset[str] = frozenset({"onnx"})
    builds_elsewhere: bool = False

    @property
    def hint(self) -> str:
        """How to install it; empty if there is nothing to install."""
        requirement = self.requirement or self.distribution
        return f"Install it with: pip install {shlex.quote(requirement)}" if requirement else ""


BACKENDS: dict[str, BackendEntry] = {
    "onnxruntime": BackendEntry(
        "workers.backends.onnxruntime.backend:OnnxRuntimeBackend",
        distribution="onnxruntime",
        precisions=("float32", "float16", "bfloat16", "int8"),
    ),
    "openvino": BackendEntry(
        "workers.backends.openvino.backend:OpenVinoBackend",
        distribution="openvino",
        requirement="hpcfair-hub[openvino]",
        architectures=frozenset({"x86-64", "arm64"}),
        precisions=("float32", "bfloat16", "float16", "int8"),
    ),
    "tvm": BackendEntry(
        "workers.backends.tvm.backend:TvmBackend",
        distribution="apache-tvm",
        requirement="hpcfair-hub[tvm]",
        architectures=frozenset({"x86-64", "arm64", "riscv64"}),
        builds_elsewhere=True,
    ),
    "litert": BackendEntry(
        "workers.backends.litert.backend:LiteRtBackend",
        distribution="ai-edge-litert",
        requirement="hpcfair-hub[litert]",
        formats=frozenset({"tflite", "torch-export"}),
    ),
    "torch": BackendEntry(
        "workers.backends.torch.backend:TorchBackend",
        distribution="torch",
        requirement="hpcfair-hub[torch]",
        architectures=frozenset({"x86-64", "arm64"}),
        precisions=("float32", "bfloat16"),
        formats=frozenset({"torch-export"}),
    ),
    "onnxruntime_cuda": BackendEntry(
        "workers.backends.onnxruntime_cuda.backend:OnnxRuntimeCudaBackend",
        distribution="onnxruntime-gpu",
        requirement="hpcfair-hub[cuda]",
        precisions=("float32", "float16"),
        accelerator="cuda",
    ),
    "torch_cuda": BackendEntry(
        "workers.backends.torch.cuda:TorchCudaBackend",
        distribution="torch",
        requirement="hpcfair-hub[torch]",
        precisions=("float32", "float16", "bfloat16"),
        accelerator="cuda",
        formats=frozenset({"torch-export"}),
    ),
    "tvm_cuda": BackendEntry(
        "workers.backends.tvm.cuda:TvmCudaBackend",
        distribution="apache-tvm",
        requirement="hpcfair-hub[tvm]",
        accelerator="cuda",
    ),
    "tensorrt": BackendEntry(
        "workers.backends.tensorrt.backend:TensorRtBackend",
        distribution="tensorrt",
        requirement="hpcfair-hub[tensorrt]",
        precisions=("float32", "float16", "int8"),
        accelerator="cuda",
    ),
    "fake": BackendEntry(
        "workers.backends.fake.backend:FakeBackend", precisions=("float32", "int8"), on_request=True
    ),
}


def entries() -> tuple[dict[str, BackendEntry], dict[str, str]]:
    """All backends by name, and a sentence for each entry point that cannot be used."""
    added, problems = load_entries(ENTRY_POINTS, BackendEntry, BACKENDS)
    return BACKENDS | added, {name: f"Backend {text}" for name, text in problems.items()}


def hint_of(name: str) -> str:
    """How to install a backend; empty for a name that is not in the table."""
    entry = entries()[0].get(name)
    return entry.hint if entry else ""


def get(name: str) -> Backend:
    """Make a backend. Raises BackendUnavailable, which says what to do, if there is none of that
    name or it cannot be imported."""
    every, problems = entries()
    return _make(name, _entry_of(name, every, problems))


def available(
    target: TargetSpec, names: Sequence[str] | None = None, formats: Collection[str] | None = None
) -> tuple[dict[str, Backend], dict[str, str]]:
    """Backends that can serve a target from this machine.

    Args:
        names: Backends to consider; ``None`` for all but those used on request only.
        formats: Formats the model was published in; ``None`` if there is no model yet.

    Returns:
        Backends by name, and for each that cannot be used a sentence that gives the reason.
    """
    every, problems = entries()
    missing: dict[str, str] = {}
    if names is None:
        names = [name for name, entry in every.items() if not entry.on_request]
        missing = problems
    backends: dict[str, Backend] = {}
    for name in names:
        try:
            entry = _entry_of(name, every, problems)
            _check(name, entry, target, formats)
            backend = _make(name, entry)
            backend.probe(target)
        except BackendUnavailable as error:
            missing[name] = str(error)
        # A backend of another package can raise anything.
        except Exception as error:  # noqa: BLE001
            missing[name] = f"Backend {name} cannot be probed: {type(error).__name__}: {error}."
        else:
            backends[name] = backend
    return backends, missing


def reference_for(target: TargetSpec, format: str = "onnx") -> str:  # noqa: A002  as in the API
    """The backend whose defaults are the baseline on a target, by format of the primary file.

    The baseline is the usual runtime without the hub: ONNX Runtime, or LiteRT for TensorFlow Lite.
    """
    if format == "tflite":
        return "litert"
    return "onnxruntime_cuda" if _CUDA in target.features else "onnxruntime"


def _entry_of(
    name: str, every: Mapping[str, BackendEntry], problems: Mapping[str, str]
) -> BackendEntry:
    if name in every:
        return every[name]
    names = ", ".join(sorted(every))
    raise BackendUnavailable(
        problems.get(name) or f"There is no backend {name!r}; available are {names}."
    )


def _make(name: str, entry: BackendEntry) -> Backend:
    module, _, attribute = entry.path.partition(":")
    try:
        return cast("Backend", getattr(import_module(module), attribute)())
    # Importing another package's module can raise anything.
    except Exception as error:
        detail = str(error) if isinstance(error, ImportError) else repr(error)
        raise BackendUnavailable(f"Backend {name}: {detail}. {entry.hint}".strip()) from error


def _check(
    name: str, entry: BackendEntry, target: TargetSpec, formats: Collection[str] | None
) -> None:
    """Refuse a target or a model that a backend does not serve, from its table entry alone."""
    reason = None
    if entry.architectures and target.architecture not in entry.architectures:
        reason = f"does not serve {target.architecture}"
    elif entry.accelerator and entry.accelerator not in target.features:
        accelerator = _ACCELERATORS.get(entry.accelerator, entry.accelerator)
        reason = f"needs {accelerator}; {target.slug} has none"
    elif _CUDA in target.features and not entry.accelerator and not entry.on_request:
        reason = f"runs on processors; {target.slug} is a GPU"
    elif formats is not None and entry.formats.isdisjoint(formats):
        reason = f"needs the model as {' or '.join(sorted(entry.formats))}, too"
    if reason:
        raise BackendUnavailable(f"Backend {name} {reason}.")
