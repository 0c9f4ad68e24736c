"""Methods of the client for jobs, runs on devices, and targets."""

from collections.abc import Iterator, Sequence
from typing import Any

from hpcfair import job, pid, runon
from hpcfair.acceptance import Acceptance
from hpcfair.job import Job, Jobs
from hpcfair.methods.base import BaseClient
from hpcfair.precisions import Tolerance
from hpcfair.runon import RemoteRun
from hpcfair.transport import pages
from hpcfair.types import Target


class WorkMethods(BaseClient):
    """Methods of the client for jobs, runs on devices, and targets."""

    def tune(
        self,
        name: str,
        *,
        targets: Sequence[str] | None = None,
        budget: str | float | None = None,
        revision: str | None = None,
        strategy: str | None = None,
    ) -> Jobs:
        """Request searches for faster builds.

        Args:
            targets: Hardware targets; default: all targets with an online device.
            budget: Search time per target: seconds, or ``"10min"``.
            strategy: Name of the search strategy; default: chosen by the hub.

        Returns:
            One job per target. ``wait()`` waits for all of them.
        """
        name, revision = pid.locate(self.http, self.cache, name, revision)
        return job.tune(
            self.http, name, targets=targets, budget=budget, revision=revision, strategy=strategy
        )

    def run_on(  # noqa: PLR0913 - each is a decision of its own
        self,
        target: str,
        name: str,
        inputs: Any,
        *,
        revision: str | None = None,
        tolerance: Tolerance | float | None = None,
        min_accuracy: float | None = None,
        build: str | None = None,
        wait: bool = True,
        timeout_s: float | None = None,
    ) -> RemoteRun:
        """Run a model on a device of the hub, of a target that this machine need not have.

        The hub checks the inputs against the model's signature before it queues the run. The run is
        visible to this account only, counts towards its quotas and expires after some days.

        Args:
            target: Name of the target, as in :meth:`targets`.
            inputs: An array, a list of arrays in the order of the inputs, or arrays by input name.
            tolerance, min_accuracy: As of :meth:`load`, whose rule selects the build.
            build: Id of the build to run, instead of limits.
            wait: Whether to wait for the end of the run, at most ``timeout_s`` seconds.

        Raises:
            BadInput: the inputs do not match the signature; nothing was sent.
            Invalid: the hub refused the inputs or the target.
            Forbidden: a quota is used up.
            JobFailed, TimedOut: as of :meth:`hpcfair.Job.wait`.
        """
        limits = Acceptance.of(tolerance, min_accuracy)
        name, revision = pid.locate(self.http, self.cache, name, revision)
        run = runon.run_on(
            self.http, target, name, inputs, revision=revision, acceptance=limits, build=build
        )
        return run.wait(timeout_s) if wait else run

    def remote_run(self, uuid: str) -> RemoteRun:
        """The run of this account with the job id ``uuid``. Raises NotFound."""
        return runon.remote_run(self.http, uuid)

    def job(self, uuid: str) -> Job:
        """The job of that id."""
        return job.job(self.http, uuid)

    def jobs(
        self,
        *,
        state: str | None = None,
        kind: str | None = None,
        model: str | None = None,
        target: str | None = None,
    ) -> Iterator[Job]:
        """Jobs visible to this account, newest first."""
        return job.jobs(self.http, state=state, kind=kind, model=model, target=target)

    def targets(self) -> list[Target]:
        """Hardware targets of the hub."""
        return [Target.from_json(item) for item in pages(self.http, "/api/v1/targets")]
