"""Experiments with the best schedule of an operator workload."""

from typing import Any

from hpcfair.job import Job, seconds
from hpcfair.transport import Transport, quoted


def ablate(http: Transport, workload: str, *, budget: str | float | None = None) -> Job:
    """Request an ablation of the best schedule of an operator workload, by its id.

    Raises ``NotFound``: ``workload_not_found``; ``Forbidden`` without a model of one's own that
    uses it.
    """
    body = {} if budget is None else {"budget_s": seconds(budget)}
    answer = http.json("POST", f"/api/v1/workloads/{quoted(workload)}/ablations", body=body)
    return Job(http, answer["items"][0])


def ablations(http: Transport, workload: str) -> list[dict[str, Any]]:
    """The newest ablation of a workload: a control, then one variant for each reverted decision."""
    answer = http.json("GET", f"/api/v1/workloads/{quoted(workload)}/ablations")
    rows: list[dict[str, Any]] = answer["items"]
    return rows
