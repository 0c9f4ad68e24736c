"""Further panels of the page of a workload, each with its part of the context and a template.

The templates are ``templates/workload/effects.html`` (ablations) and ``across.html`` (the same
workload on other targets and in other models, principles).
"""

from typing import Any

from django.http import HttpRequest

from registry.tables import ScheduleTask


def panels_of(request: HttpRequest, task: ScheduleTask) -> dict[str, Any]:  # noqa: ARG001
    """Context of the panels; the caller has checked that the task is readable."""
    return {}
