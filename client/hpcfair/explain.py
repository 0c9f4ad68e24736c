"""Explains in text why a build was chosen."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hpcfair.resolution import Resolution
from hpcfair.types import Build


def explain(resolution: Resolution, path: Path, *, signature: str = "", isolation: str = "") -> str:
    """The chosen build, the reason, the alternatives, and the measurements.

    ``signature`` says who signed the build, ``isolation`` how its process is confined.
    """
    lines = [
        f"{resolution.name} at revision {resolution.revision[:12]}",
        *_rows(_chosen(resolution)),
        *_rows(_trusted(resolution, signature, isolation)),
    ]
    if resolution.alternatives:
        lines += ["", "Other builds for this machine:"]
        lines += [f"  {describe(build)}: {numbers(build)}" for build in resolution.alternatives]
    if resolution.stale_since:
        lines += [
            "",
            f"The hub could not be asked; this is its answer of {resolution.stale_since}.",
        ]
    return "\n".join([*lines, "", f"File: {path}"])


def describe(build: Build) -> str:
    """Backend, options and tolerance class of a build."""
    options = build.candidate.get("options") or build.runtime_options
    settings = " ".join(f"{name}={_word(value)}" for name, value in options.items())
    default = build.is_baseline or options == {"default": True}
    return f"{build.backend} {'as it comes' if default else settings} [{build.tolerance}]"


def numbers(build: Build) -> str:
    """Latency of a build and its ratio to the baseline."""
    if build.p50_ns is None:
        return "not measured"
    text = f"{milliseconds(build.p50_ns)} median"
    if build.is_baseline:
        return f"{text}, the baseline"
    return f"{text}, {ratio_text(build.ratio, build.ratio_low, build.ratio_high)}"


def ratio_text(ratio: float | None, low: float | None, high: float | None) -> str:
    """A latency ratio with its confidence interval, if there is one."""
    if ratio is None:
        return "not compared"
    interval = f" (95 % interval {low:.3f} to {high:.3f})" if low and high else ""
    return f"{ratio:.3f} of the baseline's time{interval}"


def milliseconds(nanoseconds: float) -> str:
    return f"{nanoseconds / 1e6:.3g} ms"


def _chosen(resolution: Resolution) -> Iterator[tuple[str, str]]:
    build = resolution.build
    yield "signature", str(resolution.signature)
    yield "asked for", f"{resolution.target or 'the plain model'}, outputs {resolution.tolerance}"
    yield "chosen", describe(build) if build else "the plain model, with nothing set"
    yield "because", resolution.reason
    if build is None:
        return
    yield "latency", f"{numbers(build)}; measured on the hub's {build.target}"
    yield "baseline", _baseline(build, *resolution.alternatives)
    yield "verdict", build.verdict
    yield "deviation", _deviation(build.deviation)
    yield "accuracy", _accuracy(build)
    yield "record", resolution.record_id or ""


def _trusted(resolution: Resolution, signature: str, isolation: str) -> Iterator[tuple[str, str]]:
    if resolution.build is not None or signature:
        yield "signed", signature or "no valid signature was seen"
    yield "isolation", isolation


def _baseline(*builds: Build) -> str:
    """The baseline that latencies are compared with, which depends on the target."""
    baseline = next((build for build in builds if build.is_baseline), None)
    return f"{baseline.backend} with nothing set" if baseline else "the runtime with nothing set"


def _deviation(deviation: Mapping[str, Any]) -> str:
    names = {"max_absolute": "max |y - ref|", "relative_l2": "relative L2"}
    parts = [
        f"{name} {deviation[key]:.2g}"
        for key, name in names.items()
        if deviation.get(key) is not None
    ]
    return f"{', '.join(parts)} (reference: unoptimised float32)" if parts else ""


def _accuracy(build: Build) -> str:
    if build.accuracy is None:
        return ""
    reference = build.accuracy_reference
    beside = f" (reference {reference:.2%})" if reference is not None else ""
    return f"{build.accuracy:.2%}{beside}"


def _rows(pairs: Iterator[tuple[str, str]]) -> list[str]:
    return [f"  {name:<10} {text}" for name, text in pairs if text]


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
