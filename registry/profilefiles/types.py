"""The contents of a profile file, independent of its format."""

from dataclasses import dataclass, field
from statistics import median

from registry.profilefiles.errors import ProfileFault

#: Upper bound on the calls of one run.
MOST_CALLS = 20_000
#: Times of one call from which on they mean "failed" in the tools that write them: TVM's 1e10
#: seconds, unsigned overflows of counters. No operator takes an hour.
SENTINEL_NS = 3_600 * 10**9
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class MeasuredCall:
    """One operator or kernel as the tool executed it.

    Attributes:
        operator: The tool's name of the kind of operator; "" if the file does not tell.
        median_ns: Over ``runs`` runs; ``mad_ns`` is the median absolute deviation, 0 if unknown.
        names: Names of the network's nodes that the tool states for this call.
        span: First and last node of a region that the tool names by its ends only.
        outputs: Names of the network's tensors that it produces.
        shape: Of its first output; ``None`` if the file does not tell.
        converts: Whether it only changes layout, type or place of a tensor for its neighbours.
    """

    name: str
    operator: str
    median_ns: int
    mad_ns: int = 0
    runs: int = 1
    names: tuple[str, ...] = ()
    span: tuple[str, str] | None = None
    outputs: tuple[str, ...] = ()
    shape: tuple[int, ...] | None = None
    precision: str = ""
    implementation: str = ""
    converts: bool = False


@dataclass(frozen=True, slots=True)
class ProfileFile:
    """A profile as read from a file.

    Attributes:
        format: Name in :data:`registry.profilefiles.formats.FORMATS`.
        method: What was measured and how, for readers.
        total_ns: A whole run, if the file states it, else the sum of all calls.
        is_total_stated: Whether the file states it.
        calls: In the order of execution, if ``is_ordered``.
        notes: What a reader must know to believe the times, each one sentence.
    """

    format: str
    method: str
    total_ns: int
    is_total_stated: bool
    calls: tuple[MeasuredCall, ...]
    is_ordered: bool = True
    notes: tuple[str, ...] = field(default=())


def spread(times_ns: list[int]) -> tuple[int, int]:
    """Median and median absolute deviation."""
    middle = int(median(times_ns))
    return middle, int(median(abs(ns - middle) for ns in times_ns))


def check(profile: ProfileFile) -> ProfileFile:
    """Return ``profile`` if its times are possible.

    Raises:
        ProfileFault: no call, too many, or times that are negative, sentinels or all zero.
    """
    calls = profile.calls
    if not calls:
        raise ProfileFault(
            "The file has no executed operator.",
            "Record at least one whole run of the network with the profiler switched on.",
        )
    if len(calls) > MOST_CALLS:
        raise ProfileFault(f"A run has {len(calls):,} calls; at most {MOST_CALLS:,} are read.")
    _refuse([call for call in calls if call.median_ns < 0], calls, "a negative time")
    _refuse(
        [call for call in calls if max(call.median_ns, call.mad_ns) >= SENTINEL_NS],
        calls,
        "a time of an hour or more, which tools write for failed measurements",
    )
    if not sum(call.median_ns for call in calls):
        raise ProfileFault(
            f"All {len(calls):,} calls take no time.",
            "The counters were switched off, or the file was written before the first run.",
        )
    if not 0 < profile.total_ns < SENTINEL_NS:
        raise ProfileFault(f"A whole run takes {profile.total_ns / 1e9:g} seconds by this file.")
    return profile


def _refuse(wrong: list[MeasuredCall], calls: tuple[MeasuredCall, ...], what: str) -> None:
    if wrong:
        one = wrong[0]
        raise ProfileFault(
            f"{len(wrong):,} of {len(calls):,} calls have {what}, such as "
            f"{one.name[:_SHOWN]!r}: {one.median_ns / 1e6:g} ms.",
            "Such counters come from failed measurements. Record the profile again.",
        )
