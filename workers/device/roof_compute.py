"""Roofs of arithmetic, and of an accelerator's memory, through the backends of this machine."""

import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hpcfair.digest import sha256_of_file
from hpcfair.isolation.limits import Limits
from workers.backends.registry import reference_for
from workers.device.ports import DeviceSettings, JobDevice
from workers.device.roof_rounds import Round, measured_rounds
from workers.device.toolchain import backends_of, other_machine, versions_of
from workers.engine.child import call
from workers.engine.errors import BackendUnavailable, CandidateFailed, InvalidCandidate
from workers.engine.ports import Backend
from workers.engine.requests import TuningRequest
from workers.engine.types import Network, Options, tensor_specs
from workers.fleet.probe import ThisMachine

_WRITE = "workers.device.roof_network"
#: Backends whose products are kernels of a vendor's library; compilers without tuned schedules
#: would only take time.
_WITH_LIBRARY = ("onnxruntime", "openvino", "onnxruntime_cuda", "tensorrt")
#: Backend that runs each operation on an accelerator by itself, so that its traffic is known.
_UNFUSED = "onnxruntime_cuda"
_PRECISIONS = ("float32", "bfloat16", "float16")
_LAYERS = 4
#: Sizes of the matrices, and the time of a run up to which a larger one is taken.
_SIZES = (256, 512, 1024, 2048, 4096, 8192)
_LONGEST_RUN_S = 0.06
#: Numbers and passes of the traffic of an accelerator: 256 MiB, 16 times.
_ELEMENTS, _PASSES = 2**26, 16
_WALL_S = 60.0


@dataclass(slots=True)
class ComputeRoofs:
    """Measures roofs until ``end``, a moment of :func:`time.monotonic`.

    Attributes:
        notes: Filled by :meth:`measure`: why roofs are missing.
    """

    settings: DeviceSettings
    here: ThisMachine
    folder: Path
    end: float
    notes: list[str] = field(default_factory=list)
    _networks: int = 0

    def measure(self) -> Iterator[dict[str, Any]]:
        """Yield a roof for each precision and backend that works here, as ``roofs_store`` takes
        them."""
        backends, _ = backends_of(self.here, self.settings.names(), ("onnx",))
        suited = {name: backend for name, backend in backends.items() if name in _WITH_LIBRARY}
        reference = reference_for(self.here.spec)
        if reference not in suited:
            self.notes.append(f"Arithmetic was not measured: {reference} is not installed.")
            return
        size = self._size(suited, reference)
        for is_int8 in (False, True):
            yield from self._products(suited, size, is_int8=is_int8)
        if _UNFUSED in suited:
            yield from self._traffic(suited)

    def _size(self, backends: Mapping[str, Backend], reference: str) -> int:
        """The largest size at which a run in float32 is short enough."""
        network = self._network("write_products", size=_SIZES[0], layers=_LAYERS, is_int8=False)
        options = backends[reference].default(network, self.here.spec)
        with self._device(network, backends) as device:
            rounds = self._rounds(device, reference, options)
        if not rounds:
            return _SIZES[0]
        first_s = min(ns for each in rounds for ns in each.samples_ns) / 1e9
        fitting = [one for one in _SIZES if first_s * (one / _SIZES[0]) ** 3 <= _LONGEST_RUN_S]
        return max(fitting, default=_SIZES[0])

    def _products(
        self, backends: Mapping[str, Backend], size: int, *, is_int8: bool
    ) -> Iterator[dict[str, Any]]:
        network = self._network("write_products", size=size, layers=_LAYERS, is_int8=is_int8)
        with self._device(network, backends) as device:
            for name, backend in backends.items():
                for precision in ("int8",) if is_int8 else _PRECISIONS:
                    options = self._options(backend, network, precision)
                    rounds = options and self._rounds(device, name, options, precision)
                    if options and rounds:
                        yield {
                            "precision": precision,
                            "backend": name,
                            "method": self._method(backend, options),
                            "threads": max(self.here.spec.cores, 1),
                            "size": size,
                            "layers": _LAYERS,
                            "rounds": [each.as_json() for each in rounds],
                        }

    def _traffic(self, backends: Mapping[str, Backend]) -> Iterator[dict[str, Any]]:
        network = self._network("write_traffic", elements=_ELEMENTS, layers=_PASSES)
        options = backends[_UNFUSED].default(network, self.here.spec)
        with self._device(network, backends) as device:
            if rounds := self._rounds(device, _UNFUSED, options, "memory"):
                yield {
                    "level": "memory",
                    "bytes": 4 * _ELEMENTS,
                    "arrays": 2,
                    # The first and the last operation write and read the array once.
                    "repeats": _PASSES + 1,
                    "threads": 1,
                    "method": f"negations of float32 by {_UNFUSED} on the accelerator",
                    "rounds": [each.as_json() for each in rounds],
                }

    def _options(self, backend: Backend, network: Network, precision: str) -> Options | None:
        """Options with which a backend computes in a precision; ``None`` if it cannot here."""
        if precision in {"float32", "int8"}:
            return backend.default(network, self.here.spec)
        member = backend.space(network, self.here.spec).nearest({"precision": precision})
        return member if member and member.get("precision") == precision else None

    def _rounds(
        self, device: JobDevice, name: str, options: Options, precision: str = "float32"
    ) -> tuple[Round, ...]:
        """Rounds of a build; none if it fails or no time is left."""
        left_s = self.end - time.monotonic()
        if left_s <= 0:
            self.notes.append(f"No time was left for {precision} by {name}.")
            return ()
        inputs = {"x": np.ones(1, np.float32)}
        try:
            build = device.build(name, options)
            with closing(device.open(name, build, "candidate", inputs)) as session:
                session.time(1, 1)
                share_end = time.monotonic() + left_s / 4
                return measured_rounds(lambda count: session.time(count, 0).samples_ns, share_end)
        except (CandidateFailed, InvalidCandidate, BackendUnavailable) as error:
            self.notes.append(f"{name} does not compute in {precision} here: {error}")
            return ()

    def _method(self, backend: Backend, options: Options) -> str:
        versions = versions_of(self.here, backend)
        tools = ", ".join(f"{package} {version}" for package, version in versions.items())
        chosen = " ".join(f"{name}={value}" for name, value in options.items())
        return f"products of square matrices by {tools} ({chosen})"[:300]

    def _device(self, network: Network, backends: Mapping[str, Backend]) -> JobDevice:
        scratch = self.folder / f"scratch-{self._networks}"
        scratch.mkdir()
        request = TuningRequest(network, self.here.spec, tuple(backends), limits=self._limits())
        return self.settings.device(request, backends, scratch, other=other_machine(self.here))

    def _network(self, function: str, **arguments: Any) -> Network:
        self._networks += 1
        model = self.folder / f"model-{self._networks}" / "model.onnx"
        model.parent.mkdir()
        call(
            f"{_WRITE}:{function}",
            limits=self._limits(),
            workspace=model.parent,
            path=str(model),
            **arguments,
        )
        digest = sha256_of_file(model)
        is_int8 = bool(arguments.get("is_int8"))
        return Network(
            model_path=model,
            model_sha256=digest,
            graph_hash=digest,
            architecture_class="mlp",
            inputs=tensor_specs([{"name": "x", "dtype": "float32", "shape": [1]}]),
            outputs=tensor_specs([{"name": "y", "dtype": "float32", "shape": []}]),
            operators={"MatMul": _LAYERS, **({"QuantizeLinear": _LAYERS} if is_int8 else {})},
            parameters=0,
            macs=None,
        )

    def _limits(self) -> Limits:
        return Limits(wall_s=_WALL_S, memory_bytes=self.settings.child_memory_bytes)
