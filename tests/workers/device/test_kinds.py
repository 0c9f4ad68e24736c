"""Jobs of a target through the port alone, as the agent of a device runs them."""

import subprocess
import sys
from typing import Any

import pytest

from registry.services.work.attempt import job_claim
from registry.services.work.followup import job_complete
from registry.states import HUB_JOBS, JobKind, JobState
from registry.tables import Build, Job, Reproduction, Trial, User
from tests.factories import make_mlmodel, readme, tiny_onnx
from workers.device.kinds import WORK
from workers.fleet.probe import ThisMachine
from workers.jobs import run
from workers.jobs.device import device_settings, register
from workers.jobs.hub import RegistryHub
from workers.jobs.lease import Lease

#: Packages of the hub that a device does not have.
_OF_THE_HUB = {"django", "celery", "registry", "hub", "rest_framework"}


def test_a_device_does_every_kind_of_a_target() -> None:
    assert set(WORK) == {kind.value for kind in JobKind if kind not in HUB_JOBS}


def test_it_imports_nothing_of_the_hub() -> None:
    program = (
        "import sys, workers.device.kinds; print(*{name.split('.')[0] for name in sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert not _OF_THE_HUB & set(done.stdout.split())


def perform(kind: JobKind, here: ThisMachine) -> Job:
    """Do the next job of a kind as a device does: with a ticket, a hub and its settings."""
    ticket = job_claim(device_name=here.device, kinds=[kind], target=here.spec.slug)
    assert ticket is not None
    with Lease(ticket) as lease:
        result = WORK[kind](RegistryHub(ticket, lease), device_settings(), here)
    job_complete(job_uuid=ticket.job_uuid, fence=ticket.fence, result=result)
    return Job.objects.get(uuid=ticket.job_uuid)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_search_and_its_reproduction_run_through_the_port(
    alice: User, settings: Any, short_searches: None
) -> None:
    settings.TUNE_BUDGET_S = 20
    here = register()
    files: dict[str, bytes | str] = {"README.md": readme(), "model.onnx": tiny_onnx()}
    make_mlmodel("alice/net", actor=alice, files=files)
    run.drain([JobKind.INSPECT], here=None)
    Job.objects.filter(kind=JobKind.TUNE).update(
        parameters={"trials": 2, "backends": ["onnxruntime"]}
    )
    search = perform(JobKind.TUNE, here)
    assert search.state == JobState.SUCCEEDED
    assert search.result["trials"] == Trial.objects.filter(job=search).count() > 0
    baseline = Build.objects.get(is_baseline=True, withdrawn_at=None)
    assert baseline.record.document["provenance"]["job"] == str(search.uuid)
    assert baseline.profile.call_sites.exists()
    # Its follow-ups are those of a search of a Celery worker.
    again = perform(JobKind.REPRODUCE, here)
    assert again.state == JobState.SUCCEEDED
    assert set(Reproduction.objects.values_list("outcome", flat=True)) == {"reproduced"}
