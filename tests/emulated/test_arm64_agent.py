"""An ARM64 device of a hub: it joins, gets the jobs of its target, searches and publishes builds.

The hub is on this machine; the agent on the emulated one is what ``pip install hpcfair-agent``
brings.
"""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django.live_server_helper import LiveServer

from examples.emulated.enter import PYTHON, ROOT, command
from hpcfair import machine
from registry.selectors.results.best import largest_gains
from registry.selectors.search.speeds import speeds_of
from registry.services.work.devicecode import device_code_issue
from registry.services.work.job import job_submit
from registry.states import DeviceState, JobKind, JobState
from registry.tables import Build, Device, Job, MLModel, Record, Target, Trial, User
from tests.emulated.machines import ENVIRONMENT
from tests.programs import needs
from tests.registry import shopfloor
from tests.thirdparty.environments import build_wheel, install_into
from tests.workers.agent.devices import PATIENCE_S, publish, until
from workers.jobs.run import drain

pytestmark = [needs("arm64"), pytest.mark.django_db(transaction=True), pytest.mark.slow]

SLUG = "arm64-neoverse-n1-emulated"
#: Short measurements, and one candidate beside the default: each child process takes seconds there.
SEARCH = {"backends": ["onnxruntime"], "budget_s": 4, "trials": 1}


@dataclass(frozen=True, slots=True)
class Agent:
    """The agent on the emulated machine: where it is installed, and its state folder."""

    packages: Path
    state: Path

    def run(self, *arguments: str) -> str:
        """Run a command of it to its end; returns what it printed."""
        done = subprocess.run(
            self._command(arguments),
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_S,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    @contextmanager
    def working(self) -> Iterator[subprocess.Popen[bytes]]:
        """Let it claim jobs during the block."""
        with (self.state / "log").open("ab") as log:
            process = subprocess.Popen(
                self._command(("run", "--drain-s", "0")), env=self._environment, stderr=log
            )
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    @property
    def log(self) -> str:
        """Its log so far."""
        return (self.state / "log").read_text()

    @property
    def _environment(self) -> dict[str, str]:
        return ENVIRONMENT | {"PYTHONPATH": str(self.packages)}

    def _command(self, arguments: tuple[str, ...]) -> list[str]:
        agent = [PYTHON, "-m", "workers.agent", "--state", str(self.state), *arguments]
        return command("arm64", agent, [self.packages, self.state])


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    packages, state = tmp_path / "packages", tmp_path / "state"
    install_into(packages, *(build_wheel(ROOT / name, tmp_path) for name in ("client", "workers")))
    state.mkdir(mode=0o700)
    return Agent(packages, state)


def queued_searches(alice: User, *targets: Target) -> list[Job]:
    """Searches of a published network, one for each target."""
    publish(alice)
    drain([JobKind.INSPECT], here=None)
    revision = MLModel.objects.get().refs.get(name="main").revision
    Job.objects.filter(state=JobState.QUEUED).delete()
    return [
        job_submit(
            actor=None, kind=JobKind.TUNE, revision=revision, target=target, parameters=SEARCH
        )
        for target in targets
    ]


def test_it_joins_searches_and_publishes(
    live_server: LiveServer,
    alice: User,
    agent: Agent,
    client: Client,
    settings: Any,
    data_dir: Path,
) -> None:
    settings.SCHEDULE_S, settings.PASSES_S, settings.JOB_LEASE_S = 0, 0, 30
    agent.run("join", device_code_issue(actor=None, target=None), "--hub", live_server.url)
    device = Device.objects.select_related("target").get()
    assert (device.target.slug, device.is_emulated, device.target.is_emulated) == (SLUG, True, True)
    assert machine.EMULATED in device.facts["features"]

    real, _ = shopfloor.make_machine()
    own, others = queued_searches(alice, device.target, real)
    with agent.working() as process:
        until(lambda: Job.objects.get(pk=own.pk).state not in {"queued", "leased"})
        own.refresh_from_db()
        assert own.state == JobState.SUCCEEDED, own.failure_detail or agent.log
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0, agent.log
    assert own.device == device
    # Jobs of other targets wait for their devices.
    others.refresh_from_db()
    assert others.state == JobState.QUEUED
    device.refresh_from_db()
    assert device.state == DeviceState.ACTIVE
    assert {"onnxruntime"} <= set(device.tools)

    assert Trial.objects.filter(job=own).exists()
    builds = list(Build.objects.filter(withdrawn_at=None))
    assert all(build.target == device.target and build.files.exists() for build in builds)
    # Its outputs were compared with those of the network without optimisations.
    (baseline,) = (build for build in builds if build.is_baseline)
    assert baseline.deviation["max_absolute"] < 1e-4
    check_marks(client, device)


def check_marks(client: Client, device: Device) -> None:
    """Records say that they were measured on an emulated machine, and no ranking has them."""
    records = list(Record.objects.all())
    assert records
    for record in records:
        document = record.document
        assert record.device == device
        assert document["target"]["slug"] == SLUG
        assert machine.EMULATED in document["target"]["features"]
        assert document["target"]["facts"]["is_emulated"] is True
        # System calls of an emulated program are not filtered; the namespaces around it confine it.
        assert document["environment"]["sandbox"] == "rlimits"
        assert document["provenance"]["tools"].keys() == {"hpcfair-agent"}
        page = client.get(reverse("record", args=[record.pk]))
        assert "Measured on an emulated machine" in page.content.decode()
    mlmodels = list(MLModel.objects.all())
    assert speeds_of(mlmodels) == {}
    assert [speed.target for speed in speeds_of(mlmodels, SLUG).values()] == [SLUG]
    assert largest_gains(None) == []
