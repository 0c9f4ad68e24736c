"""``manage.py bundle``."""

import io
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from registry.attestations.keys import keyid_of
from registry.services.work.job import job_submit
from registry.states import JobKind
from registry.tables import Device, JobBundle, MLModel
from tests.bundles import Results, key_of
from tests.programs import needs
from tests.registry import shopfloor
from tests.registry.work.test_bundle_identity import identity
from workers.agent.devicekey import DeviceKey

pytestmark = [pytest.mark.django_db, needs("cryptography")]


def command(*arguments: Any) -> str:
    out = io.StringIO()
    call_command("bundle", *map(str, arguments), stdout=out)
    return out.getvalue()


def test_jobs_go_out_and_results_come_in(galaxy: MLModel, tmp_path: Path) -> None:
    revision = galaxy.refs.get(name="main").revision
    shopfloor.make_graph(revision)
    target, device = shopfloor.make_machine()
    key = key_of(device, tmp_path / "agent")
    job = job_submit(actor=None, kind=JobKind.TUNE, revision=revision, target=target)
    export = ("export", "--device", device.name, "--budget", 600, tmp_path / "jobs")
    assert "exported\t1 job\t" in command(*export)
    with pytest.raises(CommandError, match="exists already"):
        command(*export)
    row = JobBundle.objects.get()
    assert str(row) in command()
    results = Results(row, key).end(str(job.uuid)).packed(tmp_path / "results")
    assert f"{job.uuid}\tsucceeded" in command("import", results)
    with pytest.raises(CommandError, match="is imported"):
        command("cancel", row)
    with pytest.raises(CommandError, match="The results are refused"):
        command("import", tmp_path / "jobs")


def test_a_device_is_enrolled(tmp_path: Path) -> None:
    key = DeviceKey.in_folder(tmp_path / "agent")
    shown = command("enrol", identity(key, tmp_path / "identity"))
    assert "cave-1 is a device of target" in shown
    assert keyid_of(Device.objects.get().public_key) in shown
