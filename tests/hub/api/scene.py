"""A model with graph, job, trial, record, build and device: one of everything that can be read."""

import json
from dataclasses import dataclass
from hashlib import sha256

from registry.selectors.repository.mlmodel import mlmodel_get
from registry.selectors.repository.revision import revision_get
from registry.services.analysis.importedprofile import profile_import
from registry.services.fair.assessment import assessment_add
from registry.services.results.build import builds_publish
from registry.services.results.profile import profile_store
from registry.services.results.record import record_add
from registry.services.results.trial import trial_add
from registry.services.work.attempt import job_claim, job_note
from registry.services.work.job import job_submit
from registry.states import JobKind
from registry.tables import (
    Build,
    Graph,
    ImportedProfile,
    Job,
    MLModel,
    Record,
    Revision,
    ScheduleTask,
    Target,
    Trial,
)
from tests.factories import store
from tests.registry import assessed, shopfloor
from tests.registry.analysis import workloads
from tests.registry.drawings import EXAMPLE, draw


@dataclass(frozen=True)
class Scene:
    """One of everything. ``fast`` beats ``baseline``, the build of the defaults."""

    mlmodel: MLModel
    revision: Revision
    graph: Graph
    target: Target
    job: Job
    trial: Trial
    record: Record
    baseline: Build
    fast: Build
    profile: ImportedProfile
    workload: ScheduleTask

    @property
    def name(self) -> str:
        """``namespace/name``."""
        return self.mlmodel.full_name


def tuned(mlmodel: MLModel) -> Scene:
    """Tune ``mlmodel``, without running anything."""
    revision = revision_get(mlmodel)
    graph = shopfloor.make_graph(revision)
    draw(graph, EXAMPLE)
    target, device = shopfloor.make_machine()
    submitted = job_submit(actor=None, kind=JobKind.TUNE, revision=revision, target=target)
    ticket = job_claim(device_name=device.name, kinds=[JobKind.TUNE], target=target.slug)
    assert ticket is not None
    held = {"job_uuid": ticket.job_uuid, "fence": ticket.fence}
    job_note(**held, message="Half way.")
    trial = trial_add(**held, trial=shopfloor.trial())
    records = {}
    for threads in ("all", "one"):
        store(f"artefact with {threads} threads".encode())
        document = shopfloor.document(revision, threads, job=ticket.job_uuid)
        records[threads] = record_add(**held, document=document)
    baseline, fast = builds_publish(
        **held,
        builds=[
            shopfloor.build(records["all"].pk, "all", is_baseline=True, ratio=1.0, verdict="same"),
            shopfloor.build(records["one"].pk, "one", ratio=0.5, verdict="faster"),
        ],
    )
    profile_store(**held, config_sha256=fast.config_sha256, profile=shopfloor.profile())
    # A workload that no other scene shares.
    workload = workloads.add_task(ticket, key=sha256(mlmodel.full_name.encode()).hexdigest())
    best = workloads.add_trial(
        ticket, 0, key=workload.key, decisions=workloads.BEST, seconds=[0.001] * 5
    )
    workloads.confirm(ticket, best, 0.001, key=workload.key)
    assessment_add(revision, assessed.document())
    kernels = [
        {"cat": "Node", "name": f"{name}_{place}_kernel_time", "ts": place, "dur": 1 + place}
        | {"args": {"op_name": name}}
        for place, name in enumerate(("MatMul", "Relu"))
    ]
    trace = store(json.dumps(kernels).encode())
    profile = profile_import(actor=None, revision=revision, sha256=trace.sha256, target="a laptop")
    return Scene(
        mlmodel=mlmodel_get(None, mlmodel.full_name),
        revision=revision,
        graph=graph,
        target=target,
        job=Job.objects.get(pk=submitted.pk),
        trial=trial,
        record=records["one"],
        baseline=baseline,
        fast=fast,
        profile=profile,
        workload=workload,
    )
