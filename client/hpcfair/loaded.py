"""A loaded model: runs on arrays and explains the choice of its build."""

import re
import threading
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from hpcfair.acceptance import EXACT, Acceptance
from hpcfair.cache import Cache
from hpcfair.download import fetch_tree
from hpcfair.errors import MissingPackage, Untrusted
from hpcfair.explain import explain
from hpcfair.formats import ONNX_RUNTIME, opener_of
from hpcfair.measurement.placement import SHORTEST_RUN_NS, CallerPlacement
from hpcfair.paths import safe_join
from hpcfair.record import Record, record
from hpcfair.resolution import PlainModelWarning, Resolution, resolve
from hpcfair.runtimes import registry
from hpcfair.runtimes.base import Array, Runtime
from hpcfair.signature import Signature
from hpcfair.transport import Transport
from hpcfair.trust import check as trust
from hpcfair.types import Build

_COMMIT = re.compile(r"[0-9a-f]{40}")


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
        signed_by: Signature of the hub; ``None`` if there is none.
    """

    def __init__(
        self,
        resolution: Resolution,
        path: Path,
        runtime: Runtime,
        read_record: Callable[[str], Record],
        *,
        place_caller: bool | None = None,
        signed_by: trust.ValidSignature | None = None,
    ) -> None:
        self.name = resolution.name
        self.revision = resolution.revision
        self.signature: Signature = resolution.signature
        self.build: Build | None = resolution.build
        self.path = path
        self.caller_placed = False
        self.signed_by = signed_by
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
        """Run the model once, as :meth:`run`.

        Returns:
            The array itself if the signature has one output, else the dictionary of :meth:`run`.
        """
        outputs = self.run(*args, **kwargs)
        return next(iter(outputs.values())) if len(outputs) == 1 else outputs

    def run(self, *args: Any, **kwargs: Any) -> dict[str, Array]:
        """Run the model once and return all its outputs by name, also a single one.

        Inputs are passed in the order of the signature, by name, or as one mapping by name. Lists
        and numbers are converted; arrays of a narrower type are widened without loss.

        Returns:
            Arrays by output name. Names, order and element types are those of the signature,
            whichever build was loaded.

        Raises:
            BadInput: a name, type or shape does not match the signature.
            RuntimeFailed: the runtime failed on these inputs.
        """
        inputs = self.signature.bind(args, kwargs)
        with self._turn:
            with self._placement or nullcontext():
                outputs = self._runtime.run(inputs)
            self.caller_placed = self._placement is not None and self._placement.is_active
        return self.signature.arrange(outputs)

    @property
    def record(self) -> Record | None:
        """The benchmark record of the build, from the cache or the hub."""
        record_id = self._resolution.record_id
        return self._read_record(record_id) if record_id else None

    @property
    def resolution(self) -> Resolution:
        """The hub's answer: the choice, its reason, the alternatives."""
        return self._resolution

    def explain(self) -> str:
        """The chosen build, the reason, the alternatives, and the measurements."""
        return explain(
            self._resolution,
            self.path,
            signature=str(self.signed_by or ""),
            isolation=self.isolation or "",
        )

    @property
    def isolation(self) -> str | None:
        """How the process of an isolated model is confined; ``None`` if it runs in this process."""
        level: str | None = getattr(self._runtime, "isolation", None)
        return level

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


@dataclass(frozen=True, slots=True)
class Guard:
    """Protection against what is loaded: see the arguments of :meth:`hpcfair.Client.load`."""

    verify: bool = False
    signed: bool | None = None
    isolated: bool = False


def load(
    http: Transport,
    cache: Cache,
    name: str,
    *,
    revision: str | None = None,
    target: str | None = "auto",
    acceptance: Acceptance = EXACT,
    guard: Guard = Guard(),
    place_caller: bool | None = None,
) -> Loaded:
    """Load the best build for this machine; see :meth:`hpcfair.Client.load`."""
    if not registry.installed():
        raise MissingPackage(
            "No runtime is installed.", registry.RUNTIMES[ONNX_RUNTIME.runtime].hint
        )
    resolution = resolve(http, cache, name, revision=revision, target=target, acceptance=acceptance)
    build = resolution.build
    if build is None and target is not None:
        warnings.warn(
            f"{name}: no build suits this machine, the plain model is used. {resolution.reason}",
            PlainModelWarning,
            stacklevel=4,
        )
    required = http.config.signed if guard.signed is None else guard.signed
    _check_revision(resolution, revision)
    signature = _signature(http, cache, resolution, required=required)
    # A required signature is worth no more than the digests of the files that are opened.
    folder = fetch_tree(http, cache, resolution.files, what=name, verify=guard.verify or required)
    path = safe_join(folder, resolution.entry_point)
    opener = opener_of(path)
    opened = registry.open_isolated if guard.isolated else registry.open
    runtime = opened(
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
        signed_by=signature,
    )


def _check_revision(resolution: Resolution, revision: str | None) -> None:
    """Refuse another revision than the commit that was asked for."""
    if revision and _COMMIT.fullmatch(revision) and resolution.revision != revision:
        raise Untrusted(
            f"The hub offers revision {resolution.revision[:12]} for {revision[:12]}.",
            "Report this to the hub's operators.",
            code="revision_differs",
        )


def _signature(
    http: Transport, cache: Cache, resolution: Resolution, *, required: bool
) -> trust.ValidSignature | None:
    if resolution.build is None:
        if not required:
            return None
        return trust.check_model(
            http, cache, resolution.name, resolution.revision, resolution.files
        )
    claim = trust.OfferedBuild(
        name=resolution.name,
        revision=resolution.revision,
        build=resolution.build,
        files=resolution.files,
        entry_point=resolution.entry_point,
        record_id=resolution.record_id,
    )
    return trust.check_build(http, claim, resolution.attestation, required=required)
