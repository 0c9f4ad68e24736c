"""Explains in text why a build was chosen."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hpcfair.hits import Speed
from hpcfair.record import Record
from hpcfair.resolution import LooserBuild, Resolution
from hpcfair.types import Build

#: Shares from here on are written in percent.
_PERCENT_FROM = 1e-3


def explain(
    resolution: Resolution,
    path: Path,
    *,
    record: Record | None = None,
    signature: str = "",
    isolation: str = "",
    threads: int | None = None,
) -> str:
    """The chosen build, the reason, the alternatives, and the measurements.

    ``record`` is that of a build that generates, ``signature`` says who signed the build,
    ``isolation`` how its process is confined, ``threads`` their number if the user stated it.
    """
    lines = [
        f"{resolution.name} at revision {resolution.revision[:12]}",
        *_rows(_chosen(resolution)),
        *_rows(_generation(record)),
        *_rows(_stated(threads, resolution.build)),
        *_rows(_trusted(resolution, signature, isolation)),
    ]
    if resolution.looser:
        lines += ["", "A looser limit would bring:"]
        lines += [f"  {looser_text(looser)}" for looser in resolution.looser]
    if resolution.alternatives:
        lines += ["", "Other builds for this machine:"]
        lines += [f"  {describe(build)}: {numbers(build)}" for build in resolution.alternatives]
    if resolution.stale_since:
        lines += [
            "",
            f"The hub could not be asked; this is its answer of {resolution.stale_since}.",
        ]
    elif resolution.cached_since:
        lines += [
            "",
            f"The revision is pinned: this is the hub's answer of {resolution.cached_since}.",
        ]
    return "\n".join([*lines, "", f"File: {path}"])


def summary(resolution: Resolution) -> str:
    """What was chosen in a few words: class and backend, gain, and what that costs in exactness
    beside the limits that the user stated."""
    build, limits = resolution.build, resolution.acceptance
    if build is None:
        return "the published model"
    parts = [f"{build.tolerance} by {build.backend}"]
    if build.is_baseline:
        parts = [f"the defaults of {build.backend}"]
    elif build.ratio:
        parts.append(f"{gain_text(1 / build.ratio)} times as fast as the runtime's defaults")
    if (error := _error(build)) is not None:
        limit = limits.tolerance
        stated = "" if isinstance(limit, str) else f" (limit {_share(limit)})"
        parts.append(f"answers differ by {_share(error)}{stated}")
    if build.accuracy is not None:
        least = limits.min_accuracy
        stated = "" if least is None else f" (at least {100 * least:.3g} %)"
        parts.append(f"accuracy {100 * build.accuracy:.1f} %{stated}")
    return ", ".join(parts)


def describe(build: Build) -> str:
    """Backend, options and tolerance class of a build."""
    options = build.candidate.get("options") or build.runtime_options
    settings = " ".join(f"{name}={_word(value)}" for name, value in options.items())
    default = build.is_baseline or options == {"default": True}
    return f"{build.backend} {'as it comes' if default else settings} [{build.tolerance}]"


def numbers(build: Build) -> str:
    """Latency of a build, its ratio to the baseline, and the baseline's latency in the same run."""
    if build.p50_ns is None:
        return "not measured"
    what = "median" if build.execution is None else "median of a query of many samples"
    text = f"{latency_text(build.p50_ns)} {what}"
    if build.is_baseline:
        return f"{text}, the baseline"
    beside = f", {latency_text(build.p50_ns / build.ratio)} in the same run" if build.ratio else ""
    return f"{text}, {ratio_text(build.ratio, build.ratio_low, build.ratio_high)}{beside}"


def throughput_text(build: Build | Speed) -> str:
    """Samples per second of a build."""
    return f"{build.throughput_per_s:.4g} samples/s" if build.throughput_per_s else "not measured"


def ratio_text(ratio: float | None, low: float | None, high: float | None) -> str:
    """A latency ratio with its confidence interval, if there is one."""
    if ratio is None:
        return "not compared"
    interval = f" (95 % interval {low:.3f} to {high:.3f})" if low and high else ""
    return f"{ratio:.3f} of the baseline's time{interval}"


def gain_text(gain: float) -> str:
    """A gain as a factor, as the hub's pages state it: ``2.1``, ``1.25``; two digits, three below
    2."""
    if gain >= 99.5:
        return f"{gain:.0f}"
    return f"{gain:.2g}" if gain >= 1.995 else f"{gain:.3g}"


def latency_text(nanoseconds: float) -> str:
    """A latency in milliseconds; below 0.1 ms in microseconds, from 1 s on in seconds."""
    if nanoseconds < 1e5:
        return f"{nanoseconds / 1e3:.3g} µs"
    if nanoseconds >= 1e9:
        return f"{nanoseconds / 1e9:.3g} s"
    return f"{nanoseconds / 1e6:.3g} ms"


def looser_text(looser: LooserBuild) -> str:
    """A build outside of the limits: its gain, its cost, and how to load it."""
    loss = loss_text(looser)
    name = f"{looser.tolerance} by {looser.backend}" if looser.backend else looser.tolerance
    return (
        f"{name}: {gain_text(looser.gain)} times as fast as the runtime's defaults, "
        f"{latency_text(looser.latency_ns)} median{f', {loss}' if loss else ''}; "
        f"{looser.arguments}"
    )


def loss_text(build: LooserBuild) -> str:
    """What a build costs in a few words: relative error, and accuracy of that of the reference."""
    error, reference = _error(build), build.accuracy_reference
    parts = [] if error is None else [f"answers differ by {_share(error)}"]
    if build.accuracy is not None:
        of = "" if reference is None else f" of {100 * reference:.1f}"
        parts.append(f"accuracy {100 * build.accuracy:.1f}{of} %")
    return ", ".join(parts)


def deviation_text(deviation: Mapping[str, float | None]) -> str:
    """Distance of outputs from a reference; absolute figures with their scale or not at all."""
    error, largest = deviation.get("relative_l2"), deviation.get("max_relative")
    absolute = deviation.get("max_absolute")
    on_random = deviation.get("random_relative_l2")
    beside = "" if on_random is None else f" ({_share(on_random)} on random inputs)"
    parts = [] if error is None else [f"relative L2 {_share(error)}{beside}"]
    if largest is not None:
        beside = "" if absolute is None else f" (max |y - ref| {absolute:.2g})"
        parts.append(f"largest difference {_share(largest)} of max |ref|{beside}")
    return ", ".join(parts)


def _chosen(resolution: Resolution) -> Iterator[tuple[str, str]]:
    build = resolution.build
    yield "signature", str(resolution.signature)
    yield "asked for", f"{resolution.target or 'the plain model'}, {resolution.acceptance}"
    yield "in short", summary(resolution) if build else ""
    yield "chosen", describe(build) if build else "the plain model, with nothing set"
    yield "because", resolution.reason
    if build is None:
        return
    if build.execution is not None:
        yield "scenario", f"{build.scenario}: {throughput_text(build)}, {build.execution}"
    yield "latency", f"{numbers(build)}; measured on the hub's {build.target}"
    yield "baseline", _baseline(build, *resolution.alternatives)
    yield "verdict", build.verdict
    text = deviation_text(build.deviation)
    yield "deviation", f"{text} (reference: unoptimised float32)" if text else ""
    yield "accuracy", _accuracy(build)
    yield "record", resolution.record_id or ""


def _generation(record: Record | None) -> Iterator[tuple[str, str]]:
    for number, figures in enumerate(record.generation if record else ()):
        first, speed = latency_text(figures["first_token_ns"]), figures["tokens_per_s"]
        text = f"prompt of {figures['context']} tokens: first token after {first}, then "
        rate = f"{speed:,.0f}" if speed >= 100 else f"{speed:.3g}"
        yield "" if number else "generation", f"{text}{rate} tokens/s"


def _stated(threads: int | None, build: Build | None) -> Iterator[tuple[str, str]]:
    if threads is None:
        return
    measured = build.runtime_options.get("threads") if build else None
    if (threads, measured) == (1, "one"):
        yield "threads", "1, as you stated and as it was measured"
    else:
        yield "threads", f"{threads}, as you stated; the figures were measured with others"


def _trusted(resolution: Resolution, signature: str, isolation: str) -> Iterator[tuple[str, str]]:
    if resolution.build is not None or signature:
        yield "signed", signature or "no valid signature was seen"
    yield "isolation", isolation


def _baseline(*builds: Build) -> str:
    """The baseline that latencies are compared with, which depends on the target."""
    baseline = next((build for build in builds if build.is_baseline), None)
    return f"{baseline.backend} with nothing set" if baseline else "the runtime with nothing set"


def _accuracy(build: Build) -> str:
    if build.accuracy is None:
        return ""
    reference = build.accuracy_reference
    beside = f" (reference {reference:.2%})" if reference is not None else ""
    return f"{build.accuracy:.2%}{beside}"


def _error(build: Build | LooserBuild) -> float | None:
    """The relative error; a hub that does not state it has it among the deviations."""
    error = build.relative_error
    return build.deviation.get("relative_l2") if error is None else error


def _share(value: float) -> str:
    """A share of a whole: in percent, or as a number if it is tiny."""
    return f"{100 * value:.2g} %" if value >= _PERCENT_FROM else f"{value:.2g}"


def _rows(pairs: Iterator[tuple[str, str]]) -> list[str]:
    return [f"  {name:<10} {text}" for name, text in pairs if text]


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
