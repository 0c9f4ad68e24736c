"""Sentences for people on why a build is loaded; see :mod:`hpcfair.choice`."""

from collections.abc import Collection

from hpcfair.precisions import TOLERANCES
from hpcfair.scenarios import SINGLE_STREAM

#: Fault of a build that was measured by a device that is not trusted.
UNTRUSTED = "untrusted"
#: Faults of a build, each with the end of a sentence about it: outcomes of reproductions that did
#: not succeed, and a device that is not trusted.
FAULTS: dict[str, str] = {
    "differs": "gave other outputs when it was run again",
    "failed": "did not run again",
    UNTRUSTED: "was measured by a device that is not trusted",
}


def limits(tolerance: str | float, min_accuracy: float | None) -> str:
    """What a user accepts, as part of a sentence on builds.

    Args:
        tolerance: A class, or the largest relative L2 error.
        min_accuracy: 0 to 1; ``None``: any.
    """
    if min_accuracy is not None and tolerance == TOLERANCES[-1]:
        # The laxest class is no limit.
        return f"with an accuracy of at least {min_accuracy:g}"
    words = f"tolerance '{tolerance}'"
    if not isinstance(tolerance, str):
        words = f"a relative error of {tolerance:g}"
    if min_accuracy is not None:
        words += f" and with an accuracy of at least {min_accuracy:g}"
    return f"within {words}"


def doubt(target: str, classes: Collection[str]) -> str:
    """Measurements without a conclusion may hide a faster build of these tolerance classes."""
    shown = " and ".join(f"'{each}'" for each in classes)
    return (
        f"A faster build within {shown} is not excluded: the measurements on {target} are "
        "inconclusive: they were disturbed, or the time was up."
    )


def default_is_best(target: str, accepted: str, runtime: str, scenario: str = SINGLE_STREAM) -> str:
    """No build within the limits ``accepted`` is proved faster than the runtime's defaults."""
    where = "" if scenario == SINGLE_STREAM else f" in the scenario {scenario}"
    return (
        f"On {target} no build {accepted} is proved faster than the defaults of {runtime}{where}."
    )


def fastest(target: str, accepted: str, ratio: float, scenario: str = SINGLE_STREAM) -> str:
    """The build is the fastest within the limits ``accepted``."""
    if scenario != SINGLE_STREAM:
        return (
            f"On {target} it is the fastest {accepted} in the scenario {scenario}: {ratio:.3f} of "
            "the time of the runtime's defaults at their best batch."
        )
    return (
        f"On {target} it is the fastest {accepted}: {ratio:.3f} of the latency of the runtime's "
        "defaults."
    )


def none_within(accepted: str, most_accurate: float | None) -> str:
    """No build is within the limits ``accepted``; ``most_accurate`` is the largest accuracy to
    state that loads one, if an accuracy was stated."""
    best = ""
    if most_accurate is not None:
        best = f" The most accurate build loads with min_accuracy={most_accurate:g}."
    return f"There is no build {accepted} for this machine.{best}"


def unmeasured(scenario: str, reason: str) -> str:
    """No build for this machine was measured in a scenario; ``reason`` is that of the build for a
    single stream."""
    return f"No build for this machine is measured in the scenario {scenario}. {reason}"


def faulty_without_alternative(fault: str) -> str:
    """The only build has a fault."""
    return f"It {FAULTS[fault]}, but there is no other."


def exclusions(builds: Collection[tuple[str, float, str]]) -> str:
    """Builds (backend, ratio, fault) that are left out."""
    shown = [f"{backend} at {ratio:.3f}, which {FAULTS[fault]}" for backend, ratio, fault in builds]
    return f"Excluded: {'; '.join(shown)}."
