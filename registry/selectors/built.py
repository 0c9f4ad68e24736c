"""Builds as records describe them: files, tools, the measurement each stands on."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.db.models import Prefetch

from registry.fair.addresses import (
    build_file_url,
    build_url,
    record_document_url,
    record_url,
)
from registry.fair.files import media_type, role
from registry.fair.parts import Benchmark, Evaluation, File, FileRole, Software
from registry.fair.parts import Build as Described
from registry.selectors.reproduction import latest_of, reproduced
from registry.tables import Build, BuildFile, Record, Reproduction

Option = str | float | bool
#: Names in toolchains that are no packages of PyPI.
_NO_PACKAGES = frozenset({"python", "nvidia-driver"})
_SAMPLES = "samples.npz"
_UNREAD = tuple(f"graph__{name}" for name in ("signature", "operators", "embedding", "facts"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What a benchmark record says of where and with what it was measured.

    Attributes:
        environment: Operating system, packages and the like.
        baseline: Backend whose defaults it was compared with.
        tools: What made the record, name to version.
    """

    processor: str | None = None
    environment: Mapping[str, Any] = field(default_factory=dict)
    baseline: str | None = None
    tools: Mapping[str, str] = field(default_factory=dict)


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


def built_of(revisions: Collection[int]) -> dict[int, list[Built]]:
    """For lists: key of a revision to its builds that are not withdrawn, by target, fastest first.

    By four queries.
    """
    files = BuildFile.objects.select_related("blob").order_by("path")
    rows = list(
        Build.objects.filter(graph__revision__in=revisions, withdrawn_at=None)
        .select_related("target", "record", "job", "graph")
        .defer("record__document", *_UNREAD)
        .prefetch_related(Prefetch("files", queryset=files))
        .order_by("target__slug", "ratio", "pk")
    )
    measured = _measured({row.record_id for row in rows})
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


def tools_of(versions: Mapping[str, Any]) -> tuple[Software, ...]:
    """Programs with their versions, as packages of PyPI where they are such."""
    return tuple(
        Software(
            name=name,
            version=str(version),
            purl=None if name in _NO_PACKAGES else f"pkg:pypi/{name.lower()}@{version}",
        )
        for name, version in sorted(versions.items())
    )


def options_of(values: Mapping[str, Any]) -> dict[str, Option]:
    """Options as plain values: what is none becomes its JSON text."""
    return {
        str(name): value
        if isinstance(value, str | int | float | bool)
        else json.dumps(value, sort_keys=True)
        for name, value in values.items()
        if value is not None
    }


def _measured(records: set[str]) -> dict[str, Measured]:
    """By id of a record. Of its document, which holds all raw samples, only this is read."""
    rows = Record.objects.filter(pk__in=records).values_list(
        "pk",
        "document__target__processor",
        "document__environment",
        "document__comparison__baseline__backend",
        "document__provenance__tools",
    )
    return {
        pk: Measured(
            processor=str(processor) if processor else None,
            environment=_mapping(environment),
            baseline=str(baseline) if baseline else None,
            tools=_mapping(tools),
        )
        for pk, processor, environment, baseline, tools in rows
    }


def _described(row: Build, measured: Measured, again: Reproduction | None) -> Described:
    return Described(
        uuid=str(row.uuid),
        url=build_url(settings.HUB_URL, row.uuid),
        target=row.target.slug,
        processor=measured.processor,
        backend=row.candidate["backend"],
        tolerance=str(row.tolerance),
        entry_point=row.entry_point,
        files=tuple(_file(row, file) for file in row.files.all()),
        benchmark=_benchmark(row, measured),
        created=row.created_at,
        options=options_of(_mapping(row.candidate.get("options"))),
        tools=tools_of(_mapping(row.provenance.get("toolchain"))),
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


def _file(row: Build, file: BuildFile) -> File:
    opened: FileRole = "model" if file.path == row.entry_point else role(file.path)
    return File(
        path=file.path,
        url=build_file_url(settings.HUB_URL, row.uuid, file.path),
        size_bytes=file.blob.size_bytes,
        sha256=file.blob.sha256,
        media_type=media_type(file.path),
        role=opened,
    )


def _benchmark(row: Build, measured: Measured) -> Benchmark:
    record = row.record
    return Benchmark(
        id=record.pk,
        url=record_url(settings.HUB_URL, record.pk),
        document_url=record_document_url(settings.HUB_URL, record.pk),
        baseline=f"{measured.baseline or row.candidate['backend']} defaults",
        p50_ns=row.p50_ns,
        ratio=record.ratio,
        ratio_low=record.ratio_low,
        ratio_high=record.ratio_high,
        measured=record.created_at,
    )


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
