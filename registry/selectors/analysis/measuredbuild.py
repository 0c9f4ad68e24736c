"""Published builds with the figures and the conditions of their measurements."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Sum

from registry.selectors.results.speed import InputShape, batch_of
from registry.tables import Build, BuildFile, CallSite, MLModel, Record, Revision

#: Parts of a record's document; the whole holds all raw samples.
_PARTS: Final = {
    "inputs": "document__identity__inputs",
    "energy": "document__energy",
    "memory": "document__memory__peak_rss_bytes",
    "throughput": "document__statistics__candidate__throughput_per_s",
    "n": "document__statistics__candidate__n",
    "mad_ns": "document__statistics__candidate__mad_ns",
    "cores": "document__target__cores",
    "processor": "document__target__processor",
    "device": "document__target__device",
    "unstable": "document__quality__unstable",
}


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure by which builds are compared.

    Attributes:
        unit: ``ns``, ``J``, ``B``, ``share``, ``error`` or ``/s``; texts are made by the reader.
        is_high_better: Whether larger values are better.
    """

    name: str
    title: str
    unit: str
    is_high_better: bool = False


METRICS: Final = {
    metric.name: metric
    for metric in (
        Measure("latency", "latency", "ns"),
        Measure("energy", "energy of a run", "J"),
        Measure("memory", "peak memory", "B"),
        Measure("size", "size of the files", "B"),
        Measure("accuracy", "accuracy", "share", is_high_better=True),
        Measure("error", "relative error of the outputs", "error"),
        Measure("throughput", "samples per second", "/s", is_high_better=True),
    )
}
#: Metrics of the two axes: what a build costs, and what it is worth.
COSTS: Final = ("latency", "energy", "memory", "size")
WORTHS: Final = ("error", "accuracy", "throughput")


@dataclass(frozen=True, slots=True)
class MeasuredBuild:
    """A build with its figures; a figure that was not measured is ``None``, never zero.

    Attributes:
        figures: Name of a metric of :data:`METRICS` to its value.
        conditions: How it was measured: name of a condition to its value in words. Figures of
            builds whose conditions differ are not comparable without regard to the difference.
        samples: Number of timed runs; ``None`` if unknown.
        has_profile: Whether its call sites are known.
    """

    build: Build
    figures: Mapping[str, float | None]
    conditions: Mapping[str, str]
    samples: int | None
    has_profile: bool
    is_unstable: bool = False

    @property
    def mlmodel(self) -> MLModel:
        return self.revision.mlmodel

    @property
    def revision(self) -> Revision:
        return self.build.graph.revision

    @property
    def backend(self) -> str:
        return str(self.build.candidate["backend"])

    @property
    def name(self) -> str:
        """``openvino int8``; with ``default`` for the baseline."""
        kind = "default" if self.build.is_baseline else self.build.tolerance
        return f"{self.backend} {kind}"

    @property
    def interval_ns(self) -> tuple[float, float]:
        """:func:`interval_of` its build."""
        return interval_of(self.build)


def interval_of(build: Build) -> tuple[float, float]:
    """95 % interval of the latency in nanoseconds: that of the ratio to the default, at the build's
    median."""
    low, high = build.record.ratio_low, build.record.ratio_high
    if build.is_baseline or low is None or high is None or not build.ratio:
        return float(build.p50_ns), float(build.p50_ns)
    return build.p50_ns * low / build.ratio, build.p50_ns * high / build.ratio


def measured_builds(builds: Sequence[Build]) -> list[MeasuredBuild]:
    """The builds, each with relations, in their order, with figures; in three queries."""
    rows = Record.objects.filter(pk__in=[build.record_id for build in builds])
    parts = {row["pk"]: row for row in rows.values("pk", *_PARTS.values())}
    keys = [build.pk for build in builds]
    sizes = dict(
        BuildFile.objects.filter(build__in=keys)
        .values_list("build")
        .annotate(bytes=Sum("blob__size_bytes"))
    )
    executed = _executed(keys)
    return [
        _measured(
            build,
            {name: parts[build.record_id][path] for name, path in _PARTS.items()},
            sizes.get(build.pk),
            executed.get(build.pk),
        )
        for build in builds
    ]


def differences(builds: Sequence[MeasuredBuild]) -> dict[str, list[str]]:
    """Condition to its distinct values, for the conditions in which the builds differ."""
    names = dict.fromkeys(name for each in builds for name in each.conditions)
    values = {
        name: list(dict.fromkeys(each.conditions.get(name, "unknown") for each in builds))
        for name in names
    }
    return {name: distinct for name, distinct in values.items() if len(distinct) > 1}


def _executed(keys: Collection[int]) -> dict[int, list[str]]:
    """Key of a build with a profile to the precisions in which its calls were executed."""
    sites = CallSite.objects.filter(profile__build__in=keys).order_by("precision")
    executed: dict[int, list[str]] = {}
    for key, precision in sites.values_list("profile__build", "precision").distinct():
        executed.setdefault(key, []).append(precision or "unknown")
    return executed


def _measured(
    build: Build, parts: Mapping[str, Any], size: int | None, executed: list[str] | None
) -> MeasuredBuild:
    inputs = [InputShape.from_json(one) for one in parts["inputs"] or ()]
    batch = batch_of(inputs, build.graph.signature["inputs"])
    energy, throughput = parts["energy"] or {}, parts["throughput"]
    threads = build.candidate["options"].get("threads", "all")
    return MeasuredBuild(
        build=build,
        figures={
            "latency": float(build.p50_ns) or None,
            "energy": energy.get("joules_per_run"),
            "memory": parts["memory"] or None,
            "size": size or None,
            "accuracy": build.accuracy,
            "error": build.relative_error,
            "throughput": throughput * (batch or 1) if throughput else None,
        },
        conditions={
            "inputs": ", ".join(map(str, inputs)) or "unknown",
            "batch": "unknown" if batch is None else str(batch),
            "precision": _precision(build, executed),
            "threads": f"{threads} of {parts['cores']} cores" if parts["cores"] else str(threads),
            "processor": str(parts["processor"] or "unknown"),
            "device": str(parts["device"] or "unknown"),
            "emulation": "emulated" if build.target.is_emulated else "real",
        },
        samples=parts["n"],
        has_profile=executed is not None,
        is_unstable=bool(parts["unstable"]),
    )


def _precision(build: Build, executed: list[str] | None) -> str:
    """The executed precisions as the profile reports them, else the build's tolerance class."""
    reported = [name for name in executed or () if name != "unknown"]
    return ", ".join(reported) if reported else f"class {build.tolerance}"
