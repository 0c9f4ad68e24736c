"""The backends the tuner can use: a table line each, imported on first use.

Another package adds one by an entry point of the group ``hpcfair.backends``, named as the backend
and pointing at its class; it cannot replace one of these.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from importlib import import_module, metadata
from typing import cast

from workers.engine.errors import BackendUnavailable
from workers.engine.ports import Backend
from workers.engine.types import TargetSpec

ENTRY_POINTS = "hpcfair.backends"
_CUDA = "cuda"


@dataclass(frozen=True, slots=True)
class Entry:
    """A backend that may or may not be installed, and what is known without importing it.

    Attributes:
        path: ``module:class`` of the :class:`~workers.engine.ports.Backend`.
        distribution: Package that must be installed; empty if none.
        extra: Extra of ``hpcfair-hub`` that installs it; empty if it comes with the hub.
        architectures: Of the targets it serves; empty for all.
        precisions: That it can lower a network to, ``float32`` included.
        on_request: Used only if a ticket names it.
        forms: Formats it takes, one of which a model must have published.
    """

    path: str
    distribution: str = ""
    extra: str = ""
    architectures: frozenset[str] = frozenset()
    precisions: tuple[str, ...] = ("float32",)
    accelerator: str = ""
    on_request: bool = False
    forms: frozenset[str] = frozenset({"onnx"})

    @property
    def hint(self) -> str:
        """What to type to get it."""
        wanted = f"hpcfair-hub[{self.extra}]" if self.extra else self.distribution
        return f"Install it with: pip install '{wanted}'"


BACKENDS: dict[str, Entry] = {
    "onnxruntime": Entry(
        "workers.backends.onnxruntime.backend:OnnxRuntimeBackend",
        distribution="onnxruntime",
        precisions=("float32", "float16", "bfloat16", "int8"),
    ),
    "openvino": Entry(
        "workers.backends.openvino.backend:OpenVinoBackend",
        distribution="openvino",
        extra="openvino",
        architectures=frozenset({"x86-64", "arm64"}),
        precisions=("float32", "bfloat16", "float16", "int8"),
    ),
    "tvm": Entry(
        "workers.backends.tvm.backend:TvmBackend",
        distribution="apache-tvm",
        extra="tvm",
        architectures=frozenset({"x86-64", "arm64"}),
    ),
    "litert": Entry(
        "workers.backends.litert.backend:LiteRtBackend",
        distribution="ai-edge-litert",
        extra="litert",
        forms=frozenset({"tflite", "torch-export"}),
    ),
    "torch": Entry(
        "workers.backends.torch.backend:TorchBackend",
        distribution="torch",
        extra="torch",
        architectures=frozenset({"x86-64", "arm64"}),
        precisions=("float32", "bfloat16"),
        forms=frozenset({"torch-export"}),
    ),
    "onnxruntime_cuda": Entry(
        "workers.backends.onnxruntime_cuda.backend:OnnxRuntimeCudaBackend",
        distribution="onnxruntime-gpu",
        extra="cuda",
        precisions=("float32", "float16"),
        accelerator="cuda",
    ),
    "tvm_cuda": Entry(
        "workers.backends.tvm.cuda:TvmCudaBackend",
        distribution="apache-tvm",
        extra="tvm",
        accelerator="cuda",
    ),
    "tensorrt": Entry(
        "workers.backends.tensorrt.backend:TensorRtBackend",
        distribution="tensorrt",
        extra="tensorrt",
        precisions=("float32", "float16", "int8"),
        accelerator="cuda",
    ),
    "fake": Entry(
        "workers.backends.fake.backend:FakeBackend",
        precisions=("float32", "int8"),
        on_request=True,
    ),
}


def known() -> dict[str, Entry]:
    """All backends, those of other packages included."""
    added = {
        point.name: Entry(point.value, distribution=point.dist.name if point.dist else "")
        for point in metadata.entry_points(group=ENTRY_POINTS)
    }
    return added | BACKENDS


def get(name: str) -> Backend:
    """Make a backend.

    Raises:
        BackendUnavailable: nobody knows the name, or its module cannot be imported; the message
            says what to do.
    """
    entries = known()
    if name not in entries:
        names = ", ".join(sorted(entries))
        raise BackendUnavailable(f"No backend is called {name!r}; known are {names}.")
    entry = entries[name]
    module, _, attribute = entry.path.partition(":")
    try:
        return cast("Backend", getattr(import_module(module), attribute)())
    except ImportError as error:
        raise BackendUnavailable(f"Backend {name}: {error}. {entry.hint}") from error


def available(
    target: TargetSpec,
    names: Sequence[str] | None = None,
    forms: Collection[str] | None = None,
) -> tuple[dict[str, Backend], dict[str, str]]:
    """Backends that can serve a target from this machine.

    Args:
        names: Those to consider; ``None`` for all that are not kept for requests.
        forms: Formats the model was published in; ``None`` if there is no model yet.

    Returns:
        Backends by name, and for each that cannot be used a sentence saying why.
    """
    entries = known()
    if names is None:
        names = [name for name, entry in entries.items() if not entry.on_request]
    found: dict[str, Backend] = {}
    missing: dict[str, str] = {}
    for name in names:
        reason = _unfit(name, entries[name], target, forms) if name in entries else None
        if reason:
            missing[name] = reason
            continue
        try:
            backend = get(name)
            backend.probe(target)
        except BackendUnavailable as error:
            missing[name] = str(error)
        else:
            found[name] = backend
    return found, missing


def reference_for(target: TargetSpec, form: str = "onnx") -> str:
    """The backend whose defaults are the baseline on a target.

    Args:
        form: Format of the file that counts: the baseline is what its users would have otherwise,
            ONNX Runtime, or LiteRT for TensorFlow Lite files.
    """
    if form == "tflite":
        return "litert"
    return "onnxruntime_cuda" if _CUDA in target.features else "onnxruntime"


def _unfit(
    name: str, entry: Entry, target: TargetSpec, forms: Collection[str] | None
) -> str | None:
    """Why a backend cannot serve a target or a model, as far as its line in the table tells."""
    if entry.architectures and target.architecture not in entry.architectures:
        return f"Backend {name} does not serve {target.architecture}."
    if entry.accelerator and entry.accelerator not in target.features:
        return f"Backend {name} needs an NVIDIA GPU; {target.slug} has none."
    if _CUDA in target.features and not entry.accelerator and not entry.on_request:
        return f"Backend {name} runs on processors; {target.slug} is a GPU."
    if forms is not None and entry.forms.isdisjoint(forms):
        return f"Backend {name} needs the model as {' or '.join(sorted(entry.forms))}, too."
    return None
