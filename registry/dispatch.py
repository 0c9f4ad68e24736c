"""Rings the bell: tells a worker, by name, that work waits. The only part that knows the broker.

A bell carries nothing that matters: the row is the queue, and the reaper rings again for what
waits unheard. So sending never fails, never retries and never keeps the sender waiting.
"""

import logging
from functools import cache

from celery import Celery
from django.conf import settings
from django.db import transaction

from registry.states import HUB_JOBS, JobKind
from registry.tables import Job

logger = logging.getLogger(__name__)

#: Kind of job to the name of the task that does it; a test holds the workers to these names.
TASKS: dict[JobKind, str] = {
    JobKind.INSPECT: "workers.tasks.inspect",
    JobKind.TUNE: "workers.tasks.tune",
    JobKind.SCHEDULE: "workers.tasks.tune",
    JobKind.PASSES: "workers.tasks.tune",
    JobKind.REPRODUCE: "workers.tasks.tune",
    JobKind.ASSESS: "workers.tasks.assess",
    JobKind.DOI: "workers.tasks.doi",
}

#: The task that sends what waits for webhooks.
DELIVER = "workers.tasks.deliver"

#: Heard later than this, a bell is dropped: by then the reaper has rung again.
_STALE_AFTER_S = 600
_BROKER_PATIENCE_S = 1.0


def queue_of(kind: JobKind, target_slug: str | None) -> str:
    """The queue listened to by the workers that can do such a job."""
    return "hub" if kind in HUB_JOBS else f"target.{target_slug}"


def ring(job: Job) -> None:
    """Once the current transaction commits, send the bell for ``job``. Never raises."""
    kind = JobKind(job.kind)
    slug = job.target.slug if job.target else None
    uuid, queue = str(job.uuid), queue_of(kind, slug)
    transaction.on_commit(
        lambda: _send(TASKS[kind], queue, f"job {uuid}", job_uuid=uuid), robust=True
    )


def ring_again(kind: JobKind) -> None:
    """Send the bell for more of the hub's own work, behind all that waits for its workers. Never
    raises."""
    _send(TASKS[kind], queue_of(kind, None), f"more to {kind}")


def ring_deliveries() -> None:
    """Once the current transaction commits, send the bell for webhooks. Never raises."""
    transaction.on_commit(lambda: _send(DELIVER, "hub", "webhooks"), robust=True)


def _send(task: str, queue: str, subject: str, **arguments: str) -> None:
    try:
        _app(settings.REDIS_URL).send_task(
            task,
            kwargs=arguments,
            queue=queue,
            expires=_STALE_AFTER_S,
            ignore_result=True,
            retry=False,
        )
    except Exception as error:  # noqa: BLE001 - whatever a broker throws, the reaper rings again
        logger.warning("bell for %s not rung on %s: %s", subject, queue, error)


@cache
def _app(url: str) -> Celery:
    app = Celery("hpcfair-registry", broker=url, set_as_current=False)
    app.conf.update(
        task_serializer="json",
        accept_content=["json"],
        task_ignore_result=True,
        task_publish_retry=False,
        broker_connection_timeout=_BROKER_PATIENCE_S,
        broker_connection_retry=False,
        broker_connection_max_retries=0,
        broker_transport_options={
            "socket_connect_timeout": _BROKER_PATIENCE_S,
            "socket_timeout": _BROKER_PATIENCE_S,
            "retry_on_timeout": False,
            "max_retries": 0,
        },
    )
    return app
