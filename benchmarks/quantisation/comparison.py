"""Builds of a tool against ours: the same check of outputs, then interleaved rounds."""

from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.calm import wait
from benchmarks.quantisation.tools import TOOLS, ToolBuild
from benchmarks.report import say
from benchmarks.served_figures import Accepted
from hpcfair.precisions import PRECISION_OF
from workers.engine.confirmation import CONFIRMATION_ROUNDS
from workers.engine.errors import CandidateFailed, WrongOutput
from workers.engine.evaluation_context import EvaluationContext
from workers.engine.measure import measure_into
from workers.engine.numerics import check
from workers.engine.ports import RunningSession
from workers.engine.rounds import Rounds, StopRule
from workers.engine.trials import Measurement
from workers.engine.types import BuildResult, Options, TargetSpec

#: Of the brief measurement that finds a tool's fastest build, and of each process of the last one.
_BRIEF = StopRule(0.02, 1.0, rounds=3)
_LAST = StopRule(0.01, 4.0, rounds=CONFIRMATION_ROUNDS)
#: The name of the runtime's defaults on the published file.
DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class CheckedBuild:
    """A build that runs.

    Attributes:
        name: Unique among the builds of a network.
        backend: The one that opens it.
        relative_l2: On the test samples, against the unoptimised float32 reference.
        accuracy: On labelled samples, 0 to 1.
        ratio: Latency over that of the runtime's defaults, in a brief measurement.
    """

    name: str
    backend: str
    build: BuildResult
    relative_l2: float
    accuracy: float | None
    ratio: float

    def as_dict(self) -> dict[str, Any]:
        """As JSON, without the build's folder."""
        return {
            "name": self.name,
            "options": dict(self.build.runtime_options),
            "relative_l2": self.relative_l2,
            "accuracy": self.accuracy,
            "ratio": self.ratio,
        }


class Comparison:
    """Checks and measures builds of one network; ``context`` is open.

    Args:
        processes: Fresh ones of each side of a measurement.
    """

    def __init__(self, context: EvaluationContext, processes: int) -> None:
        self._context = context
        self._processes = processes
        # Only samples: NaN and other sizes concern users of the hub, and no tool promises them.
        self._tests = replace(context.tests, extras=(), planted=())
        self._reference = context.reference[: len(self._tests.cases)]

    def default(self) -> CheckedBuild:
        """The runtime's defaults on the published file."""
        candidate, build = self._context.baseline, self._context.baseline_build
        return replace(self.checked(DEFAULT, candidate.backend, build), ratio=1.0)

    def checked(self, name: str, backend: str, build: BuildResult) -> CheckedBuild:
        """Check and briefly measure a build. Raises CandidateFailed or WrongOutput if it does not
        run."""
        context, rounds = self._context, Rounds()
        with closing(self._open(backend, build)) as session:
            outputs = check(session, self._tests, self._reference)
            measure_into(rounds, context.baseline_session(), session, _BRIEF, context.clock)
        error, ratio = outputs.deviation.relative_l2, rounds.ratio().value
        return CheckedBuild(name, backend, build, error, outputs.accuracy, ratio)

    def checked_builds(self, build: ToolBuild) -> list[CheckedBuild]:
        """A tool's build with each of the :func:`settings_of` its runtime, where it runs."""
        runtime, builds = TOOLS[build.tool].runtime, []
        for options in (
            settings_of(runtime, self._context.request.target) if build.entry_point else ()
        ):
            name = " ".join((build.tool, build.way, *map(str, options.values())))
            try:
                builds.append(self.checked(name, runtime, build.opened(options)))
            except (CandidateFailed, WrongOutput) as error:
                say(f"{name} does not run: {error}")
        return builds

    def measure(self, ours: CheckedBuild, theirs: CheckedBuild) -> Measurement:
        """The latency of ``theirs`` over that of ``ours``, in fresh processes. Raises
        CandidateFailed or BaselineFailed if one does not run again."""
        rounds = Rounds()
        self._context.close()
        wait()
        for number in range(self._processes):
            with (
                closing(self._open(ours.backend, ours.build)) as first,
                closing(self._open(theirs.backend, theirs.build)) as second,
            ):
                measure_into(rounds, first, second, _LAST, self._context.clock, process=number)
        return rounds.measurement(_LAST)

    def _open(self, backend: str, build: BuildResult) -> RunningSession:
        return self._context.device.open(backend, build, "candidate", self._tests.timing)


def settings_of(runtime: str, target: TargetSpec) -> tuple[Options, ...]:
    """The settings in which a user may run a tool's build: the runtime's defaults, and float32 for
    what is not quantised where these compute it in bfloat16. OpenVINO gets static shapes, as its
    documentation advises."""
    if runtime != "openvino":
        return ({"default": True},)
    is_bf16 = PRECISION_OF["bf16"].features & target.features
    precisions = ("bfloat16", "float32") if is_bf16 else ("float32",)
    return tuple({"precision": each, "shapes": "static"} for each in precisions)


def fastest(
    builds: Iterable[CheckedBuild],
    default: CheckedBuild,
    accepted: Accepted,
    reference_accuracy: float | None,
) -> CheckedBuild:
    """The fastest of the builds that a user accepts; ``default`` if none is faster than that."""
    fitting = [each for each in builds if is_accepted(each, accepted, reference_accuracy)]
    return min([default, *fitting], key=lambda each: each.ratio)


def is_accepted(build: CheckedBuild, accepted: Accepted, reference_accuracy: float | None) -> bool:
    """Whether a build keeps to the error, or to the loss of accuracy where that is limited."""
    if accepted.points_lost is not None:
        if build.accuracy is None or reference_accuracy is None:
            return False
        return build.accuracy >= reference_accuracy - accepted.points_lost / 100
    assert isinstance(accepted.tolerance, float)
    return build.relative_l2 <= accepted.tolerance


def names_of(builds: Sequence[CheckedBuild]) -> str:
    """One line about builds, for people."""
    return ", ".join(f"{each.name} {1 / each.ratio:.2f}x {each.relative_l2:.2%}" for each in builds)
