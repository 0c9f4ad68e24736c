"""``manage.py device`` and ``manage.py target``."""

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from registry.selectors.work.device import device_get
from registry.services.work.enrolment import device_enrol
from registry.tables import DeviceCode, Target
from tests.factories import make_user
from tests.registry import shopfloor
from tests.registry.work.fleet import FACTS, new_key

pytestmark = pytest.mark.django_db


def run(*arguments: str) -> str:
    out = StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


def test_devices_are_listed_and_drained() -> None:
    shopfloor.make_machine()
    assert run("device").startswith("floor-1\tx86-64-avx512\tactive\tonline\tseen 20")
    assert run("device", "list") == run("device")
    shown = run("device", "drain", "floor-1", "--reason", "new memory")
    assert shown.endswith("new memory\n")
    assert device_get("floor-1").state == "draining"
    for action, state in [
        ("resume", "active"),
        ("maintenance", "maintenance"),
        ("quarantine", "quarantined"),
        ("retire", "retired"),
    ]:
        run("device", action, "floor-1")
        assert device_get("floor-1").state == state
    with pytest.raises(CommandError, match="floor-1 is retired"):
        run("device", "resume", "floor-1")


def test_a_code_comes_with_the_command_that_uses_it() -> None:
    alice = make_user("alice")
    words = run("device", "code", "--owner", "alice").split()
    assert words[:2] == ["hpcfair-agent", "join"]
    device, _ = device_enrol(code=words[2], name="bench-1", facts=FACTS, public_key=new_key())
    assert device.owner == alice
    assert DeviceCode.objects.get().device == device
    with pytest.raises(CommandError, match="no target 'pdp-11'"):
        run("device", "code", "--target", "pdp-11")


def test_targets_of_a_file_are_registered(tmp_path: Path) -> None:
    file = tmp_path / "targets.json"
    file.write_text(json.dumps({"targets": [{"slug": "arm64-sve", "architecture": "arm64"}]}))
    assert run("target", "--import", str(file)) == "arm64-sve\tenabled\t\n"
    assert Target.objects.get().architecture == "arm64"
    assert run("target", "arm64-sve", "--disable") == "arm64-sve\tdisabled\t\n"
    file.write_text("{")
    with pytest.raises(CommandError, match="cannot be read as JSON"):
        run("target", "--import", str(file))
    file.write_text("{}")
    with pytest.raises(CommandError, match="lists no targets"):
        run("target", "--import", str(file))
