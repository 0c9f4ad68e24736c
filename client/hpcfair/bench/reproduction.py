"""Repeats the measurement of a record on this machine, with the same files and protocol."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from hpcfair import machine
from hpcfair.bench.document import load_average, reproduction_document
from hpcfair.bench.inputs import timing_inputs
from hpcfair.bench.process import SideProcess
from hpcfair.bench.rounds import Plan, measure, query_of
from hpcfair.cache import Cache
from hpcfair.download import fetch_tree
from hpcfair.errors import BadInput, RuntimeFailed
from hpcfair.explain import latency_text, ratio_text
from hpcfair.formats import opener_of
from hpcfair.localfiles import local_files
from hpcfair.measurement.outputs import OutputComparison, OutputMismatch, violation
from hpcfair.measurement.types import Deviation, Interval
from hpcfair.mlmodel import builds
from hpcfair.paths import safe_join
from hpcfair.progress import working
from hpcfair.record import Record, publish_record, record
from hpcfair.resolution import resolve
from hpcfair.runtimes.base import Array, Options
from hpcfair.samples import NAME as SAMPLES
from hpcfair.scenarios import checked_scenario
from hpcfair.snapshot import snapshot
from hpcfair.transport import Transport
from hpcfair.types import Build


@dataclass(frozen=True, slots=True)
class RecordReproduction:
    """A record and ``document``, the record of its repetition on this machine."""

    original: Record
    document: dict[str, Any]

    @property
    def record_id(self) -> str:
        """The id of the repetition's record."""
        return str(self.document["record_id"])

    @property
    def ratio(self) -> Interval:
        """The ratio here, with its confidence interval."""
        return _interval(self.document)

    @property
    def agrees(self) -> bool:
        """Whether the two confidence intervals of the ratio overlap."""
        return _interval(self.original.document).overlaps(self.ratio)

    @property
    def same_target(self) -> bool:
        return bool(self.original.target == self.document["target"]["slug"])

    def __str__(self) -> str:
        lines = [f"{self.original.mlmodel} at {self.original.revision[:12]}"]
        for name, document in (("record", self.original.document), ("here", self.document)):
            compared, side = document["comparison"], document["statistics"]["candidate"]
            ratio = ratio_text(compared["ratio"], compared["ratio_low"], compared["ratio_high"])
            where = f"{document['target']['processor']}, {document['target']['slug']}"
            lines.append(f"  {name:<7} {latency_text(side['p50_ns'])} median, {ratio}  ({where})")
        lines.append(
            "The intervals overlap: reproduced."
            if self.agrees
            else "The intervals do not overlap: not reproduced."
        )
        shift = self.document.get("quality", {}).get("baseline_shift")
        if shift is not None:
            lines.append(
                f"The baseline took {shift:.2f} times its usual time in some processes, so the "
                "ratio means little: repeat it on an idle machine."
            )
        if not self.same_target:
            lines.append("This machine is of another target, so other figures are no surprise.")
        return "\n".join(lines)


def reproduce(
    http: Transport, cache: Cache, record_id: str, *, send: bool = False
) -> RecordReproduction:
    """Download a record's build and baseline and measure them interleaved on this machine.

    Args:
        send: Give the result to the hub, which signs it as measured by a user.

    Raises:
        NotFound: there is no such record.
        BadInput: the record has no build to download or no baseline, or cannot run here.
        RuntimeFailed: a side failed, or its outputs cannot be compared.
    """
    original = record(http, cache, record_id)
    plan = Plan.of(original.document)
    build = _build_of(http, original)
    files = fetch_tree(http, cache, build.files, what=f"build {build.uuid[:8]}")
    plain = resolve(http, cache, original.mlmodel, revision=original.revision, target=None)
    graph = fetch_tree(http, cache, plain.files, what=original.mlmodel)
    _, folder = snapshot(http, cache, original.mlmodel, original.revision)
    samples = folder / SAMPLES
    arrays = timing_inputs(
        original.document["identity"]["inputs"], samples if samples.is_file() else None
    )
    with local_files(None, "TMPDIR"), TemporaryDirectory(prefix="hpcfair-") as scratch:
        inputs = Path(scratch) / "inputs.npz"
        np.savez(inputs, **arrays)  # type: ignore[arg-type]
        candidate = _Files(build.runtime, safe_join(files, build.entry_point), inputs)
        published = safe_join(graph, plain.entry_point)
        baseline = _Files(opener_of(published).runtime, published, inputs)
        document = _measure(original, plan, candidate, build.runtime_options, baseline)
    if send:
        publish_record(http, document)
    return RecordReproduction(original, document)


@dataclass(frozen=True, slots=True)
class _Files:
    runtime: str
    path: Path
    inputs: Path

    def open(self, options: Options, query: Mapping[str, int] | None = None) -> SideProcess:
        return SideProcess(self.runtime, self.path, options, self.inputs, query)

    def outputs(self, options: Options) -> dict[str, Array]:
        with self.open(options) as side:
            return side.outputs(self.inputs.with_name("outputs.npz"))


def _measure(
    original: Record, plan: Plan, candidate: _Files, options: dict[str, Any], baseline: _Files
) -> dict[str, Any]:
    opener = opener_of(baseline.path)
    reference = baseline.outputs(opener.reference)
    slack = _deviation(reference, baseline.outputs(opener.default))
    deviation = _deviation(reference, candidate.outputs(options))
    passed = violation(original.document["config"]["tolerance"], deviation, slack) is None
    before = load_average()
    with working(f"Measuring {original.mlmodel}") as meter:
        protocol = original.document["protocol"]
        rounds = measure(
            plan,
            lambda: baseline.open(opener.default, query_of(protocol, "baseline")),
            lambda: candidate.open(options, query_of(protocol, "candidate")),
            meter,
        )
    return reproduction_document(
        original, plan, rounds, deviation, before, str(opener), passed=passed
    )


def _deviation(reference: Mapping[str, Array], outputs: Mapping[str, Array]) -> Deviation:
    comparison = OutputComparison()
    try:
        comparison.add(reference, outputs)
    except OutputMismatch as error:
        raise RuntimeFailed(f"The build's outputs cannot be compared: {error}.") from error
    return comparison.deviation()


def _build_of(http: Transport, original: Record) -> Build:
    published = builds(
        http,
        original.mlmodel,
        revision=original.revision,
        target=original.target,
        scenario=checked_scenario(original.document["protocol"]["scenario"]),
    )
    build = next((one for one in published if one.record_id == original.id), None)
    if build is None:
        raise BadInput(
            "The hub has no build of this record to download: its candidate was not faster, or the "
            "build was replaced by newer results.",
            f"`hpcfair info {original.mlmodel}` shows the builds there are.",
        )
    if original.document["target"]["architecture"] != machine.describe().architecture:
        raise BadInput(
            f"The build is for {original.target}, which this machine cannot run.",
            "Repeat it on a machine of that architecture.",
        )
    return build


def _interval(document: Any) -> Interval:
    compared = document["comparison"]
    return Interval(compared["ratio"], compared["ratio_low"], compared["ratio_high"])
