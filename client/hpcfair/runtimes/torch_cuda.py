"""PyTorch's AOTInductor packages on an NVIDIA GPU.

Opening a build runs its native code, as on the processor: see :mod:`hpcfair.runtimes.torch`.
"""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import torch

from hpcfair.errors import RuntimeFailed
from hpcfair.runtimes.base import Array, Options
from hpcfair.runtimes.options import check_names
from hpcfair.runtimes.torch import TorchRuntime

_GPU = 0
#: Runs before a recording, which initialise libraries and their workspaces.
_WARMUP = 3
#: Most shapes whose recordings are kept; each holds the memory of a run.
SHAPES = 8


@dataclass(frozen=True, slots=True)
class _Recording:
    """A CUDA graph, and the tensors in GPU memory that it reads and writes."""

    graph: Any
    inputs: list[Any]
    outputs: list[Any]


class TorchCudaRuntime(TorchRuntime):
    """An AOTInductor package on the first NVIDIA GPU; a :class:`~hpcfair.runtimes.base.Runtime`.

    Options, all optional:
        ``graphs``: Record the kernels of a run as a CUDA graph, once per shape of the inputs, and
            launch them at once afterwards. The first run of a shape takes several times as long.
        ``tf32``: Round float32 products to TF32 (10 bits of mantissa). PyTorch has one setting per
            process; the build opened last sets it.
    """

    name = "torch_cuda"
    # The calling thread waits for the GPU.
    pins_workers = False

    def __init__(self, path: Path, options: Options) -> None:
        check_names(self.name, options, {"graphs", "tf32"})
        if not torch.cuda.is_available():
            raise RuntimeFailed(
                "PyTorch finds no NVIDIA GPU on this machine",
                "This build needs one, with its driver, and PyTorch's CUDA build.",
            )
        use_tf32(is_on=bool(options.get("tf32")))
        self._records = bool(options.get("graphs"))
        self._recordings: OrderedDict[tuple[Any, ...], _Recording] = OrderedDict()
        # Recordings have one set of buffers each.
        self._lock = Lock()
        # The multi-threaded mode queries events, which is illegal during a recording.
        self._open(path, device=_GPU, is_single_threaded=True)

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        with self._lock:
            return super().run(inputs)

    def close(self) -> None:
        self._recordings.clear()
        super().close()

    def _call(self, tensors: list[Any]) -> list[Any]:
        if not self._records:
            values = self._loader.boxed_run([tensor.cuda() for tensor in tensors])
            return [value.cpu() for value in values]
        recording = self._recording_of(tensors)
        for place, tensor in zip(recording.inputs, tensors, strict=True):
            place.copy_(tensor)
        recording.graph.replay()
        return [value.cpu() for value in recording.outputs]

    def _recording_of(self, tensors: list[Any]) -> _Recording:
        shapes = tuple(tuple(tensor.shape) for tensor in tensors)
        recording = self._recordings.pop(shapes, None) or self._record(tensors)
        # The most recently used shapes are at the end.
        self._recordings[shapes] = recording
        if len(self._recordings) > SHAPES:
            self._recordings.popitem(last=False)
        return recording

    def _record(self, tensors: list[Any]) -> _Recording:
        inputs = [tensor.cuda() for tensor in tensors]
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]  # PyTorch's is untyped
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(_WARMUP):
                self._loader.boxed_run(list(inputs))
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            outputs = self._loader.boxed_run(list(inputs))
        return _Recording(graph, inputs, outputs)


def use_tf32(*, is_on: bool) -> None:
    """Set whether PyTorch may round float32 products to TF32, in this process."""
    torch.backends.cuda.matmul.allow_tf32 = is_on
    torch.backends.cudnn.allow_tf32 = is_on
