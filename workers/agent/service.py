"""Assembles the parts of an agent and runs it."""

import logging
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from workers.agent import statefolder
from workers.agent.board import Board, BoardOptions, server_of
from workers.agent.claims import ClaimedJobs
from workers.agent.connection import HubConnection
from workers.agent.devicekey import DeviceKey
from workers.agent.enrolment import Enrolment
from workers.agent.files import FileStore
from workers.agent.heartbeat import Heartbeat
from workers.agent.journal import Journal
from workers.agent.loop import AgentLoop, AgentOptions
from workers.agent.slurm import Allocation
from workers.agent.stop import Stop
from workers.device.isolation import require_isolation
from workers.device.ports import DeviceSettings
from workers.device.workspace import sweep

logger = logging.getLogger(__name__)

#: Seconds without a job after which an agent gives its allocation back to the cluster.
_SLURM_IDLE_S = 300.0
_DRAIN_S = 60.0


@dataclass(frozen=True, slots=True)
class ServiceOptions:
    """Options of ``hpcfair-agent run``; ``None``: depends on ``in_slurm``."""

    in_slurm: bool
    idle_s: float | None
    drain_s: float | None
    margin_s: float
    cache_bytes: int
    board: BoardOptions | None = None


def serve(state: Path, settings: DeviceSettings, options: ServiceOptions) -> int:
    """Run the agent of a state folder until it ends; returns the number of jobs that it claimed.

    Raises:
        NotEnrolled, StateInUse, KeyUnusable, NoAllocation, BoardInvalid, TunnelFailed: it cannot
            start.
        Refused: the hub does not accept this device.
        SystemExit: this machine confines child processes less than the settings require.
    """
    with ExitStack() as stack:
        stack.enter_context(statefolder.locked(state))
        enrolment, key = Enrolment.read(state), DeviceKey.in_folder(state)
        allocation = Allocation.read() if options.in_slurm else None
        stop = stack.enter_context(_stop(options, allocation))
        board = Board.of_state(state)
        server = stack.enter_context(server_of(board, options.board))
        settings = replace(settings, server=server)
        sweep(settings.work)
        require_isolation(settings)
        heartbeat = stack.enter_context(Heartbeat(state))
        connection = stack.enter_context(HubConnection.of(enrolment))
        journal = stack.enter_context(Journal(state))
        store = FileStore(state / "cache", options.cache_bytes)
        idle_s = _SLURM_IDLE_S if options.in_slurm and options.idle_s is None else options.idle_s
        jobs = ClaimedJobs(connection, key, journal, store, heartbeat, stop, settings)
        limits = AgentOptions(enrolment.poll_s, idle_s, options.margin_s, board=board)
        return AgentLoop(connection, jobs, heartbeat, stop, limits, allocation).run()


def _stop(options: ServiceOptions, allocation: Allocation | None) -> Stop:
    default_s = 0.0 if options.in_slurm else _DRAIN_S
    drain_s = default_s if options.drain_s is None else options.drain_s
    ends_in_s = None if allocation is None else allocation.left_s(options.margin_s)
    return Stop(drain_s=drain_s, ends_in_s=ends_in_s)
