"""The normal form of a network: the ONNX file that builds are made from, in place of the published
one.

Exporters write equal networks in different ways. A normaliser, which runs in a child process,
writes the network once in the way that every backend reads, and checks it against the published
file. Without a normal form, builds are made from the published file; provenance gives the reason.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

from hpcfair.isolation.limits import Limits
from workers.engine.child import Child
from workers.engine.errors import CandidateFailed
from workers.engine.handover import check_files, protocol_error
from workers.engine.ports import Backend
from workers.engine.requests import TuningRequest
from workers.engine.types import BuildResult, Network, Options, canonical_json

#: A few steps with a sentence each.
_LONGEST_DESCRIPTION = 2**16
_LONGEST_REASON, _LONGEST_NOTE = 400, 500
#: Entry of a build's provenance.
PROVENANCE = "normal_form"


@dataclass(frozen=True, slots=True)
class NormalForm:
    """The result of a normaliser.

    Attributes:
        path: The file; ``None`` if builds are made from the published file.
        steps: Steps that changed the network, in order; empty if it was in normal form already.
        skipped: Step to the reason why it was left out.
        toolchain: Package name to version, of all that the normaliser uses.
        reason: Why there is no normal form; empty if there is one or none was needed.
    """

    path: Path | None = None
    steps: tuple[str, ...] = ()
    skipped: dict[str, str] = field(default_factory=dict)
    toolchain: dict[str, str] = field(default_factory=dict)
    reason: str = ""

    @property
    def note(self) -> str:
        """A sentence for the job's log on what could not be done; empty if nothing."""
        if self.reason:
            return f"Builds are made from the published file: {self.reason}"
        parts = (f"{step} ({reason})" for step, reason in self.skipped.items())
        note = f"Left out of the normal form: {', '.join(parts)}" if self.skipped else ""
        return note[:_LONGEST_NOTE]

    def recorded_in(self, build: BuildResult) -> BuildResult:
        """A build that was made from this normal form, with provenance."""
        if self.reason:
            facts: dict[str, Any] = {"reason": self.reason}
        else:
            facts = {"steps": list(self.steps), "skipped": dict(self.skipped)}
        toolchain = self.toolchain | build.toolchain if self.path else build.toolchain
        provenance = build.provenance | {PROVENANCE: facts}
        return replace(build, toolchain=toolchain, provenance=provenance)


class SharedNormalForm:
    """The normal form that the builds of a device share. It is made when the first one reads it.

    Attributes:
        result: ``None`` before that.
    """

    def __init__(
        self,
        request: TuningRequest,
        backends: Mapping[str, Backend],
        start: Callable[[], tuple[Child, Path]],
    ) -> None:
        """``start`` starts the child and makes the folder of the normal form."""
        self._request = request
        self._network = request.network
        self._backends = backends
        self._start = start
        self.result: NormalForm | None = None

    def read_by(self, backend: str, options: Options) -> Network:
        """The network as a build reads it. Raises CandidateFailed for failures of the machine."""
        if not self._backends[backend].reads_normal_form(options):
            return self._network
        return self.read()

    def read(self) -> Network:
        """The network with its normal form, which is made now if it is not. Raises CandidateFailed
        for failures of the machine."""
        normaliser = self._request.normaliser
        if normaliser is None:
            return self._network
        if self.result is None:
            child, out = self._start()
            with child:
                limits = self._request.limits
                self.result = make_normal_form(normaliser, self._network, child, out, limits)
        return replace(self._network, normal_path=self.result.path)

    def recorded_in(self, build: BuildResult, backend: str, options: Options) -> BuildResult:
        """A build with the provenance of what it was made from."""
        if self.result is None or not self._backends[backend].reads_normal_form(options):
            return build
        return self.result.recorded_in(build)

    def read_for(self, build: BuildResult) -> Network:
        """The network as a build has read it."""
        if self.result is None or PROVENANCE not in build.provenance:
            return self._network
        return replace(self._network, normal_path=self.result.path)


def read_paths(network: Network) -> list[Path]:
    """Folders and files of a network that its children may read."""
    shared = network.shared
    existing = shared.existing if shared and shared.existing.exists() else None
    paths = (network.model_path.parent, network.source_path.parent, network.samples_path, existing)
    return list(dict.fromkeys(path for path in paths if path is not None))


def make_normal_form(
    normaliser: str, network: Network, child: Child, out: Path, limits: Limits
) -> NormalForm:
    """Make the normal form of a network in a child, which may write to the empty folder ``out``.

    ``normaliser`` takes ``network`` and ``out`` as keywords, and returns the fields of
    :class:`NormalForm`, with ``path`` relative to ``out`` or empty. Raises CandidateFailed for
    failures of the machine.
    """
    try:
        described = child.call(normaliser, network=network, out=out)
        check_files(out, limits)
        return _received(described, out)
    except CandidateFailed as failure:
        if failure.outcome == "infrastructure":
            raise
        return NormalForm(reason=f"{failure.outcome}: {failure}"[:_LONGEST_REASON])


def _received(described: Any, out: Path) -> NormalForm:
    """The normal form that a child describes, which worked on an untrusted file. Raises
    CandidateFailed for an invalid description."""
    try:
        if len(canonical_json(described)) > _LONGEST_DESCRIPTION:
            raise protocol_error("the description is too long")
        name = PurePosixPath(described["path"])
        path = out / name if described["path"] else None
        if path is not None and (".." in name.parts or name.is_absolute() or not path.is_file()):
            raise protocol_error("a file outside of its folder")
        return NormalForm(
            path=path,
            steps=tuple(map(str, described["steps"])),
            skipped={str(step): str(why) for step, why in described["skipped"].items()},
            toolchain={str(name): str(v) for name, v in described["toolchain"].items()},
        )
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise protocol_error(error) from error
