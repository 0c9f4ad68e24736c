"""What docker-compose.yml and docker/tls.yml say, for the values that operators set."""

import re
from typing import Any

import pytest

from hub.settings import env
from tests.e2e.composefile import ROOT, Unset, compose

SECRETS = {"POSTGRES_PASSWORD": "abc", "HPCFAIR_SECRET_KEY": "def"}
OURS = ["migrate", "web", "beat", "inspector", "tuner", "gpu-tuner", "backup"]
WORKERS = ["tuner", "gpu-tuner"]
#: Places within the containers, which the image and the volumes decide.
FIXED = {"HPCFAIR_DATA", "HPCFAIR_STATIC", "HPCFAIR_ACCEL"}
#: Which machine a worker is; see hub/settings/reference.py.
MACHINE = {"HPCFAIR_TARGET", "HPCFAIR_DEVICE"}
TLS = ("docker-compose.yml", "docker/tls.yml")


def services(*files: str, **variables: str) -> dict[str, Any]:
    found: dict[str, Any] = compose(SECRETS | variables, *files)["services"]
    return found


@pytest.mark.parametrize("name", OURS)
def test_every_setting_reaches_every_container(name: str) -> None:
    given = {variable: f"value of {variable}" for variable in {*env.variables, *MACHINE}}
    environment = services(**given)[name]["environment"]
    expected = set(env.variables) - FIXED | {"HPCFAIR_DATA"}
    assert set(environment) == expected | (MACHINE if name in WORKERS else set())
    different = {key for key, value in environment.items() if given[key] != value}
    # Two workers of one machine are two devices.
    assert different == {"HPCFAIR_DATA"} | (MACHINE if name == "gpu-tuner" else set())


def test_what_is_not_set_is_not_passed_on() -> None:
    environment = services()["web"]["environment"]
    assert set(environment) == {
        "DATABASE_URL", "REDIS_URL", "HPCFAIR_DATA", "HPCFAIR_URL", "HPCFAIR_SECRET_KEY",
        "HPCFAIR_INSIDE_URL",
    }  # fmt: skip
    assert environment["DATABASE_URL"] == "postgresql://hpcfair:abc@db:5432/hpcfair"
    assert services(DATABASE_URL="postgresql://x/y")["web"]["environment"]["DATABASE_URL"] == (
        "postgresql://x/y"
    )


@pytest.mark.parametrize("name", SECRETS)
def test_there_is_no_default_password(name: str) -> None:
    with pytest.raises(Unset, match=f"set {name}"):
        compose({key: value for key, value in SECRETS.items() if key != name})
    for file in TLS:
        text = (ROOT / file).read_text()
        assert not re.search(r"\$\{\w*(PASSWORD|SECRET|KEY)\w*:-", text)


def test_every_service_waits_for_what_it_needs_to_be_healthy() -> None:
    every = services()
    for name in ("db", "broker", "web"):
        assert every[name]["healthcheck"]["test"]
    for name in OURS:
        for needed, how in every[name]["depends_on"].items():
            wanted = "service_completed_successfully" if needed == "migrate" else "service_healthy"
            assert how["condition"] == wanted


def test_the_gpu_is_for_those_who_choose_its_profile() -> None:
    every = services(HPCFAIR_DEVICE="rack-7")
    gpu, tuner = every["gpu-tuner"], every["tuner"]
    assert [name for name in every if every[name].get("profiles") == ["gpu"]] == ["gpu-tuner"]
    assert gpu["build"] | {"target": "cpu"} == tuner["build"]
    assert gpu["build"]["target"] == "gpu"
    assert gpu["image"] != tuner["image"]
    (device,) = gpu["deploy"]["resources"]["reservations"]["devices"]
    assert (device["driver"], device["capabilities"]) == ("nvidia", ["gpu"])
    assert gpu["environment"]["HPCFAIR_TARGET"] == "gpu"
    assert (tuner["environment"]["HPCFAIR_DEVICE"], tuner["hostname"]) == ("rack-7", "rack-7")
    assert gpu["hostname"] == "gpu-tuner"


def test_the_images_are_stages_of_the_dockerfile() -> None:
    text = (ROOT / "docker" / "Dockerfile").read_text()
    stages = re.findall(r"^FROM \S+ AS (\w+)$", text, re.MULTILINE)
    assert {services()[name]["build"]["target"] for name in OURS} <= set(stages)
    # pg_dump refuses a newer server.
    (client,) = re.findall(r"postgresql-client-(\d+)", text)
    (server,) = re.findall(r"^postgres:(\d+)", services()["db"]["image"])
    assert int(client) >= int(server)


def test_secrets_of_the_checkout_are_not_in_an_image() -> None:
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert {".env", ".git", ".hpcfair"} <= set(ignored)


def test_a_backup_is_a_service_of_its_own() -> None:
    backup = services()["backup"]
    assert (backup["profiles"], backup["restart"]) == (["backup"], "no")
    assert backup["volumes"] == ["data:/data", "backup:/backup"]
    assert services(HPCFAIR_BACKUP="/mnt/b")["backup"]["volumes"][1] == "/mnt/b:/backup"


def test_with_tls_nothing_else_is_open() -> None:
    every = services(*TLS, HPCFAIR_URL="https://hub.example.org")
    assert [name for name in every if every[name].get("ports")] == ["tls"]
    assert every["web"]["environment"]["HPCFAIR_BEHIND_PROXY"] == "true"
    # What else the service has stays.
    assert every["web"]["command"] == services()["web"]["command"]
    for name in ("web", "inspector", "tls"):
        assert every[name]["environment"]["HPCFAIR_URL"] == "https://hub.example.org"
    with pytest.raises(Unset, match="https address"):
        services(*TLS)
    assert [name for name in services() if services()[name].get("ports")] == ["web"]
