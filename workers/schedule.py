"""Everything periodic, in one table. Beat only rings; the work itself is safe to run twice."""

from typing import Any

from django.conf import settings

#: Of records that were not looked at for long, so many wait at most, and are filled up so often.
ASSESS_AT_ONCE = 50
ASSESS_EVERY_S = 600.0
#: What was hidden, renamed or withdrawn, DataCite hears of within a minute.
DOI_EVERY_S = 60.0


def beat() -> dict[str, dict[str, Any]]:
    """Celery's beat table: name to task and seconds between its runs."""
    return {
        "reap": {
            "task": "workers.tasks.reap",
            "schedule": float(settings.JOB_REAP_EVERY_S),
            # A bell that nobody heard in time would only ring twice.
            "options": {"expires": float(settings.JOB_REAP_EVERY_S)},
        },
        "collect": {
            "task": "workers.tasks.collect",
            "schedule": float(settings.GC_EVERY_S),
            "options": {"expires": 3600.0},
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
        "dois": {
            "task": "workers.tasks.doi",
            "schedule": DOI_EVERY_S,
            "options": {"expires": DOI_EVERY_S},
        },
    }
