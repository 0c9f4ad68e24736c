"""Builds of a version: files, tools, and the measurement that each was published for."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from django.conf import settings
from django.db.models import Prefetch

from registry.fair.activities import Benchmark, BuildDescription, Hardware
from registry.fair.addresses import (
    build_file_url,
    build_url,
    record_document_url,
    record_url,
    target_url,
)
from registry.fair.files import media_type, role
from registry.fair.parts import FileDescription, FileRole, QualityEvaluation
from registry.selectors.fair.description.measurements import (
    MeasurementDetails,
    energy_of,
    environment_of,
    machine_of,
    mapping,
    options_of,
    tools_of,
)
from registry.selectors.results.reproduction import latest_of, reproduced
from registry.tables import Build, BuildFile, Record, Reproduction

_SAMPLES = "samples.npz"
#: Large columns of networks that descriptions of builds do not need.
UNREAD_GRAPH = tuple(f"graph__{name}" for name in ("signature", "operators", "embedding", "facts"))


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedBuild:
    """A build with its description and newest reproduction.

    ``row`` has target, job, and record (without its document) and the record's job.
    """

    row: Build
    description: BuildDescription
    measurement: MeasurementDetails
    reproduction: Reproduction | None


def live_builds(revisions: Collection[int]) -> list[Build]:
    """Builds that are not withdrawn, by target, the fastest first; two queries."""
    files = BuildFile.objects.select_related("blob").order_by("path")
    return list(
        Build.objects.filter(graph__revision__in=revisions, withdrawn_at=None)
        .select_related("target", "record__job__device", "job__device", "graph")
        .defer("record__document", "record__envelope", *UNREAD_GRAPH)
        .prefetch_related(Prefetch("files", queryset=files))
        .order_by("target__slug", "ratio", "pk")
    )


def describe_builds(
    rows: Collection[Build], measurements: Mapping[str, MeasurementDetails]
) -> dict[int, list[DescribedBuild]]:
    """Key of a revision to its builds, as :func:`live_builds` reads them; one query.

    ``measurements`` are by id of a record.
    """
    reproductions = latest_of(rows)
    builds: dict[int, list[DescribedBuild]] = {}
    for row in rows:
        measurement = measurements.get(row.record_id, MeasurementDetails())
        reproduction = reproductions.get(row.pk)
        builds.setdefault(row.graph.revision_id, []).append(
            DescribedBuild(
                row=row,
                description=_describe(row, measurement, reproduction),
                measurement=measurement,
                reproduction=reproduction,
            )
        )
    return builds


def accuracy_of(
    builds: Iterable[DescribedBuild], task: str | None
) -> tuple[QualityEvaluation, ...]:
    """Accuracy of the unoptimised float32 network on its labelled samples, as the hub measured."""
    for build in builds:
        described = build.description
        if described.accuracy_reference is not None:
            return (
                QualityEvaluation(
                    task=task or "",
                    dataset=_SAMPLES,
                    metric="accuracy",
                    value=described.accuracy_reference,
                    by="hub",
                    url=described.benchmark.url,
                ),
            )
    return ()


def hardware_of(builds: Iterable[DescribedBuild]) -> tuple[Hardware, ...]:
    """Targets of the builds, each with the machine that measured its fastest build."""
    targets: dict[str, Hardware] = {}
    for build in builds:
        slug = build.description.target
        if slug not in targets:
            url = target_url(settings.HUB_URL, slug)
            targets[slug] = Hardware(slug=slug, url=url, facts=machine_of(build.measurement))
    return tuple(targets.values())


def benchmark_of(record: Record, details: MeasurementDetails, backend: str) -> Benchmark:
    """The description of a benchmark record, whose document is not read.

    ``backend`` is the backend of the candidate.
    """
    statistics = details.statistics
    return Benchmark(
        id=record.pk,
        url=record_url(settings.HUB_URL, record.pk),
        document_url=record_document_url(settings.HUB_URL, record.pk),
        baseline=f"{details.baseline or backend} defaults",
        p50_ns=record.p50_ns,
        ratio=record.ratio,
        ratio_low=record.ratio_low,
        ratio_high=record.ratio_high,
        measured=record.created_at,
        samples=statistics.get("n"),
        mean_ns=statistics.get("mean_ns"),
        p90_ns=statistics.get("p90_ns"),
        p95_ns=statistics.get("p95_ns"),
        p99_ns=statistics.get("p99_ns"),
        throughput_per_s=statistics.get("throughput_per_s"),
        scenario=details.protocol.get("scenario"),
        samples_per_run=details.protocol.get("samples_per_run"),
        peak_memory_bytes=details.memory,
        energy=energy_of(details),
        environment=environment_of(details),
    )


def _describe(
    row: Build, measurement: MeasurementDetails, reproduction: Reproduction | None
) -> BuildDescription:
    backend = row.candidate["backend"]
    return BuildDescription(
        uuid=str(row.uuid),
        url=build_url(settings.HUB_URL, row.uuid),
        target=row.target.slug,
        processor=measurement.processor,
        backend=backend,
        tolerance=str(row.tolerance),
        entry_point=row.entry_point,
        files=tuple(_describe_file(row, file) for file in row.files.all()),
        benchmark=benchmark_of(row.record, measurement, backend),
        created=row.created_at,
        options=options_of(mapping(row.candidate.get("options"))),
        tools=tools_of(mapping(row.provenance.get("toolchain"))),
        deviation={
            name: float(value)
            for name, value in row.deviation.items()
            if isinstance(value, int | float)
        },
        accuracy=row.accuracy,
        accuracy_reference=row.accuracy_reference,
        is_baseline=row.is_baseline,
        reproduced=reproduced(reproduction),
    )


def _describe_file(row: Build, file: BuildFile) -> FileDescription:
    file_role: FileRole = "model" if file.path == row.entry_point else role(file.path)
    return FileDescription(
        path=file.path,
        url=build_file_url(settings.HUB_URL, row.uuid, file.path),
        size_bytes=file.blob.size_bytes,
        sha256=file.blob.sha256,
        media_type=media_type(file.path),
        role=file_role,
    )
