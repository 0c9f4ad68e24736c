"""A model, loaded: arrays in, arrays out, and an account of why it is this build."""

import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from hpcfair.cache import Cache
from hpcfair.download import fetch_tree
from hpcfair.errors import MissingPackage
from hpcfair.explain import explain
from hpcfair.formats import ONNX_RUNTIME, opener_of
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
    """A model that runs. Threads may share it; calls then take turns.

    Use it as a context manager, or :meth:`close` it, to give its memory back early.

    Attributes:
        name, revision: What was loaded.
        signature: What goes in and comes out.
        build: The build that runs; ``None`` for the plain model.
        path: The file the runtime opened.
    """

    def __init__(
        self,
        resolution: Resolution,
        path: Path,
        runtime: Runtime,
        read_record: Callable[[str], Record],
    ) -> None:
        self.name = resolution.name
        self.revision = resolution.revision
        self.signature: Signature = resolution.signature
        self.build: Build | None = resolution.build
        self.path = path
        self._resolution = resolution
        self._runtime = runtime
        self._read_record = read_record
        self._turn = threading.Lock()

    # A union would make every typed caller narrow what the signature has told already.
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run once.

        Inputs are given in the signature's order, by name, or as one mapping by name.

        Returns:
            The array, if the model has one output; else a dictionary by output name, in the
            signature's order.

        Raises:
            BadInput: a name, type or shape does not fit the signature.
            RuntimeFailed: the runtime broke on these inputs.
        """
        inputs = self.signature.bind(args, kwargs)
        with self._turn:
            outputs = self._runtime.run(inputs)
        return next(iter(outputs.values())) if len(outputs) == 1 else outputs

    @property
    def record(self) -> Record | None:
        """The measurement behind the build, from the cache or the hub."""
        record_id = self._resolution.record_id
        return self._read_record(record_id) if record_id else None

    def explain(self) -> str:
        """What was chosen, why, what else there was, and the numbers behind it."""
        return explain(self._resolution, self.path)

    def close(self) -> None:
        """Give back threads and memory."""
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
    return Loaded(resolution, path, runtime, lambda digest: record(http, cache, digest))
