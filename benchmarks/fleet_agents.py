"""Simulated agents: ``python -m benchmarks.fleet_agents FOLDER ADDRESS SEED PARENT``.

``FOLDER/identities.json`` lists the devices with tokens and keys, ``FOLDER/work.json`` their
results. Each agent is a process of its own, forked from this one and started again when it dies.
All end with this process, which ends with the process ``PARENT``. ``FOLDER/pids/NAME`` has its
process id; ``FOLDER/log`` gets a line for each of these answers:

    succeeded JOB FENCE     the hub acknowledged the end
    claim SECONDS           time of a request for a job
    late STATUS             answer to an end that was sent after the lease had ended
    duplicate STATUS        answer to an end that was sent again
    partition JOB           the agent was silent for longer than its lease
    refused STATUS CODE     any other refusal
"""

import copy
import gc
import hashlib
import json
import os
import random
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from benchmarks.fleet_client import AgentClient, Refused
from benchmarks.lifetime import end_with_parent
from registry import schemas
from workers.agent.heartbeat_main import IDLE_FACTOR

_REBOOT_S = 0.05
#: Pause in seconds of an agent that ends by an error, so that repeated errors use no processor.
_REPAIR_S = 1.0
_DAY_S = 86_400.0


@dataclass
class SimulatedAgent:
    """An agent that simulates searches.

    Attributes:
        work: ``seconds`` of a job, shares of jobs with a ``partition`` and with a ``duplicate``
            end, and the examples ``document``, ``trial`` and ``build``.
        log: File descriptor of the log.
        held: The job that it holds, as heartbeats name it.
        is_cut_off: Whether the network does not let its heartbeats through.
    """

    client: AgentClient
    work: dict[str, Any]
    chance: random.Random
    log: int
    heartbeat_s: float = 10.0
    skew_s: float = 0.0
    held: list[dict[str, Any]] = field(default_factory=list)
    is_cut_off: bool = False

    def run(self) -> None:
        """Work until the process is killed."""
        # A clock that is wrong by up to a year, or at the epoch.
        year_s = 365 * _DAY_S
        self.skew_s = self.chance.choice((0.0, -time.time(), self.chance.uniform(-year_s, year_s)))
        hello = self.client.post(
            "hello", facts=self.work["facts"], tools={}, agent_version="0", clock=self._clock()
        )
        self.heartbeat_s = hello["heartbeat_s"]
        threading.Thread(target=self._send_heartbeats, daemon=True).start()
        while True:
            offer = self.client.claim()
            self._note(f"claim {self.client.request_s}")
            if offer["job"] is None:
                time.sleep(self.chance.uniform(0.8, 1.2) * float(offer["wait_s"]))
                continue
            self.held = [{"job": offer["job"]["job_uuid"], "fence": offer["job"]["fence"]}]
            try:
                self._do(offer["job"], offer["clock"])
            except Refused as error:
                # Another device holds the job: the lease of this one has expired.
                if error.code != "lease_lost":
                    self._note(f"refused {error.status} {error.code}")
            self.held = []

    def _do(self, ticket: dict[str, Any], clock: str) -> None:
        """Do a job that was claimed at ``clock``, the hub's time: a trial, a record, a build, the
        end."""
        job, fence = ticket["job_uuid"], ticket["fence"]
        content = f"build of {job}".encode()
        sha256 = hashlib.sha256(content).hexdigest()
        time.sleep(self._part())
        # A search key of its own, so that no other job has stored the trial.
        trial = self.work["trial"] | {"search_key": hashlib.sha256(job.encode()).hexdigest()}
        self._write(ticket, 1, "trial_add", trial=trial)
        time.sleep(self._part())
        is_partition = self.chance.random() < self.work["partition"]
        if is_partition:
            self._note(f"partition {job}")
            self.is_cut_off = True
            time.sleep(1.5 * ticket["lease_s"])
            self.is_cut_off = False
            if self.chance.random() < 0.5:
                self._end(job, fence, is_late=True)
                return
        self.client.put(f"jobs/{job}/blobs/{sha256}", content)
        document = self._document(ticket, {"model.ort": sha256}, clock)
        record = self._write(ticket, 2, "record_add", document=document)["value"]["record_id"]
        build = self.work["build"] | {"record_id": record, "files": {"model.ort": sha256}}
        self._write(ticket, 3, "builds_publish", builds=[build])
        self._end(job, fence, is_late=is_partition)

    def _end(self, job: str, fence: int, *, is_late: bool) -> None:
        result = {"summary": "simulated"}
        answer = self.client.end(job, fence, "succeeded", result)
        if answer.get("is_late"):
            self._note("late 200")
            return
        self._note(f"succeeded {job} {fence}")
        if is_late:
            self._note("late in time")
        if self.chance.random() < self.work["duplicate"]:
            try:
                self.client.end(job, fence, "succeeded", result)
            except Refused as error:
                self._note(f"duplicate {error.status}")
            else:
                self._note("duplicate 200")

    def _write(self, ticket: dict[str, Any], number: int, name: str, **columns: Any) -> Any:
        path = f"jobs/{ticket['job_uuid']}/write/{name}"
        return self.client.post(path, fence=ticket["fence"], number=number, columns=columns)

    def _document(
        self, ticket: dict[str, Any], files: dict[str, str], clock: str
    ) -> dict[str, Any]:
        """The example record for the ticket's model and these files, created at ``clock``."""
        document: dict[str, Any] = copy.deepcopy(self.work["document"])
        weights = next(file for file in ticket["files"] if file["path"].endswith(".onnx"))
        document["identity"] |= {
            "mlmodel": ticket["mlmodel"],
            "revision": ticket["revision_oid"],
            "model_sha256": weights["sha256"],
            "graph_hash": ticket["graph"]["graph_hash"],
            "artifact_sha256": schemas.artifact_sha256(files),
        }
        document["target"] |= {"device": ticket["device"]}
        created_at = clock.replace("+00:00", "Z")
        document["provenance"] |= {"job": ticket["job_uuid"], "created_at": created_at}
        return document

    def _part(self) -> float:
        """Random seconds, about half of those of a job."""
        return self.chance.uniform(0.25, 0.75) * float(self.work["seconds"])

    def _send_heartbeats(self) -> None:
        """Renew the lease, beside the other requests as a real agent does."""
        client = AgentClient(self.client.address, self.client.token, self.client.key)
        while True:
            period_s = self.heartbeat_s if self.held else IDLE_FACTOR * self.heartbeat_s
            time.sleep(self.chance.uniform(0.8, 1.0) * period_s)
            if self.is_cut_off:
                continue
            try:
                client.post("heartbeat", jobs=self.held, clock=self._clock())
            except Refused as error:
                self._note(f"refused {error.status} {error.code}")

    def _clock(self) -> str:
        at = time.gmtime(max(0.0, time.time() + self.skew_s))
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", at)

    def _note(self, line: str) -> None:
        # One write of few bytes to a file opened for appending is atomic.
        os.write(self.log, f"{line}\n".encode())


def main() -> None:
    """Keep one process for each device until this one is killed."""
    end_with_parent(int(sys.argv[4]))
    folder, address, seed = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    identities = json.loads((folder / "identities.json").read_text())
    work = json.loads((folder / "work.json").read_text())
    log = os.open(folder / "log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    (folder / "pids").mkdir()
    # Children share the pages of this process as long as nobody writes to them.
    gc.freeze()
    running: dict[int, str] = {}
    starts = dict.fromkeys(identities, 0)
    for name in identities:
        running[_start(folder, address, identities[name], work, log, f"{seed} {name} 0")] = name
        time.sleep(work["seconds"] / (2 * len(identities)))
    while True:
        pid, _ = os.waitpid(-1, 0)
        name = running.pop(pid)
        starts[name] += 1
        time.sleep(_REBOOT_S)
        fresh = f"{seed} {name} {starts[name]}"
        running[_start(folder, address, identities[name], work, log, fresh)] = name


def _start(
    folder: Path, address: str, identity: dict[str, str], work: dict[str, Any], log: int, seed: str
) -> int:
    """Fork an agent; returns its process id."""
    parent, pid = os.getpid(), os.fork()
    if pid:
        (folder / "pids" / identity["name"]).write_text(str(pid))
        return pid
    try:
        end_with_parent(parent)
        key = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(identity["key"]))
        client = AgentClient(address, identity["token"], key)
        SimulatedAgent(client, work, random.Random(seed), log).run()  # noqa: S311
    except BaseException as error:  # noqa: BLE001 - the process ends, whatever it was
        os.write(log, f"refused 0 {type(error).__name__}: {str(error)[:200]}\n".encode())
        time.sleep(_REPAIR_S)
    finally:
        os._exit(1)


if __name__ == "__main__":
    main()
