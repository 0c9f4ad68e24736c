"""One exported network: which configurations of a backend are built, right and faster."""

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

from benchmarks.coverage_exclusions import exclusion_of
from benchmarks.coverage_summary import RIGHT
from benchmarks.networks import backends_for, network_of
from benchmarks.report import say
from hpcfair.isolation.limits import Limits
from workers.backends.normalform import NORMALISER
from workers.backends.tvm.space import FIXED
from workers.engine.clock import SystemClock
from workers.engine.errors import ReferenceFailed
from workers.engine.evaluation import NO_BAR, evaluate
from workers.engine.evaluation_context import EvaluationContext
from workers.engine.local import LocalDevice
from workers.engine.ports import Backend
from workers.engine.requests import SearchBudget, TuningRequest
from workers.engine.space import plain
from workers.engine.strategies import Proposal
from workers.engine.trials import Trial
from workers.engine.types import Candidate, Network, TargetSpec, sha256_of
from workers.fleet.energy import counters_of
from workers.inspection.errors import InspectionError

#: Version of stored results; increased when older ones become unreadable or incomparable.
_RESULTS = 2
_BUILT = "measured"
_NOT_TRIED = "not-tried"
Document = dict[str, Any]


@dataclass(slots=True)
class CoverageSetup:
    """The setup of all networks.

    Attributes:
        seconds: Of one measurement.
        network_s: After this time only defaults are tried.
        build_s: Longest time of one build, or of one run.
        folder: Of results, from which an interrupted run continues.
        is_brief: Whether a precision is left after its first right configuration: says what is
            built and right, not what is faster.
        faults: Backends that cannot work on this machine, with the reason; filled on the way.
    """

    target: TargetSpec
    backends: Mapping[str, Backend]
    reference: str
    seconds: float
    network_s: float
    build_s: float
    folder: Path
    is_brief: bool = False
    faults: dict[str, str] = field(default_factory=dict)

    def path_of(self, slug: str, backend: str) -> Path:
        """Results of a network on a backend; another toolchain has other ones."""
        tools = {n: self.backends[n].probe(self.target) for n in (backend, self.reference)}
        key = sha256_of(
            {
                "results": _RESULTS,
                "target": self.target.slug,
                "cores": self.target.cores,
                "toolchain": tools,
                "limits": [self.seconds, self.network_s, self.build_s],
                **({"brief": True} if self.is_brief else {}),
            }
        )
        return self.folder / f"{slug}.{backend}.{key[:8]}.json"


def cover(slug: str, files: Path, setup: CoverageSetup) -> dict[str, Document]:
    """Results of each backend that takes the formats in ``files``, from an earlier run or now.

    Returns:
        Backend to ``{"excluded": reason, "trials": [...]}`` with one of both empty.
    """
    try:
        network: Network | None = network_of(files)
        problem = ""
    except InspectionError as error:
        network, problem = None, f"inspection refuses the network: {error}"
    stored: dict[str, Document] = {}
    missing = []
    for name in backends_for(network, [n for n in setup.backends if not setup.faults.get(n)]):
        path = setup.path_of(slug, name)
        if path.exists():
            stored[name] = json.loads(path.read_text())
        else:
            missing.append(name)
    if missing:
        made = _refused(missing, problem) if network is None else _tried(network, missing, setup)
        for name, document in made:
            _store(setup.path_of(slug, name), document)
            stored[name] = document
    return {name: stored[name] for name in setup.backends if name in stored}


def precision_of(options: Mapping[str, Any]) -> str:
    """The precision that options ask for."""
    return str(options.get("precision", "float32"))


def candidates_of(backend: Backend, network: Network, target: TargetSpec) -> list[Candidate]:
    """The default, the promising configurations, and the plainest ones of every other precision and
    of fixed sizes."""
    space = backend.space(network, target)
    options = [backend.default(network, target), *space.promising]
    precisions = set(map(precision_of, options))
    if "precision" in space.parameters:
        for value in plain(space.parameters["precision"]).values:
            plainest = space.nearest({"precision": value})
            if value not in precisions and plainest is not None:
                options.append(plainest)
    if "shapes" in space.parameters and (fixed := space.nearest({"shapes": FIXED})) is not None:
        options.append(fixed)
    candidates = [Candidate(backend.name, each) for each in options]
    return list({candidate.sha256: candidate for candidate in candidates}.values())


def _refused(names: Sequence[str], reason: str) -> Iterator[tuple[str, Document]]:
    """Results of a network that nothing can be built of."""
    for name in names:
        refusal = {"precision": "float32", "options": {}, "outcome": "invalid", "detail": reason}
        yield name, {"excluded": "", "trials": [refusal]}


def _tried(
    network: Network, names: Sequence[str], setup: CoverageSetup
) -> Iterator[tuple[str, Document]]:
    ends_at = monotonic() + setup.network_s
    expected = []
    for name in names:
        if reason := exclusion_of(name, network.operators):
            yield name, {"excluded": reason, "trials": []}
        else:
            expected.append(name)
    if not expected:
        return
    try:
        with _context(network, setup) as context:
            for name in expected:
                if fault := _fault(context, name, setup):
                    say(f"{name} is left out: {fault}")
                    continue
                backend = setup.backends[name]
                candidates = candidates_of(backend, network, setup.target)
                trials = _trials(context, candidates, ends_at, is_brief=setup.is_brief)
                yield name, {"excluded": "", "trials": trials}
    except ReferenceFailed as error:
        yield from _refused(expected, f"the reference or the baseline fails: {error}")


@contextmanager
def _context(network: Network, setup: CoverageSetup) -> Iterator[EvaluationContext]:
    request = TuningRequest(
        network,
        setup.target,
        tuple(setup.backends),
        budget=SearchBudget(seconds_per_measurement=setup.seconds),
        limits=Limits(wall_s=setup.build_s),
        reference_backend=setup.reference,
        normaliser=NORMALISER,
    )
    reference = setup.backends[setup.reference]
    with (
        tempfile.TemporaryDirectory(prefix="hpcfair-bench-") as scratch,
        LocalDevice(request, setup.backends, Path(scratch), counters_of(setup.target)) as device,
        EvaluationContext(request, reference, device, SystemClock()) as context,
    ):
        yield context


def _fault(context: EvaluationContext, name: str, setup: CoverageSetup) -> str:
    """Why nothing can be built on this machine; asked once for each backend."""
    device = context.device
    if name not in setup.faults and isinstance(device, LocalDevice):
        setup.faults[name] = device.fault_of(name)
    return setup.faults[name]


def _trials(
    context: EvaluationContext, candidates: Sequence[Candidate], ends_at: float, *, is_brief: bool
) -> list[Document]:
    trials: list[Document] = []
    right: set[str] = set()
    for number, candidate in enumerate(candidates):
        precision = precision_of(candidate.options)
        if is_brief and precision in right:
            continue
        trials.append(_trial(context, number, candidate, ends_at))
        # The baseline is the published file in the runtime, not a build.
        if trials[-1]["outcome"] in RIGHT and candidate != context.baseline:
            right.add(precision)
    return trials


def _trial(
    context: EvaluationContext, number: int, candidate: Candidate, ends_at: float
) -> Document:
    start: Document = {
        "precision": precision_of(candidate.options),
        "options": dict(candidate.options),
    }
    if candidate == context.baseline:
        # Entering the context built and checked it.
        return {**start, "outcome": _BUILT, "is_built": True, "detail": "", "ratio": [1.0] * 3}
    # The default is always tried: a backend that never had its turn would count as no refusal.
    if number and monotonic() > ends_at:
        return {**start, "outcome": _NOT_TRIED, "detail": "the network's time was up"}
    # Nothing is pruned: what matters first is whether it is right.
    trial = evaluate(context, number, Proposal(candidate, "coverage"), lambda _: NO_BAR).trial
    if trial.build is not None:
        context.device.discard(trial.build)
    return start | _described(trial)


def _described(trial: Trial) -> Document:
    build, measured = trial.build, trial.measurement
    return {
        "outcome": trial.outcome,
        "is_built": build is not None and build.outcome == _BUILT,
        # Further lines are the stack of a crash, with paths of this machine.
        "detail": trial.detail.partition("\n")[0],
        "tolerance": trial.tolerance,
        "compile_s": build.compile_s if build else None,
        "duration_s": trial.duration_s,
        "deviation": asdict(trial.deviation) if trial.deviation else None,
        "ratio": [measured.ratio.value, measured.ratio.low, measured.ratio.high]
        if measured and trial.is_believed
        else None,
    }


def _store(path: Path, document: Document) -> None:
    # Written atomically: a run may be interrupted at any moment.
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(document, allow_nan=False))
    draft.rename(path)
