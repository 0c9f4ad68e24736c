"""Does a model do here what its test tensors say? Reuse, proven on this machine.

The hub judges its builds by the same rules: within the limits of the build's tolerance class, or
within a few of the deviations of the runtime's own defaults; and those as float16 would be.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from hpcfair.bench.outputs import deviation, within
from hpcfair.cache import Cache
from hpcfair.errors import RuntimeFailed
from hpcfair.loaded import Loaded, load
from hpcfair.resolution import Tolerance
from hpcfair.runtimes.base import Array
from hpcfair.testtensor import Case, cases_of
from hpcfair.transport import Transport
from hpcfair.types import Build

Outcome = Literal["reproduced", "differs", "failed"]

_DEFAULTS_TOLERANCE = "fp16"
_NO_SLACK = {"max_relative": 0.0, "relative_l2": 0.0}


@dataclass(frozen=True, slots=True)
class Reproduction:
    """What came of running a model on its test tensors.

    Attributes:
        build: That ran; ``None`` for the plain model.
        cases: Number of test sets.
        is_made: The hub made them; else they were published with the model.
        outcome: ``failed`` says that it did not run at all.
        deviation: From the tests' outputs, as of :class:`hpcfair.Build`; empty if none came.
        detail: Why it differs or did not run.
    """

    name: str
    revision: str
    build: Build | None
    cases: int
    is_made: bool
    outcome: Outcome
    deviation: dict[str, float] = field(default_factory=dict)
    detail: str = ""

    @property
    def reproduced(self) -> bool:
        return self.outcome == "reproduced"

    def __str__(self) -> str:
        made = "made by the hub" if self.is_made else "published with it"
        ran = "the plain model"
        if self.build is not None:
            ran = f"{self.build.backend}, {self.build.tolerance}, for {self.build.target}"
        lines = [
            f"{self.name} at {self.revision[:12]}",
            f"  tests      {self.cases}, {made}",
            f"  ran        {ran}",
        ]
        if self.deviation:
            figures = (f"{name} {self.deviation[name]:.2g}" for name in _NO_SLACK)
            lines.append(f"  deviation  {', '.join(figures)}")
        said = {
            "reproduced": "Reproduced: it gives the tests' outputs.",
            "differs": "Not reproduced: its outputs differ.",
            "failed": "Not reproduced: it does not run.",
        }
        lines.append(f"{said[self.outcome]} {self.detail}".rstrip())
        return "\n".join(lines)


def reproduce(
    http: Transport,
    cache: Cache,
    name: str,
    *,
    revision: str | None = None,
    target: str | None = "auto",
    tolerance: Tolerance = "exact",
) -> Reproduction:
    """Run a model on its test tensors; see :meth:`hpcfair.Client.reproduce`."""
    with load(http, cache, name, revision=revision, target=target, tolerance=tolerance) as model:
        cases = cases_of(http, cache, model.name, model.revision)
        found = _judged(model, cases, _tolerance_of(model.build), _NO_SLACK)
        build = model.build
    if found[0] == "differs" and found[1] and build is not None and not build.is_baseline:
        # The network may be one on which any other order of sums tells.
        with load(http, cache, model.name, revision=model.revision, target=None) as plain:
            outcome, slack, _ = _judged(plain, cases, _DEFAULTS_TOLERANCE, _NO_SLACK)
        if outcome == "reproduced" and within(build.tolerance, found[1], slack):
            found = ("reproduced", found[1], "")
    return Reproduction(model.name, model.revision, build, len(cases), cases[0].is_made, *found)


def _tolerance_of(build: Build | None) -> str:
    """The class whose limits count for a build, or for the plain model under the defaults."""
    return _DEFAULTS_TOLERANCE if build is None or build.is_baseline else build.tolerance


def _judged(
    model: Loaded, cases: Sequence[Case], tolerance: str, slack: Mapping[str, float]
) -> tuple[Outcome, dict[str, float], str]:
    """Outcome, deviation and reason."""
    try:
        given = [_run(model, case) for case in cases]
    except RuntimeFailed as error:
        return "failed", {}, error.detail
    for case, outputs in zip(cases, given, strict=True):
        if misfit := _misfit(case, outputs):
            return "differs", {}, misfit
    try:
        found = deviation(_joined([case.outputs for case in cases]), _joined(given))
    except RuntimeFailed as error:
        return "differs", {}, error.detail
    if within(tolerance, found, slack):
        return "reproduced", found, ""
    return "differs", found, f"That is more than {tolerance} allows."


def _run(model: Loaded, case: Case) -> dict[str, Array]:
    result = model(case.inputs)
    if isinstance(result, dict):
        return result
    return {model.signature.outputs[0].name: result}


def _misfit(case: Case, outputs: Mapping[str, Array]) -> str:
    """What keeps outputs from being compared with a case's; empty if nothing does."""
    for name, wanted in case.outputs.items():
        if name not in outputs:
            return f"Output {name!r} is missing."
        if outputs[name].shape != wanted.shape:
            return f"Output {name!r} has shape {outputs[name].shape}, not {wanted.shape}."
    return ""


def _joined(sides: Sequence[Mapping[str, Array]]) -> dict[str, Array]:
    """Each output of all cases as one row of numbers: figures are over all of them together."""
    return {name: np.concatenate([side[name].ravel() for side in sides]) for name in sides[0]}
