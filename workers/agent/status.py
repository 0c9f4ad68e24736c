"""The status of an agent, as ``hpcfair-agent status`` shows it."""

import json
from pathlib import Path
from typing import Any

from workers.agent import statefolder
from workers.agent.enrolment import Enrolment
from workers.agent.heartbeat_main import STATUS_FILE
from workers.agent.journal import Journal


def status_of(state: Path) -> dict[str, Any]:
    """The status of the agent of a state folder, as JSON. Raises NotEnrolled."""
    enrolment = Enrolment.read(state)
    document: dict[str, Any] = {
        "device": enrolment.device,
        "hub": enrolment.hub,
        "is_running": statefolder.is_in_use(state),
        "state": "",
        "heartbeat_at": "",
        "problem": "",
        "job": "",
        "kind": "",
        "unsent_writes": 0,
    }
    if beat := _last_heartbeat(state):
        document |= {
            "state": beat["state"],
            "heartbeat_at": beat["at"],
            "problem": beat["error"],
        }
    with Journal(state) as journal:
        if claim := journal.claim():
            document |= {"job": claim.ticket["job_uuid"], "kind": claim.ticket["kind"]}
            document["unsent_writes"] = len(journal.unsent())
    return document


def _last_heartbeat(state: Path) -> dict[str, str] | None:
    try:
        beat: dict[str, str] = json.loads((state / STATUS_FILE).read_text())
    except (OSError, ValueError):
        return None
    return beat
