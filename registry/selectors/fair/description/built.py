"""Builds as records describe them: files, tools, the measurement each stands on."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from django.conf import settings
from django.db.models import Prefetch

from registry.fair.activities import Benchmark, Hardware
from registry.fair.activities import BuildDescription as Described
from registry.fair.addresses import (
    build_file_url,
    build_url,
    record_document_url,
    record_url,
    target_url,
)
from registry.fair.files import media_type, role
from registry.fair.parts import Evaluation, FileDescription, FileRole, Software
from registry.selectors.fair.description.measured import (
    Measured,
    energy_of,
    environment_of,
    machine_of,
)
from registry.selectors.fair.description.tools import mapping, options_of, tools_of
from registry.selectors.results.reproduction import latest_of, reproduced
from registry.tables import Build, BuildFile, Record, Reproduction

_SAMPLES = "samples.npz"
#: Columns of networks that nobody who reads builds needs.
UNREAD_GRAPH = tuple(f"graph__{name}" for name in ("signature", "operators", "embedding", "facts"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A build, with all that is told of it.

    Attributes:
        row: With target, record (but its document) and the job that made it.
        reproduction: The newest.
    """

    row: Build
    described: Described
    measured: Measured
    reproduction: Reproduction | None


def live_builds(revisions: Collection[int]) -> list[Build]:
    """For lists: builds that are not withdrawn, by target, fastest first; two queries."""
    files = BuildFile.objects.select_related("blob").order_by("path")
    return list(
        Build.objects.filter(graph__revision__in=revisions, withdrawn_at=None)
        .select_related("target", "record__job__device", "job__device", "graph")
        .defer("record__document", *UNREAD_GRAPH)
        .prefetch_related(Prefetch("files", queryset=files))
        .order_by("target__slug", "ratio", "pk")
    )


def built_of(rows: Iterable[Build], measured: Mapping[str, Measured]) -> dict[int, list[Built]]:
    """For lists: key of a revision to its builds, by one query.

    Args:
        rows: See :func:`live_builds`.
        measured: By id of a record.
    """
    rows = list(rows)
    newest = latest_of(rows)
    found: dict[int, list[Built]] = {}
    for row in rows:
        how = measured.get(row.record_id, Measured())
        again = newest.get(row.pk)
        built = Built(
            row=row, described=_described(row, how, again), measured=how, reproduction=again
        )
        found.setdefault(row.graph.revision_id, []).append(built)
    return found


def accuracy_of(builds: Collection[Built], task: str | None) -> tuple[Evaluation, ...]:
    """How often the network was right on the labelled samples that came with it, as the hub
    measured it: unoptimised, in float32."""
    for built in builds:
        described = built.described
        if described.accuracy_reference is not None:
            return (
                Evaluation(
                    task=task or "",
                    dataset=_SAMPLES,
                    metric="accuracy",
                    value=described.accuracy_reference,
                    by="hub",
                    url=described.benchmark.url,
                ),
            )
    return ()


def software_of(builds: Collection[Built]) -> tuple[Software, ...]:
    """What the plain network runs with: what the hub ran it with as the baseline."""
    plain = (one.described.tools for one in builds if one.described.is_baseline)
    return next(plain, ())


def hardware_of(builds: Iterable[Built]) -> tuple[Hardware, ...]:
    """What the builds are for, each kind once, as the machine was that measured the fastest."""
    found: dict[str, Hardware] = {}
    for built in builds:
        slug = built.described.target
        found.setdefault(
            slug,
            Hardware(
                slug=slug, url=target_url(settings.HUB_URL, slug), facts=machine_of(built.measured)
            ),
        )
    return tuple(found.values())


def benchmark_of(record: Record, how: Measured, backend: str) -> Benchmark:
    """A record as descriptions tell it.

    Args:
        record: Its document is not read.
        backend: What was measured.
    """
    told = how.statistics
    return Benchmark(
        id=record.pk,
        url=record_url(settings.HUB_URL, record.pk),
        document_url=record_document_url(settings.HUB_URL, record.pk),
        baseline=f"{how.baseline or backend} defaults",
        p50_ns=record.p50_ns,
        ratio=record.ratio,
        ratio_low=record.ratio_low,
        ratio_high=record.ratio_high,
        measured=record.created_at,
        samples=told.get("n"),
        mean_ns=told.get("mean_ns"),
        p90_ns=told.get("p90_ns"),
        p95_ns=told.get("p95_ns"),
        p99_ns=told.get("p99_ns"),
        throughput_per_s=told.get("throughput_per_s"),
        peak_memory_bytes=how.memory,
        energy=energy_of(how),
        environment=environment_of(how),
    )


def _described(row: Build, measured: Measured, again: Reproduction | None) -> Described:
    backend = row.candidate["backend"]
    return Described(
        uuid=str(row.uuid),
        url=build_url(settings.HUB_URL, row.uuid),
        target=row.target.slug,
        processor=measured.processor,
        backend=backend,
        tolerance=str(row.tolerance),
        entry_point=row.entry_point,
        files=tuple(_file(row, file) for file in row.files.all()),
        benchmark=benchmark_of(row.record, measured, backend),
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
        reproduced=reproduced(again),
    )


def _file(row: Build, file: BuildFile) -> FileDescription:
    opened: FileRole = "model" if file.path == row.entry_point else role(file.path)
    return FileDescription(
        path=file.path,
        url=build_file_url(settings.HUB_URL, row.uuid, file.path),
        size_bytes=file.blob.size_bytes,
        sha256=file.blob.sha256,
        media_type=media_type(file.path),
        role=opened,
    )
