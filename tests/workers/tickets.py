"""Tickets for tests of jobs that need no hub."""

from typing import Any

from hpcfair.tickets import JobTicket


def make_ticket(**fields: Any) -> JobTicket:
    """A ticket of a search of a network without files."""
    columns: dict[str, Any] = {
        "job_uuid": "0" * 32,
        "kind": "tune",
        "attempt": 1,
        "fence": 1,
        "lease_s": 60.0,
        "mlmodel": "alice/net",
        "revision_oid": "c" * 40,
        "target": "x86-64",
        "device": "rack-1",
        "parameters": {},
        "files": (),
        "graph": None,
    }
    return JobTicket(**columns | fields)
