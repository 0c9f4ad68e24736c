"""The Celery application. Messages are wake-up notifications; the queue is in the database. So
messages are acknowledged early, results are not stored, and lost messages lose no work."""

import ctypes
import os
import signal
import sys
from typing import Any

import django
from celery import Celery, signals

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hub.settings.production")
django.setup()

from django.conf import settings  # noqa: E402

from workers import beat  # noqa: E402

_PR_SET_PDEATHSIG = 1

app = Celery("hpcfair", broker=settings.REDIS_URL, include=["workers.tasks"])
app.conf.update(
    accept_content=["json"],
    task_serializer="json",
    task_ignore_result=True,
    task_default_queue="hub",
    task_acks_late=False,
    worker_prefetch_multiplier=1,
    worker_max_tasks_per_child=200,
    worker_hijack_root_logger=False,
    worker_send_task_events=False,
    broker_connection_retry_on_startup=True,
    beat_schedule=beat.table(),
    beat_schedule_filename=str(settings.DATA_DIR / "run" / "beat"),
    timezone="UTC",
)


@signals.worker_process_init.connect
def _end_with_the_worker(**_: Any) -> None:
    # A pool process that outlives its killed worker would disturb measurements of the next one.
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
