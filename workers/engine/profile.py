"""Where a build's time goes: its kernels, when each is called, and for which nodes of the graph.

A call site is one operator as the runtime executes it; a kernel is its machine code, which several
call sites may share. What cannot be known is ``None`` or left out, never guessed silently: each
link from a call site to a node of the ONNX graph carries how it was found.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

#: ``exact``: the runtime or a proof says so. ``inferred``: by neighbourhood in the graph.
#: ``shared``: work for several nodes that no single one owns, such as a layout change.
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
        symbol: Its name within the build.
        workload: Key of the operator workload, equal across models; ``None`` where the compiler
            has none.
        code: Kind (``tir``, ``asm``, ``llvm``, ``cuda``, ``ptx``, ``c++``) to a file's path within
            the profile's folder.
        schedule: Trace of schedule decisions that made it, as the compiler writes it as JSON.
    """

    symbol: str
    workload: str | None = None
    code: dict[str, str] = field(default_factory=dict)
    schedule: Any = None


@dataclass(frozen=True, slots=True)
class CallSite:
    """One executed operator, in order of execution.

    Attributes:
        operator: Its type in the runtime's words.
        kernel: Symbol of its kernel; ``None`` where the runtime does not name one.
        median_ns: Of ``runs`` runs under the profiler; ``mad_ns`` is the median absolute deviation.
        precision: What it really computed in (``float32``, ``bfloat16``, ``int8``, ...).
        layout: Of its output (``NCHW``, ``nChw16c``, ...).
        implementation: The runtime's name of how it computes, such as ``jit_avx512_f32``.
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
        method: How times were taken, with the profiler's version.
        total_ns: Median of a whole run under the profiler, gaps between call sites included.
        folded: Nodes computed when the build was made; they cost nothing at run time.
    """

    method: str
    total_ns: int
    call_sites: tuple[CallSite, ...]
    kernels: tuple[Kernel, ...] = ()
    folded: tuple[int, ...] = ()

    @property
    def precisions(self) -> dict[str, int]:
        """Precision that really ran to its number of call sites, where the runtime tells."""
        found: dict[str, int] = {}
        for site in self.call_sites:
            if site.precision:
                found[site.precision] = found.get(site.precision, 0) + 1
        return found


def profile_to_dict(profile: Profile) -> dict[str, Any]:
    """As JSON; :func:`profile_from_dict` reads it."""
    return asdict(profile)


def profile_from_dict(document: Mapping[str, Any]) -> Profile:
    """Read what :func:`profile_to_dict` wrote.

    Raises:
        KeyError, TypeError, ValueError: it is something else.
    """
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
