"""A loaded model: runs on arrays and explains the choice of its build."""

import threading
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Self

from hpcfair.cache import Cache
from hpcfair.download import fetch_tree
from hpcfair.errors import MissingPackage
from hpcfair.explain import explain
from hpcfair.formats import ONNX_RUNTIME, opener_of
from hpcfair.measurement.placement import SHORTEST_RUN_NS, CallerPlacement
from hpcfair.paths import safe_join
from hpcfair.precisions import Tolerance
from hpcfair.record import Record, record
from hpcfair.resolution import PlainModelWarning, Resolution, resolve
from hpcfair.runtimes import registry
from hpcfair.runtimes.base import Runtime
from hpcfair.signature import Signature
from hpcfair.transport import Transport
from hpcfair.types import Build


class Loaded:
    """A loaded model. Thread-safe; concurrent calls are serialised.

    Use it as a context manager or call :meth:`close` to release its memory early.

    Attributes:
        name, revision: The model and its revision.
        signature: Inputs and outputs.
        build: The loaded build; ``None`` for the published model.
        path: The file that the runtime opened.
        caller_placed: Whether the calling thread was placed in the last run; see
            :meth:`hpcfair.Client.load`.
    """

    def __init__(
        self,
        resolution: Resolution,
        path: Path,
        runtime: Runtime,
        read_record: Callable[[str], Record],
        *,
        place_caller: bool | None = None,
    ) -> None:
        self.name = resolution.name
        self.revision = resolution.revision
        self.signature: Signature = resolution.signature
        self.build: Build | None = resolution.build
        self.path = path
        self.caller_placed = False
        self._resolution = resolution
        self._runtime = runtime
        self._read_record = read_record
        self._placement = (
            None
            if place_caller is False
            else CallerPlacement(runtime, SHORTEST_RUN_NS, only_unrestricted=place_caller is None)
        )
        self._turn = threading.Lock()

    # A union type would force every typed caller to narrow it, although the signature decides.
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the model once.

        Inputs are passed in the order of the signature, by name, or as one mapping by name.

        Returns:
            The array if the model has one output, else a dictionary by output name in the order of
            the signature.

        Raises:
            BadInput: a name, type or shape does not match the signature.
            RuntimeFailed: the runtime failed on these inputs.
        """
        inputs = self.signature.bind(args, kwargs)
        with self._turn:
            with self._placement or nullcontext():
                outputs = self._runtime.run(inputs)
            self.caller_placed = self._placement is not None and self._placement.is_active
        return next(iter(outputs.values())) if len(outputs) == 1 else outputs

    @property
    def record(self) -> Record | None:
        """The benchmark record of the build, from the cache or the hub."""
        record_id = self._resolution.record_id
        return self._read_record(record_id) if record_id else None

    def explain(self) -> str:
        """The chosen build, the reason, the alternatives, and the measurements."""
        return explain(self._resolution, self.path)

    def close(self) -> None:
        """Release threads and memory."""
        with self._turn:
            self._runtime.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        what = f"{self.build.backend} build" if self.build else "plain model"
        return f"<{self.name} {self.signature}: {what}>"


def load(
    http: Transport,
    cache: Cache,
    name: str,
    *,
    revision: str | None = None,
    target: str | None = "auto",
    tolerance: Tolerance = "exact",
    verify: bool = False,
    place_caller: bool | None = None,
) -> Loaded:
    """Load the best build for this machine; see :meth:`hpcfair.Client.load`."""
    if not registry.installed():
        raise MissingPackage(
            "No runtime is installed.", registry.RUNTIMES[ONNX_RUNTIME.runtime].hint
        )
    resolution = resolve(http, cache, name, revision=revision, target=target, tolerance=tolerance)
    build = resolution.build
    if build is None and target is not None:
        warnings.warn(
            f"{name}: no build suits this machine, the plain model is used. {resolution.reason}",
            PlainModelWarning,
            stacklevel=4,
        )
    folder = fetch_tree(http, cache, resolution.files, what=name, verify=verify)
    path = safe_join(folder, resolution.entry_point)
    opener = opener_of(path)
    runtime = registry.open(
        build.runtime if build else opener.runtime,
        path,
        build.runtime_options if build else opener.default,
    )
    return Loaded(
        resolution,
        path,
        runtime,
        lambda digest: record(http, cache, digest),
        place_caller=place_caller,
    )
