"""The fake backend: builds a small JSON file and runs it by sleeping."""

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from workers.backends.base import Artefact, BaseBackend
from workers.backends.fake import kernels
from workers.engine.errors import InvalidCandidate
from workers.engine.ports import Array, Session
from workers.engine.space import Choice, Conditional, Flag, IntRange, Space
from workers.engine.types import BuildResult, Network, Options, TargetSpec, TensorSpec

#: Failures of candidates of :class:`FaultyBackend`. While building: ``invalid``, ``memory`` (an
#: allocation above any limit), ``build-hang``. While running: ``crash``, ``hang``, ``wrong``
#: (different outputs), ``nan``.
FAULTS = ("none", "invalid", "memory", "build-hang", "crash", "hang", "wrong", "nan")

_ENTRY_POINT = "kernel.json"
_FOREVER_S = 3600.0
_MORE_MEMORY_THAN_ALLOWED = 2**46


class FakeSession:
    """A session that sleeps for the latency of the fake kernel with the candidate's ``options``.

    The option ``error`` is a relative error of all outputs.
    """

    def __init__(self, options: Options, outputs: tuple[TensorSpec, ...]) -> None:
        self.options = options
        self._outputs = outputs

    def run(self, inputs: dict[str, Array]) -> dict[str, Array]:
        time.sleep(kernels.latency_s(self.options))
        return self.compute(inputs)

    def compute(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """The outputs, without sleeping."""
        match self.options.get("fault"):
            case "crash":
                os.abort()
            case "hang":
                time.sleep(_FOREVER_S)
        results = kernels.outputs(self._outputs, inputs, self.options)
        if error := float(self.options.get("error", 0)):
            return {name: np.multiply(array, 1 + error) for name, array in results.items()}
        match self.options.get("fault"):
            case "wrong":
                return {name: np.add(array, 1) for name, array in results.items()}
            case "nan":
                return {name: _with_nan(array) for name, array in results.items()}
        return results

    def close(self) -> None:
        """Nothing to release."""


class FakeBackend(BaseBackend):
    """1,184 configurations, half of them int8; one in 37 is within 5 % of the best of its class."""

    name = "fake"
    no_profile = "the fake backend runs no operators"

    def probe(self, target: TargetSpec) -> dict[str, str]:  # noqa: ARG002
        return {"fake": "1"}

    def require(self, network: Network, target: TargetSpec) -> None:
        """Nothing is required."""

    def reads_normal_form(self, options: Options) -> bool:  # noqa: ARG002
        return False

    def space(self, network: Network, target: TargetSpec) -> Space:  # noqa: ARG002
        return Space(
            {
                "kernel": Choice(("direct", "blocked", "winograd")),
                "tile": Conditional("kernel", ("blocked", "winograd"), Choice((8, 16, 32, 64))),
                "unroll": Conditional("kernel", ("blocked",), IntRange(1, 8, log=True)),
                "layout": Choice(("nchw", "nhwc")),
                "vectorise": Flag(),
                "threads": IntRange(1, 4),
                "precision": Choice(("float32", "int8")),
            }
        )

    def default(self, network: Network, target: TargetSpec) -> Options:  # noqa: ARG002
        return {
            "kernel": "direct",
            "layout": "nchw",
            "vectorise": True,
            "threads": 2,
            "precision": "float32",
        }

    def reference(self, network: Network, target: TargetSpec) -> Options:
        return {**self.default(network, target), "vectorise": False, "threads": 1}

    def make(
        self,
        network: Network,
        target: TargetSpec,  # noqa: ARG002
        options: Options,
        out: Path,
    ) -> Artefact:
        _fail_building(options)
        outputs = [[spec.name, spec.dtype, list(spec.shape)] for spec in network.outputs]
        document = {"options": options, "outputs": outputs}
        (out / _ENTRY_POINT).write_text(json.dumps(document))
        return Artefact(_ENTRY_POINT, "int8" if options["precision"] == "int8" else "exact")

    def runtime_options(self, options: Options) -> Options:
        return {"threads": options["threads"]}

    def load(self, build: BuildResult, target: TargetSpec) -> Session:  # noqa: ARG002
        if build.directory is None:
            raise InvalidCandidate(f"nothing was built: {build.detail}")
        document = json.loads((build.directory / build.entry_point).read_text())
        outputs = tuple(
            TensorSpec(name, dtype, tuple(shape)) for name, dtype, shape in document["outputs"]
        )
        return FakeSession(document["options"], outputs)


class FaultyBackend(FakeBackend):
    """The fake backend with an option that selects how a candidate fails."""

    name = "faulty"

    def space(self, network: Network, target: TargetSpec) -> Space:
        parameters = super().space(network, target).parameters
        return Space({**parameters, "fault": Choice(FAULTS)})

    def default(self, network: Network, target: TargetSpec) -> Options:
        return {**super().default(network, target), "fault": "none"}


def _with_nan(array: Array) -> Array:
    return np.full_like(array, np.nan) if array.dtype.kind == "f" else array


def _fail_building(options: Options) -> None:
    match options.get("fault"):
        case "invalid":
            raise InvalidCandidate("Conv: this operator is not supported")
        case "memory":
            np.ones(_MORE_MEMORY_THAN_ALLOWED, np.uint8)
        case "build-hang":
            time.sleep(_FOREVER_S)
