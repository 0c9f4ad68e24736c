"""Wake-up notifications: messages to workers, by task name, that work is queued.

The only module that knows the broker. A notification carries no state: the queue is in the
database, and the reaper repeats notifications for jobs that stay queued. So sending never raises,
never retries and blocks for at most a second or two.
"""

import logging
from functools import cache

from celery import Celery
from django.conf import settings
from django.db import transaction

from registry.states import HUB_JOBS, JobKind
from registry.tables import Job

logger = logging.getLogger(__name__)

#: Kind of job to the name of its Celery task; a test checks that workers register these names.
TASKS: dict[JobKind, str] = {
    JobKind.INSPECT: "workers.tasks.inspect",
    JobKind.TABLES: "workers.tasks.tables",
    JobKind.IMPORT: "workers.tasks.imports",
    JobKind.TUNE: "workers.tasks.tune",
    JobKind.SCHEDULE: "workers.tasks.tune",
    JobKind.ABLATE: "workers.tasks.tune",
    JobKind.CROSS: "workers.tasks.tune",
    JobKind.PASSES: "workers.tasks.tune",
    JobKind.REPRODUCE: "workers.tasks.tune",
    JobKind.ASSESS: "workers.tasks.assess",
    JobKind.DOI: "workers.tasks.doi",
    JobKind.RUN: "workers.tasks.tune",
}

#: The task that sends queued webhook deliveries.
DELIVER = "workers.tasks.deliver"

#: The task that finds the chunks of large files.
CHUNK = "workers.tasks.chunk"

#: Older notifications are dropped: the reaper has repeated them by then.
_STALE_AFTER_S = 600
_BROKER_PATIENCE_S = 1.0


def queue_of(kind: JobKind, target_slug: str | None) -> str:
    """The broker's queue for jobs of a kind, which the workers that can do them consume."""
    return "hub" if kind in HUB_JOBS else f"target.{target_slug}"


def notify(job: Job) -> None:
    """Notify the workers of ``job`` once the current transaction commits. Never raises."""
    kind = JobKind(job.kind)
    slug = job.target.slug if job.target else None
    uuid, queue = str(job.uuid), queue_of(kind, slug)
    transaction.on_commit(
        lambda: _send(TASKS[kind], queue, f"job {uuid}", job_uuid=uuid), robust=True
    )


def notify_kind(kind: JobKind) -> None:
    """Notify the hub's workers of more jobs of a kind, after all queued messages. Never raises."""
    _send(TASKS[kind], queue_of(kind, None), f"jobs of kind {kind}")


def notify_deliveries() -> None:
    """Notify the hub's workers of webhook deliveries once the transaction commits. Never raises."""
    transaction.on_commit(lambda: _send(DELIVER, "hub", "webhook deliveries"), robust=True)


def notify_chunking() -> None:
    """Notify the hub's workers of large files once the transaction commits. Never raises."""
    transaction.on_commit(lambda: _send(CHUNK, "hub", "large files"), robust=True)


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
    except Exception as error:  # noqa: BLE001 - the reaper repeats lost messages
        logger.warning("no notification of %s on queue %s: %s", subject, queue, error)


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
