"""The signed report of how a job ended, the same over HTTPS and in bundles."""

from typing import Any

from hpcfair.bundle import end_bytes
from hpcfair.tickets import JobTicket
from workers.agent.devicekey import DeviceKey
from workers.device.end import End

#: Characters of a failure's detail that the hub accepts.
_LONGEST_DETAIL = 10_000


def signed_report(ticket: JobTicket, end: End, key: DeviceKey) -> dict[str, Any]:
    """The report of an end as JSON, without the fence. The outcome must not be ``lost``."""
    report: dict[str, Any] = {"outcome": end.outcome}
    outcome_body: dict[str, Any] = {}
    if end.failure is not None:
        report["failure"] = outcome_body = {
            "class": end.failure.failure_class,
            "code": end.failure.code,
            "detail": end.failure.detail[:_LONGEST_DETAIL],
        }
    elif end.outcome == "succeeded":
        report["result"] = outcome_body = end.result
    signed = end_bytes(
        job=ticket.job_uuid, fence=ticket.fence, outcome=end.outcome, result=outcome_body
    )
    return report | {"signature": key.sign(signed)}
