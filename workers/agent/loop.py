"""The life of an agent: introduces the machine to the hub, claims jobs and does them."""

import logging
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from hpcfair import errors
from hpcfair.machine import TargetDefinition
from workers.agent.board import Board
from workers.agent.claims import ClaimedJobs
from workers.agent.connection import HubConnection, Refused, agent_version, clock
from workers.agent.heartbeat import Heartbeat
from workers.agent.outbox import RETRY
from workers.agent.slurm import Allocation, NoAllocation
from workers.agent.stop import Stop
from workers.device.health import solve
from workers.device.toolchain import tools_here
from workers.engine.errors import Cancelled, CandidateFailed, EngineError
from workers.fleet.probe import ThisMachine, machine_for, served_machine

logger = logging.getLogger(__name__)

_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True)
class AgentOptions:
    """Options that the operator of a device sets.

    Attributes:
        poll_s: Seconds between claims of an idle device, unless the hub names another interval.
        idle_s: Seconds without a job after which the agent ends; ``None``: never.
        margin_s: Seconds before the end of an allocation at which work is handed back.
        least_s: Seconds of an allocation below which no job is claimed any more.
        board: Description of the device if it is not this machine.
    """

    poll_s: float = 10.0
    idle_s: float | None = None
    margin_s: float = 60.0
    least_s: float = 60.0
    board: Board | None = None


class AgentLoop:
    """Works for one hub as one device, one job at a time. Used in the main thread.

    Args:
        allocation: The Slurm job in which it runs; ``None`` outside of Slurm.
    """

    def __init__(
        self,
        connection: HubConnection,
        jobs: ClaimedJobs,
        heartbeat: Heartbeat,
        stop: Stop,
        options: AgentOptions,
        allocation: Allocation | None = None,
    ) -> None:
        self._connection = connection
        self._jobs = jobs
        self._heartbeat = heartbeat
        self._stop = stop
        self._options = options
        self._allocation = allocation
        self._failures = 0
        self._reason = ""

    def run(self) -> int:
        """Work until a signal, the end of the allocation, or ``idle_s`` without a job.

        Returns:
            The number of jobs that it claimed.

        Raises:
            Refused: the hub no longer accepts this device.
        """
        # The lease of a job that an earlier process left must not expire meanwhile.
        self._jobs.hold()
        here = self._introduce()
        if here is None:
            return 0
        self._jobs.resume(here)
        busy_at, jobs = time.monotonic(), 0
        while not self._is_finished(time.monotonic() - busy_at):
            ticket = self._claim(here)
            if ticket is not None:
                here = self._described(here.definition, here)
                self._jobs.perform(ticket, here)
                busy_at, jobs = time.monotonic(), jobs + 1
        return jobs

    def _introduce(self) -> ThisMachine | None:
        """Send the hub the facts of this machine; returns it as a device of its target, or ``None``
        if the agent has to end first."""
        board = self._options.board
        here = board.as_device() if board else served_machine()
        while not self._stop.is_requested:
            answer = self._answer(partial(self._connection.post, "hello", self._introduction(here)))
            if answer is None:
                continue
            definition = _definition(answer["target"])
            is_same = definition.slug == here.spec.slug
            here = self._described(definition, replace(here, device=answer["device"]))
            if is_same:
                logger.info("%s works for %s", here.device, here.spec.slug)
                return here
            # Which tools matter depends on the target, so the facts are sent again.
        return None

    def _described(self, target: TargetDefinition, here: ThisMachine) -> ThisMachine:
        """The device with its current facts: cores and limits may have changed."""
        if board := self._options.board:
            return board.as_device(target, here.device)
        try:
            return machine_for(target, here.device, here.runner)
        except CandidateFailed as error:
            # The claimed job fails for this reason and is tried again.
            logger.warning("the machine that runs builds does not answer: %s", error)
            return here

    def _introduction(self, here: ThisMachine) -> dict[str, Any]:
        return {
            "facts": here.spec.facts,
            "tools": tools_here(here, self._jobs.settings.names()),
            "agent_version": agent_version(),
            "clock": clock(),
        }

    def _claim(self, here: ThisMachine) -> dict[str, Any] | None:
        """The next job, claimed; ``None`` after a wait if there is none."""
        self._heartbeat.listen()
        body = {
            "kinds": self._jobs.kinds,
            "available_s": self._stop.available_s,
            "cached": self._jobs.store.digests(),
        }
        answer = self._answer(lambda: self._connection.post("claim", body))
        if answer is None:
            return None
        if answer["job"] is not None:
            return dict(answer["job"])
        if answer["check"] is not None:
            self._solve(int(answer["check"]["seed"]), here)
            return None
        self._explain(answer)
        wait_s = float(answer.get("wait_s") or self._options.poll_s)
        # Agents that were started together must not poll at the same moments.
        self._stop.wait(wait_s * random.uniform(0.8, 1.2))  # noqa: S311  not a secret
        return None

    def _solve(self, seed: int, here: ThisMachine) -> None:
        """Do a health check, which shows the hub whether this machine computes correctly."""
        try:
            with self._stop.interruptible():
                outputs, failures = solve(self._jobs.settings, here, seed)
        except Cancelled:
            return
        except EngineError as error:
            logger.warning("The health check cannot be done: %s", error)
            self._stop.wait(RETRY.cap_s)
            return
        for failure in failures:
            logger.warning("%s", failure)
        body = {"seed": seed, "outputs": outputs}
        answer = self._answer(lambda: self._connection.post("check", body))
        if answer is not None:
            logger.info("health check: the device is %s", answer["state"])

    def _explain(self, answer: Mapping[str, Any]) -> None:
        """Log why there is no job, once for each reason."""
        reason = str(answer.get("reason") or "none is queued")
        if reason != self._reason:
            logger.info("No job: %s", reason)
            self._reason = reason

    def _answer(self, request: Callable[[], _Answer]) -> _Answer | None:
        """The hub's answer; ``None`` after a wait if it does not answer or is overloaded.

        Raises Refused.
        """
        try:
            answer = request()
        except (errors.HubUnreachable, errors.Unavailable) as error:
            self._failures += 1
            wait_s = RETRY.wait_s(self._failures)
            logger.warning("%s Next attempt in %.0f s.", error, wait_s)
        except errors.HubError as error:
            # A device in quarantine waits until its operator decides.
            if error.code != "device_quarantined":
                raise Refused(str(error)) from error
            wait_s = RETRY.cap_s
            logger.warning("%s Next attempt in %.0f s.", error, wait_s)
        else:
            self._failures = 0
            return answer
        self._stop.wait(wait_s)
        return None

    def _is_finished(self, idle_s: float) -> bool:
        """Whether to claim no more jobs."""
        self._follow_allocation()
        available_s, limit_s = self._stop.available_s, self._options.idle_s
        if self._stop.is_requested:
            reason = "it received a signal"
        elif available_s is not None and available_s < self._options.least_s:
            reason = "its allocation ends soon"
        elif limit_s is not None and idle_s >= limit_s:
            reason = f"there was no job for {limit_s:.0f} s"
        else:
            return False
        logger.info("The agent ends: %s.", reason)
        return True

    def _follow_allocation(self) -> None:
        """Read the end of the allocation again from time to time, because operators change it."""
        if self._allocation is None or not self._allocation.is_stale:
            return
        try:
            self._allocation = Allocation.read()
        except NoAllocation as error:
            logger.warning("%s", error)
            return
        self._stop.move(self._allocation.left_s(self._options.margin_s))


def _definition(target: Mapping[str, Any]) -> TargetDefinition:
    """A target from the hub's description, since operators may define their own."""
    return TargetDefinition(
        slug=str(target["slug"]),
        title=str(target["title"]),
        architecture=str(target["architecture"]),
        rank=int(target["rank"]),
        features=tuple(map(str, target["features"])),
    )
