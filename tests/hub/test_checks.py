"""A hub that cannot work says so before it starts, by number."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hub import checks
from hub.settings import env
from tests.programs import needs

ROOT = Path(__file__).resolve().parents[2]


def ids(settings: Any, **changes: Any) -> list[str]:
    for name, value in changes.items():
        setattr(settings, name, value)
    return [str(message.id) for check in checks.CHECKS for message in check()]


def test_a_sound_hub_has_nothing_to_say(settings: Any) -> None:
    assert ids(settings) == []


def test_a_variable_nobody_can_read_is_e001(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(env, "problems", {"HPCFAIR_LEASE_SECONDS": "'x' is not a whole number"})
    assert ids(settings) == ["hub.E001"]
    assert "HPCFAIR_LEASE_SECONDS" in checks.environment()[0].msg


def test_a_data_folder_that_is_no_folder_is_e002(settings: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    assert ids(settings, DATA_DIR=tmp_path / "file") == ["hub.E002"]
    assert ids(settings, DATA_DIR=tmp_path / "file" / "below") == ["hub.E002"]


def test_a_data_folder_that_can_be_made_is_fine(settings: Any, tmp_path: Path) -> None:
    assert ids(settings, DATA_DIR=tmp_path / "a" / "b") == []


@needs("unprivileged")
def test_a_data_folder_of_somebody_else_is_e002(settings: Any, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert ids(settings, DATA_DIR=tmp_path) == ["hub.E002"]


@pytest.mark.parametrize("url", ["hub.example.org", "ftp://hub.example.org", "https://", ""])
def test_an_address_nobody_can_type_is_e003(settings: Any, url: str) -> None:
    assert ids(settings, HUB_URL=url) == ["hub.E003"]


@pytest.mark.parametrize("url", ["proxy", "ftp://proxy"])
def test_an_address_no_worker_can_ask_at_is_e003(settings: Any, url: str) -> None:
    assert ids(settings, INSIDE_URL=url) == ["hub.E003"]


def test_another_database_is_e004(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(settings.DATABASES["default"], "ENGINE", "django.db.backends.mysql")
    assert ids(settings) == ["hub.E004"]


@pytest.mark.parametrize("url", ["amqp://host", "localhost:6379", ""])
def test_another_broker_is_e005(settings: Any, url: str) -> None:
    assert ids(settings, REDIS_URL=url) == ["hub.E005"]


def test_a_location_nginx_would_not_find_is_e007(settings: Any) -> None:
    assert ids(settings, ACCEL_PREFIX="/_blobs") == ["hub.E007"]
    assert ids(settings, ACCEL_PREFIX="/_blobs/") == []


@pytest.mark.parametrize("blobs", ["/srv/blobs", "https://bucket", "s3://", "s3://bucket?x=1"])
def test_what_is_no_bucket_is_e008(settings: Any, blobs: str) -> None:
    assert ids(settings, BLOBS=blobs) == ["hub.E008"]
    assert ids(settings, BLOBS="s3://bucket/some/where") == []


def test_a_bucket_without_a_program_to_reach_it_is_e008(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "find_spec", lambda _: None)
    assert ids(settings, BLOBS="s3://bucket") == ["hub.E008"]
    assert "pip install" in (checks.blobs()[0].hint or "")


@pytest.mark.parametrize("naan", ["", "1234", "ark:/12345", "12345/", "example"])
def test_a_number_nothing_can_be_minted_under_is_e009(settings: Any, naan: str) -> None:
    assert ids(settings, NAAN=naan) == ["hub.E009"]
    assert ids(settings, NAAN="12148") == []


def test_the_test_authority_is_w011_at_deployment(settings: Any) -> None:
    assert [one.id for one in checks.authority()] == ["hub.W011"]
    settings.NAAN = "12148"
    assert checks.authority() == []


def test_a_hub_without_a_mail_server_is_w013_at_deployment(settings: Any) -> None:
    assert [one.id for one in checks.mail()] == ["hub.W013"]
    settings.EMAIL_HOST = "mail.example.org"
    assert checks.mail() == []


ACCOUNT = {"DATACITE_ACCOUNT": "A.B", "DATACITE_PASSWORD": "c", "DATACITE_PREFIX": "10.82433"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"DATACITE_ACCOUNT": ""},
        {"DATACITE_PASSWORD": ""},
        {"DATACITE_PREFIX": ""},
        {"DATACITE_PREFIX": "https://doi.org/10.82433"},
        {"DATACITE_URL": "api.datacite.org"},
    ],
)
def test_half_an_account_with_datacite_is_e010(settings: Any, wrong: dict[str, str]) -> None:
    assert ids(settings, **ACCOUNT) == []
    assert ids(settings, **wrong) == ["hub.E010"]


def test_a_host_that_would_refuse_its_own_links_is_w006(settings: Any) -> None:
    hosts = ["localhost"]
    assert ids(settings, HUB_URL="https://hub.example.org", ALLOWED_HOSTS=hosts) == ["hub.W006"]
    hosts = [".example.org"]
    assert ids(settings, HUB_URL="https://hub.example.org", ALLOWED_HOSTS=hosts) == []


@pytest.mark.parametrize("command", [("migrate", "--plan"), ("quota", "nobody")])
def test_a_wrong_value_stops_the_start(tmp_path: Path, command: tuple[str, ...]) -> None:
    environment = {**os.environ, "HPCFAIR_LEASE_SECONDS": "soon", "HPCFAIR_DATA": str(tmp_path)}
    environment["DJANGO_SETTINGS_MODULE"] = "hub.settings.production"
    done = subprocess.run(
        [sys.executable, "manage.py", *command],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "hub.E001" in done.stderr
    assert "HPCFAIR_LEASE_SECONDS" in done.stderr


#: Runs a command of an operator, and prints whether that imported the views.
_COMMAND = """
import sys
from django.core.management import execute_from_command_line
execute_from_command_line(["manage.py", "settings_reference"])
print("hub.urls" in sys.modules)
"""
#: Starts a Celery worker as far as its tasks are imported, and prints whether there are any, too.
_WORKER = """
import sys
from workers.__main__ import app
app.loader.init_worker()
print("workers.tasks" in sys.modules, "hub.urls" in sys.modules)
"""


@pytest.mark.parametrize(
    ("program", "printed"),
    [(_COMMAND, "False"), (_WORKER, "True False")],
    ids=["command", "worker"],
)
def test_who_serves_no_pages_imports_no_views(tmp_path: Path, program: str, printed: str) -> None:
    environment = {**os.environ, "HPCFAIR_DATA": str(tmp_path)}
    environment["DJANGO_SETTINGS_MODULE"] = "hub.settings.production"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True)
    assert done.stdout.decode().splitlines()[-1] == printed
