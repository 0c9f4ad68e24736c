"""A search as documents: everything to plot it again, and TVM's database of it."""

import gzip
import io
import json
import tarfile
import zlib
from base64 import b64encode
from collections.abc import Iterator
from typing import Any

from registry.errors import NotFound
from registry.selectors.analysis.workloadsearch import SearchTrial, WorkloadSearch
from registry.selectors.storage.blob import blob_open
from registry.tables import Job, ScheduleSketch, ScheduleTask

#: Columns of a trial before those of its decisions.
CSV_COLUMNS = (
    "position", "trial", "ended", "outcome", "median_s", "seconds", "confirmed_s", "predicted",
    "proposed_by", "sketch", "failure",
)  # fmt: skip


def document_of(task: ScheduleTask, search: WorkloadSearch, permalink: str) -> dict[str, Any]:
    """The workload, where it was measured, and all trials with decisions in words and raw.

    Sketches are their SHA-256. Nothing names the models or jobs that made the trials.
    """
    digests = dict(
        ScheduleSketch.objects.filter(pk__in=search.sketches).values_list("pk", "digest")
    )
    return {
        "permalink": permalink,
        "workload": {
            "uuid": str(task.uuid),
            "key": task.key,
            "operator": task.anchor,
            "function": task.name,
            "arguments": task.arguments,
            "flops": task.flops,
            "structural_hash": task.structural_hash,
        },
        "environment": {
            "target": task.target.slug,
            "features": task.target.features,
            "toolchain": task.toolchain,
            "compiler_target": task.compiler_target,
            "tools": _tools(search),
        },
        "trials": [_trial(trial, search, digests) for trial in search.trials],
    }


def csv_rows(search: WorkloadSearch) -> Iterator[list[Any]]:
    """Rows of :data:`CSV_COLUMNS` and the decisions in the order of the search's columns."""
    columns = search.table.columns
    for trial in search.trials:
        codes = [int(column.codes[trial.position]) for column in columns]
        yield [
            trial.position,
            trial.uuid,
            trial.created_at.isoformat(),
            trial.outcome,
            trial.time_s,
            " ".join(f"{second:.9g}" for second in trial.seconds),
            trial.confirmed_s,
            trial.predicted,
            trial.proposed_by,
            trial.sketch,
            trial.failure and f"{trial.failure}: {trial.failure_detail}",
            *(
                column.labels[code] if code >= 0 else ""
                for column, code in zip(columns, codes, strict=True)
            ),
        ]


def tvm_database(task: ScheduleTask, search: WorkloadSearch, document: dict[str, Any]) -> bytes:
    """A ``.tar.gz`` of the two files of ``tvm.s_tir.meta_schedule.database.JSONDatabase``, and of
    ``about.json`` without the trials.

    Trials without a time are left out, for TVM has no place for what they failed of. Traces end
    before the postprocessing, which TVM applies again; a confirmed one is complete.

    Raises ``NotFound``: ``export_not_found``: the workload was stored by an earlier version.
    """
    if not task.structural_hash:
        raise NotFound(
            "export_not_found",
            "This workload was stored before the hub kept what TVM's databases need.",
            "It is added by the next search for schedules of a model that uses the workload.",
        )
    with blob_open(task.source) as source:
        module = zlib.decompress(source.read())
    # TVM encodes the length and the text.
    encoded = b64encode(len(module).to_bytes(8, "little") + module).decode()
    workload = json.dumps([task.structural_hash, encoded])
    arguments = [["TENSOR", one["dtype"], one["shape"]] for one in task.arguments]
    records = [
        json.dumps([0, [_trace(trial, search), trial.seconds, task.compiler_target, arguments]])
        for trial in search.trials
        if trial.time_s is not None and trial.sketch in search.sketches
    ]
    about = {key: value for key, value in document.items() if key != "trials"}
    return _archive(
        {
            "database_workload.json": f"{workload}\n",
            "database_tuning_record.json": "".join(f"{record}\n" for record in records),
            "about.json": json.dumps(about, indent=1),
        }
    )


def _trace(trial: SearchTrial, search: WorkloadSearch) -> list[Any]:
    return [search.sketches[trial.sketch].instructions, trial.decisions]


def _archive(files: dict[str, str]) -> bytes:
    """The same bytes for the same files."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as archive:
        for name, text in files.items():
            content = text.encode()
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return gzip.compress(raw.getvalue(), mtime=0)


def _tools(search: WorkloadSearch) -> list[dict[str, Any]]:
    """Versions of the tools of the jobs that made the trials, each combination once."""
    jobs = {trial.job for trial in search.trials if trial.job is not None}
    results = Job.objects.filter(pk__in=jobs).order_by("id").values_list("result", flat=True)
    tools = [
        result["tools"] for result in results if isinstance(result, dict) and "tools" in result
    ]
    return [dict(one) for one in {tuple(sorted(each.items())): each for each in tools}.values()]


def _trial(trial: SearchTrial, search: WorkloadSearch, digests: dict[int, str]) -> dict[str, Any]:
    columns = search.table.columns
    values = [(column, int(column.codes[trial.position])) for column in columns]
    return {
        "position": trial.position,
        "uuid": trial.uuid,
        "ended": trial.created_at.isoformat(),
        "outcome": trial.outcome,
        "failure": trial.failure,
        "failure_detail": trial.failure_detail,
        "median_s": trial.time_s,
        "seconds": trial.seconds,
        "confirmed_s": trial.confirmed_s,
        "confirmed": trial.confirmed,
        "predicted": trial.predicted,
        "proposed_by": trial.proposed_by,
        "duration_s": trial.duration_s,
        "sketch": digests.get(trial.sketch, ""),
        "decisions": trial.decisions,
        "values": {column.key: column.labels[code] for column, code in values if code >= 0},
    }
