"""Further panels of the page of a workload: their part of its context.

``templates/workload/effects.html`` shows ablations, ``across.html`` the schedules of other targets.
"""

from typing import Any

from django.http import HttpRequest

from hub.pages.experiment import experiments_context
from registry.tables import ScheduleTask


def panels_of(request: HttpRequest, task: ScheduleTask) -> dict[str, Any]:
    """Context of the panels; the caller has checked that the task is readable."""
    return experiments_context(request.user, task)
