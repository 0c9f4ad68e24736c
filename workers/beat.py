"""The beat table: Celery's periodic tasks. Each is safe to run twice or concurrently."""

from typing import Any

from django.conf import settings

#: Upper bound on the objects that each step of a garbage collection looks at.
COLLECT_AT_ONCE = 1_000_000
#: Upper bound on queued assessments of records that were last assessed long ago.
ASSESS_AT_ONCE = 50
#: Seconds between the runs that queue them.
ASSESS_EVERY_S = 600.0
#: Delay after which DataCite is told of changed, hidden or withdrawn records.
DOI_EVERY_S = 60.0

#: Delay after which large files that did not arrive by Xet can be downloaded by it.
CHUNK_EVERY_S = 60.0
#: Seconds between looks for networks that an older version of the hub inspected.
REINSPECT_EVERY_S = 60.0
#: Seconds between looks for models that another converter refused.
CONVERT_EVERY_S = 60.0
#: Seconds between deletions of expired runs.
EXPIRE_EVERY_S = 3600.0
#: Seconds between computations of principles, which end at once without new evidence.
PRINCIPLES_EVERY_S = 900.0
#: Delay after which what could not be signed when it was published is signed.
SIGN_EVERY_S = 60.0


def table() -> dict[str, dict[str, Any]]:
    """Celery's beat table: name to task, seconds between its runs and options."""
    return {
        "reap": {
            "task": "workers.tasks.reap",
            "schedule": float(settings.JOB_REAP_EVERY_S),
            # Stale messages of a busy queue are dropped; the next run replaces them.
            "options": {"expires": float(settings.JOB_REAP_EVERY_S)},
        },
        "collect": {
            "task": "workers.tasks.collect",
            "schedule": float(settings.GC_EVERY_S),
            "options": {"expires": 3600.0},
        },
        "expire": {
            "task": "workers.tasks.expire",
            "schedule": EXPIRE_EVERY_S,
            "options": {"expires": EXPIRE_EVERY_S},
        },
        "chunk": {
            "task": "workers.tasks.chunk",
            "schedule": CHUNK_EVERY_S,
            "options": {"expires": CHUNK_EVERY_S},
        },
        "sign": {
            "task": "workers.tasks.sign",
            "schedule": SIGN_EVERY_S,
            "options": {"expires": SIGN_EVERY_S},
        },
        "principles": {
            "task": "workers.tasks.principles",
            "schedule": PRINCIPLES_EVERY_S,
            "options": {"expires": PRINCIPLES_EVERY_S},
        },
        "deliver": {
            "task": "workers.tasks.deliver",
            "schedule": float(settings.WEBHOOK_EVERY_S),
            "options": {"expires": float(settings.WEBHOOK_EVERY_S)},
        },
        "assess": {
            "task": "workers.tasks.assess_due",
            "schedule": ASSESS_EVERY_S,
            "options": {"expires": ASSESS_EVERY_S},
        },
        "reinspect": {
            "task": "workers.tasks.reinspect",
            "schedule": REINSPECT_EVERY_S,
            "options": {"expires": REINSPECT_EVERY_S},
        },
        "convert": {
            "task": "workers.tasks.convert",
            "schedule": CONVERT_EVERY_S,
            "options": {"expires": CONVERT_EVERY_S},
        },
        "dois": {
            "task": "workers.tasks.doi",
            "schedule": DOI_EVERY_S,
            "options": {"expires": DOI_EVERY_S},
        },
    }
