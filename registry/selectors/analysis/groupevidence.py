"""The evidence of a group: its code, work, schedule and the roofs of its device."""

from dataclasses import dataclass

from registry.errors import NotFound
from registry.kernels.assembly import InstructionMix, mix_of
from registry.kernels.dtypes import bits_of
from registry.kernels.evidence import Evidence
from registry.kernels.networkwork import executed_precision
from registry.kernels.reason import Reason, reasons_of
from registry.kernels.roofline import Roofline
from registry.kernels.tir import KernelLoop, loops_of
from registry.selectors.access import Actor
from registry.selectors.analysis.kernelcode import kernel_text
from registry.selectors.analysis.performance import Group, Performance
from registry.selectors.analysis.roof import Roofs, roofs_for
from registry.selectors.analysis.roofline import roofline_in
from registry.selectors.analysis.workloadpeer import best_confirmed
from registry.tables import Kernel, Target

#: Bits of the vectors that a feature of a target brings, widest first.
_VECTORS = (
    ("avx512f", 512), ("avx512_bf16", 512), ("amx_tile", 512), ("avx2", 256), ("avx", 256),
    ("asimd", 128), ("sse4_2", 128),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class GroupEvidence:
    """Evidence of a group with the reasons that follow from it.

    Attributes:
        loops: Of its loop nest; empty if its kernel has none.
        roofs: Of the device that measured the build; ``None`` if they were not measured.
    """

    group: Group
    evidence: Evidence
    reasons: list[Reason]
    loops: list[KernelLoop]
    roofs: Roofs | None

    @property
    def mix(self) -> InstructionMix | None:
        return self.evidence.mix

    @property
    def roofline(self) -> Roofline | None:
        return self.evidence.roofline


def evidence_of(actor: Actor, performance: Performance, group: Group) -> GroupEvidence:
    """What is known about a group of a build that ``actor`` may read."""
    site, build = group.site, performance.build
    roofs = roofs_for(build)
    loops = loops_of(_text(site.kernel, "tir"))
    assembly = _text(site.kernel, "asm")
    precision, _ = executed_precision(site.precision, performance.model_precision)
    best = best_confirmed(actor, group.workload, build.target) if group.workload else None
    evidence = Evidence(
        time_ns=site.median_ns if group.is_plausible else 0,
        spread_ns=site.mad_ns,
        run_ns=performance.whole_ns,
        between_ns=performance.between_ns,
        operator=site.operator,
        implementation=site.implementation,
        precision=site.precision,
        model_precision=performance.model_precision,
        roofline=roofline_in(group, roofs),
        mix=mix_of(assembly) if assembly else None,
        loops=tuple(loops),
        lanes=lanes_of(build.target, precision),
        is_schedulable=bool(group.workload),
        is_scheduled="tuned" in group.marks,
        best_known_ns=best,
    )
    return GroupEvidence(group, evidence, reasons_of(evidence), loops, roofs)


def lanes_of(target: Target, precision: str) -> int | None:
    """Numbers of a precision in a vector register of a target; ``None`` if that is not known."""
    features, bits = set(target.features), bits_of(precision)
    width = next((width for feature, width in _VECTORS if feature in features), None)
    return width // bits if width and bits else None


def _text(kernel: Kernel | None, kind: str) -> str:
    if kernel is None:
        return ""
    try:
        return kernel_text(kernel, kind).text
    except NotFound:
        return ""
