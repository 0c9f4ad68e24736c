"""Celery tasks. A notification starts one, and it claims jobs until none is queued."""

import os
import time
from typing import Any

from django.conf import settings

from registry import dispatch
from registry.services.analysis.principle import principles_compute
from registry.services.fair.assessment import assess_due as queue_due
from registry.services.results.conversion import conversions_retry
from registry.services.results.graph import inspections_renew
from registry.services.storage.chunking import blobs_chunk
from registry.services.storage.gc import gc
from registry.services.trust.attestation import sign_pending
from registry.services.work.reaper import job_reap
from registry.services.work.run import runs_expire
from registry.states import HUB_JOBS, JobKind
from workers import beat
from workers.app import app
from workers.fleet.probe import served_machine
from workers.jobs import run, webhook
from workers.jobs.conversion import converter_identity
from workers.jobs.doi import update
from workers.jobs.modelimport import imports_prune

#: Variable with the time at which ``manage.py serve`` started the hub, in seconds since the machine
#: booted. A worker that dies and starts again is no start of the hub.
SERVING_SINCE = "HPCFAIR_SERVING_SINCE"
_STARTED_AT = time.monotonic()
_OF_TARGETS = [kind for kind in JobKind if kind not in HUB_JOBS]


@app.task(name="workers.tasks.inspect", ignore_result=True)
def inspect(job_uuid: str = "") -> None:  # noqa: ARG001 - the claim picks the job
    """Run queued inspect jobs while a slot of this machine is free."""
    run.drain_inspections()


@app.task(name="workers.tasks.tables", ignore_result=True)
def tables(job_uuid: str = "") -> None:  # noqa: ARG001 - the claim picks the job
    """Run all queued jobs that read tables of data sets."""
    run.drain([JobKind.TABLES], here=None)


@app.task(name="workers.tasks.imports", ignore_result=True)
def imports(job_uuid: str = "") -> None:  # noqa: ARG001 - the claim picks the job
    """Run queued imports while a slot of this machine is free."""
    run.drain_imports()


@app.task(name="workers.tasks.tune", ignore_result=True)
def tune(job_uuid: str = "") -> None:  # noqa: ARG001 - the claim picks the job
    """Run all queued jobs of this machine's target."""
    run.drain(_OF_TARGETS, here=served_machine())


@app.task(name="workers.tasks.doi", ignore_result=True)
def doi(job_uuid: str = "") -> None:  # noqa: ARG001 - the claim picks the job
    """Run all queued DOI jobs, and send changed metadata of registered DOIs to DataCite."""
    run.drain([JobKind.DOI], here=None)
    update()


@app.task(name="workers.tasks.assess", ignore_result=True)
def assess(job_uuid: str = "") -> None:  # noqa: ARG001 - the claim picks the job
    """Run one assessment; more urgent jobs come before the next."""
    if run.one([JobKind.ASSESS], here=None):
        dispatch.notify_kind(JobKind.ASSESS)


@app.task(name="workers.tasks.assess_due", ignore_result=True)
def assess_due(**_: Any) -> None:
    """Queue assessment runs of records that were not assessed for long."""
    queue_due(limit=beat.ASSESS_AT_ONCE)


@app.task(name="workers.tasks.reinspect", ignore_result=True)
def reinspect(**_: Any) -> None:
    """Queue inspections of networks that an older version of the hub inspected."""
    inspections_renew()


@app.task(name="workers.tasks.convert", ignore_result=True)
def convert(**_: Any) -> None:
    """Queue inspections of models that another converter refused than this worker has."""
    if identity := converter_identity():
        conversions_retry(identity)


@app.task(name="workers.tasks.reap", ignore_result=True)
def reap(**_: Any) -> None:
    """Requeue jobs whose lease expired, notify workers again of jobs that stay queued."""
    # Workers and agents renew leases three times in each, so half of one is enough for all.
    job_reap(ends_leases=hub_age_s() > settings.JOB_LEASE_S / 2)


def hub_age_s() -> float:
    """Seconds since the hub started; without a supervisor that says so, since this process did."""
    return time.monotonic() - float(os.environ.get(SERVING_SINCE) or _STARTED_AT)


@app.task(name="workers.tasks.collect", ignore_result=True)
def collect(**_: Any) -> None:
    """Delete unreferenced blobs, and what failed imports have fetched."""
    gc(grace=settings.GC_GRACE, most=beat.COLLECT_AT_ONCE)
    imports_prune()


@app.task(name="workers.tasks.expire", ignore_result=True)
def expire(**_: Any) -> None:
    """Delete expired runs with their inputs and outputs."""
    while runs_expire():
        pass


@app.task(name="workers.tasks.sign", ignore_result=True)
def sign(**_: Any) -> None:
    """Sign builds and benchmark records that have no signature."""
    sign_pending()


@app.task(name="workers.tasks.principles", ignore_result=True)
def principles(**_: Any) -> None:
    """Compute principles from new searches and ablations."""
    principles_compute()


@app.task(name="workers.tasks.chunk", ignore_result=True)
def chunk(**_: Any) -> None:
    """Find the chunks of large files that did not arrive by Xet."""
    blobs_chunk()


@app.task(name="workers.tasks.deliver", ignore_result=True)
def deliver(**_: Any) -> None:
    """Send queued webhook deliveries."""
    webhook.drain()
