"""The evidence of a group: its code, work, schedule and the roofs of its device."""

from dataclasses import dataclass

from registry.errors import NotFound
from registry.kernels.assembly import InstructionMix, mix_of
from registry.kernels.evidence import Evidence
from registry.kernels.reason import Reason, reasons_of
from registry.kernels.roofline import Roofline, roofline_of
from registry.kernels.tir import KernelLoop, loops_of
from registry.selectors.access import Actor
from registry.selectors.analysis.kernelcode import kernel_text
from registry.selectors.analysis.networkwork import NetworkWork
from registry.selectors.analysis.performance import Group, Performance
from registry.selectors.analysis.roof import Roofs, roofs_for
from registry.selectors.analysis.workloadpeer import best_confirmed
from registry.tables import Kernel, Target

#: Bits of the vectors that a feature of a target brings, widest first.
_VECTORS = (
    ("avx512f", 512), ("avx512_bf16", 512), ("amx_tile", 512), ("avx2", 256), ("avx", 256),
    ("asimd", 128), ("sse4_2", 128),
)  # fmt: skip
#: Grades of links to nodes that no other call computes as well.
_OWN_WORK = frozenset({"exact", "inferred"})
_BITS = {"float64": 64, "float32": 32, "float16": 16, "bfloat16": 16, "int8": 8, "uint8": 8}


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


def evidence_of(
    actor: Actor, performance: Performance, group: Group, work: NetworkWork | None
) -> GroupEvidence:
    """What is known about a group of a build that ``actor`` may read.

    Args:
        work: Operations and bytes of the network's nodes; ``None`` if they are not known.
    """
    site, build = group.site, performance.build
    roofs = roofs_for(build)
    loops = loops_of(_text(site.kernel, "tir"))
    assembly = _text(site.kernel, "asm")
    precision = site.precision or performance.model_precision
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
        roofline=_roofline(group, work, roofs, precision),
        mix=mix_of(assembly) if assembly else None,
        loops=tuple(loops),
        lanes=lanes_of(build.target, precision),
        is_schedulable=bool(group.workload),
        is_scheduled="tuned" in group.marks,
        best_known_ns=best,
    )
    return GroupEvidence(group, evidence, reasons_of(evidence), loops, roofs)


def label_of(group: Group, work: NetworkWork | None) -> str:
    """``Conv + Relu`` by the nodes of a group, else the runtime's name of the operator."""
    return (work.label(group.nodes) if work else "") or group.site.operator


def rate_of(group: Group, work: NetworkWork | None) -> float | None:
    """Operations per second of a group; ``None`` if its work or its time is not known."""
    if work is None or group.grade not in _OWN_WORK or not group.is_plausible:
        return None
    flops, time_ns = work.flops(group.nodes), group.site.median_ns
    return flops / time_ns * 1e9 if flops and time_ns > 0 else None


def lanes_of(target: Target, precision: str) -> int | None:
    """Numbers of a precision in a vector register of a target; ``None`` if that is not known."""
    features, bits = set(target.features), _BITS.get(precision)
    width = next((width for feature, width in _VECTORS if feature in features), None)
    return width // bits if width and bits else None


def _roofline(
    group: Group, work: NetworkWork | None, roofs: Roofs | None, precision: str
) -> Roofline | None:
    if work is None or roofs is None or group.grade not in _OWN_WORK:
        return None
    return roofline_of(
        flops=work.flops(group.nodes),
        traffic=work.traffic(group.nodes, precision),
        time_ns=group.site.median_ns if group.is_plausible else 0,
        peak=roofs.peak(precision),
        bandwidth=roofs.bandwidth,
    )


def _text(kernel: Kernel | None, kind: str) -> str:
    if kernel is None:
        return ""
    try:
        return kernel_text(kernel, kind).text
    except NotFound:
        return ""
