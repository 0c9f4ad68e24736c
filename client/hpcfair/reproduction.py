"""Runs a model on its test tensors on this machine.

The rules are those of the hub: outputs must be within the limits of the build's tolerance class, or
within a multiple of the deviation of the runtime's defaults, which must be within those of float16.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Literal

from hpcfair.acceptance import EXACT, Acceptance
from hpcfair.cache import Cache
from hpcfair.errors import RuntimeFailed
from hpcfair.explain import deviation_text
from hpcfair.host import require_runtime
from hpcfair.loaded import Loaded
from hpcfair.loading import fetch, load
from hpcfair.measurement.outputs import OutputComparison, OutputMismatch, violation
from hpcfair.measurement.types import Deviation
from hpcfair.testtensor import Case, cases_of
from hpcfair.transport import Transport
from hpcfair.types import Build

Outcome = Literal["reproduced", "differs", "failed"]

_DEFAULTS_TOLERANCE = "fp16"


@dataclass(frozen=True, slots=True)
class Reproduction:
    """The result of running a model on its test tensors.

    Attributes:
        build: The build; ``None`` for the published model.
        cases: Number of test sets.
        is_made: Whether the hub generated them; otherwise they were published with the model.
        outcome: ``failed`` if the build did not run.
        deviation: From the expected outputs, as in :class:`hpcfair.Build`; empty without outputs.
        detail: The reason for a difference or a failure.
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
            lines.append(f"  deviation  {deviation_text(self.deviation)}")
        rows = {
            "reproduced": "Reproduced: it gives the tests' outputs.",
            "differs": "Not reproduced: its outputs differ.",
            "failed": "Not reproduced: it does not run.",
        }
        lines.append(f"{rows[self.outcome]} {self.detail}".rstrip())
        return "\n".join(lines)


def reproduce(
    http: Transport,
    cache: Cache,
    name: str,
    *,
    revision: str | None = None,
    target: str | None = "auto",
    acceptance: Acceptance = EXACT,
) -> Reproduction:
    """Run a model on its test tensors; see :meth:`hpcfair.Client.reproduce`."""
    require_runtime()
    model_files = fetch(http, cache, name, revision=revision, target=target, acceptance=acceptance)
    with load(http, cache, model_files) as model:
        cases = cases_of(http, cache, model.name, model.revision)
        result = _compare(model, cases, _tolerance_of(model.build))
        build = model.build
    outcome, deviation, detail = result
    if outcome == "differs" and deviation and build is not None and not build.is_baseline:
        # In a badly conditioned network, any other order of sums exceeds the limits.
        plain_files = fetch(http, cache, model.name, revision=model.revision, target=None)
        with load(http, cache, plain_files) as plain:
            defaults, slack, _ = _compare(plain, cases, _DEFAULTS_TOLERANCE)
        if defaults == "reproduced" and violation(build.tolerance, deviation, slack) is None:
            outcome, detail = "reproduced", ""
    return Reproduction(
        model.name,
        model.revision,
        build,
        len(cases),
        cases[0].is_made,
        outcome,
        asdict(deviation) if deviation else {},
        detail,
    )


def _tolerance_of(build: Build | None) -> str:
    return _DEFAULTS_TOLERANCE if build is None or build.is_baseline else build.tolerance


def _compare(
    model: Loaded, cases: Sequence[Case], tolerance: str
) -> tuple[Outcome, Deviation | None, str]:
    """Outcome, deviation over all cases, and reason."""
    comparison = OutputComparison()
    try:
        for case in cases:
            comparison.add(case.outputs, model.run(case.inputs))
    except RuntimeFailed as error:
        return "failed", None, error.detail
    except OutputMismatch as error:
        return "differs", None, f"The outputs cannot be compared: {error}."
    deviation = comparison.deviation()
    if violation(tolerance, deviation) is None:
        return "reproduced", deviation, ""
    return "differs", deviation, f"That is more than {tolerance} allows."
