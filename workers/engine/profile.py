"""The profile of a build: its call sites, their kernels, and the graph nodes that they compute.

A call site is one operator as the runtime executes it; a kernel is its machine code, which several
call sites may share. Unknown values are ``None`` or left out. Each link from a call site to a node
of the ONNX graph carries its grade of evidence.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

#: ``exact``: stated by the runtime or proven. ``inferred``: from the neighbourhood in the graph.
#: ``shared``: work for several nodes, such as a layout change.
Grade = Literal["exact", "inferred", "shared"]


@dataclass(frozen=True, slots=True)
class NodeLink:
    """A node of the published ONNX graph: its position in ``graph.node``."""

    index: int
    grade: Grade


@dataclass(frozen=True, slots=True)
class Kernel:
    """Low-level code that call sites run.

    Attributes:
        symbol: Name within the build.
        workload: Key of the operator workload, equal across models; ``None`` if the compiler has
            none.
        code: Kind (``tir``, ``asm``, ``llvm``, ``cuda``, ``ptx``, ``c++``) to a file's path within
            the profile's folder.
        schedule: Trace of its schedule decisions, in the compiler's JSON format.
    """

    symbol: str
    workload: str | None = None
    code: dict[str, str] = field(default_factory=dict)
    schedule: Any = None


@dataclass(frozen=True, slots=True)
class CallSite:
    """One executed operator, in order of execution.

    Attributes:
        operator: Type in the runtime's terms.
        kernel: Symbol of its kernel; ``None`` if the runtime does not name one.
        median_ns: Of ``runs`` runs under the profiler; ``mad_ns`` is the median absolute deviation.
        precision: Of the computation (``float32``, ``bfloat16``, ``int8``, ...).
        layout: Of its output (``NCHW``, ``nChw16c``, ...).
        implementation: The runtime's name of the implementation, such as ``jit_avx512_f32``.
    """

    name: str
    operator: str
    median_ns: int
    mad_ns: int
    runs: int
    kernel: str | None = None
    precision: str | None = None
    layout: str | None = None
    implementation: str | None = None
    nodes: tuple[NodeLink, ...] = ()


@dataclass(frozen=True, slots=True)
class Profile:
    """A build's call sites and kernels.

    Attributes:
        method: The profiler, with its version.
        total_ns: Median of a whole run under the profiler, including gaps between call sites.
        folded: Nodes that were computed at build time.
    """

    method: str
    total_ns: int
    call_sites: tuple[CallSite, ...]
    kernels: tuple[Kernel, ...] = ()
    folded: tuple[int, ...] = ()

    @property
    def precisions(self) -> dict[str, int]:
        """Precision to the number of call sites that computed in it, as far as known."""
        counts: dict[str, int] = {}
        for site in self.call_sites:
            if site.precision:
                counts[site.precision] = counts.get(site.precision, 0) + 1
        return counts


def profile_to_dict(profile: Profile) -> dict[str, Any]:
    """As JSON; :func:`profile_from_dict` reads it."""
    return asdict(profile)


def profile_from_dict(document: Mapping[str, Any]) -> Profile:
    """Inverse of :func:`profile_to_dict`; raises KeyError, TypeError or ValueError if invalid."""
    sites = [
        CallSite(**{**site, "nodes": tuple(NodeLink(**link) for link in site["nodes"])})
        for site in document["call_sites"]
    ]
    return Profile(
        method=document["method"],
        total_ns=document["total_ns"],
        call_sites=tuple(sites),
        kernels=tuple(Kernel(**kernel) for kernel in document["kernels"]),
        folded=tuple(document["folded"]),
    )
