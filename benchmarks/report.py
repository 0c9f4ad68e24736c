"""The output of every benchmark: figures with their spread, the machine, one line of JSON. Progress
goes to stderr, for people; the last line of stdout is for programs."""

import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Samples = NDArray[np.float64]
_RESAMPLES = 2000


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with its 95 % confidence interval; for a count both ends are the number."""

    value: float
    low: float
    high: float
    unit: str


def counted(value: float, unit: str) -> Figure:
    """A count, without spread."""
    return Figure(value, value, value, unit)


def spread(samples: Sequence[float], unit: str, *, percentile: float = 50.0) -> Figure:
    """A percentile of ``samples``, by default the median, with a bootstrapped interval. Raises
    ValueError if there are no samples."""
    return _bootstrap(np.asarray(samples)[:, None], lambda s: s[..., 0], unit, percentile)


def ratio(over: Sequence[float], under: Sequence[float]) -> Figure:
    """The median of ``over[i] / under[i]``, of samples measured in pairs. Raises ValueError if
    there are no samples, or their numbers differ."""
    if len(over) != len(under):
        raise ValueError(f"{len(over)} samples cannot be paired with {len(under)}")
    pairs = np.column_stack([over, under]).astype(np.float64)
    return _bootstrap(pairs, lambda s: s[..., 0] / s[..., 1], "ratio", 50.0)


def geometric_mean(figures: Sequence[Figure]) -> Figure:
    """The geometric mean of independently measured ratios. The half-widths of its logarithm's range
    are those of the ratios' logarithms, combined as independent errors: the root of the sum of
    squares, over their number. Raises ValueError if there are no figures."""
    if not figures:
        raise ValueError("there are no figures")
    value, low, high = (
        np.log([[f.value, f.low, f.high] for f in figures]).astype(np.float64).transpose()
    )
    centre = value.mean()
    below = np.sqrt(np.square(value - low).sum()) / len(figures)
    above = np.sqrt(np.square(high - value).sum()) / len(figures)
    mean, least, most = (float(np.exp(x)) for x in (centre, centre - below, centre + above))
    return Figure(mean, least, most, "ratio")


def _bootstrap(
    samples: Samples, of: Callable[[Samples], Samples], unit: str, percentile: float
) -> Figure:
    if len(samples) == 0:
        raise ValueError("there are no samples")
    # Seeded: the same samples give the same range.
    chance = np.random.default_rng(0)
    drawn = samples[chance.integers(0, len(samples), (_RESAMPLES, len(samples)))]
    spreads = np.percentile(of(drawn), percentile, axis=1)
    low, high = np.percentile(spreads, [2.5, 97.5])
    return Figure(float(np.percentile(of(samples), percentile)), float(low), float(high), unit)


def environment(*packages: str, **more: Any) -> dict[str, Any]:
    """The facts that figures depend on, without the name of the machine or its owner.

    Args:
        packages: Distributions whose versions matter.
        more: Further facts.
    """
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "processor": _processor(),
        "processors": len(os.sched_getaffinity(0)),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "load_before": round(os.getloadavg()[0], 2),
        "versions": {name: _version(name) for name in packages},
        **more,
    }


def report(
    bench: str,
    figures: Mapping[str, Figure],
    *,
    baseline: str,
    environment: Mapping[str, Any],
    details: Mapping[str, Any] | None = None,
) -> None:
    """Report figures: a table on stderr, one JSON object as the last line of stdout. ``details``:
    data behind the figures."""
    say("")
    for name, figure in figures.items():
        around = f"[{figure.low:.4g}, {figure.high:.4g}]"
        say(f"{name:<28} {figure.value:>10.4g} {around:<24} {figure.unit}")
    document = {
        "bench": bench,
        "figures": {name: asdict(figure) for name, figure in figures.items()},
        "baseline": baseline,
        "environment": dict(environment),
    }
    if details is not None:
        document["details"] = dict(details)
    sys.stdout.write(json.dumps(document, allow_nan=False) + "\n")
    sys.stdout.flush()


def say(line: str) -> None:
    """Print progress to stderr."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def commit() -> str:
    """The measured commit, with ``-dirty`` if files differ from it."""
    command = ["git", "describe", "--always", "--dirty", "--exclude=*", "--abbrev=12"]
    root = Path(__file__).parent
    return subprocess.run(
        command, cwd=root, capture_output=True, text=True, check=False
    ).stdout.strip()


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"
