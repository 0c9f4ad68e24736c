"""Only its owner can read the identity of a device, and its token is sent only by HTTPS."""

import fcntl
import os
from pathlib import Path

import pytest

from tests.workers.agent.conftest import TOKEN
from workers.agent import statefolder
from workers.agent.enrolment import Enrolment, NotEnrolled, UnsafeHub, checked_hub
from workers.agent.statefolder import (
    ForeignState,
    StateInUse,
    clear,
    default_state,
    is_in_use,
    locked,
    require_own,
)


def test_a_stored_enrolment_is_read_back(tmp_path: Path) -> None:
    enrolment = Enrolment("https://hub.example.org", "bench-1", TOKEN, "key", 22.5, 15.0)
    enrolment.write(tmp_path / "state")
    assert Enrolment.read(tmp_path / "state") == enrolment


def test_only_the_owner_can_read_it(state: Path) -> None:
    assert (state / "device.json").stat().st_mode & 0o777 == 0o600
    assert state.stat().st_mode & 0o777 == 0o700


def test_a_file_that_others_can_read_is_refused(state: Path) -> None:
    (state / "device.json").chmod(0o644)
    with pytest.raises(NotEnrolled, match="chmod 600"):
        Enrolment.read(state)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"hub": 1, "no": 2}'])
def test_a_damaged_file_is_an_error(state: Path, text: str) -> None:
    (state / "device.json").write_text(text)
    with pytest.raises(NotEnrolled):
        Enrolment.read(state)


def test_a_folder_without_a_device_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(NotEnrolled, match="hpcfair-agent join"):
        Enrolment.read(tmp_path)


def test_the_token_is_not_printed(state: Path) -> None:
    assert TOKEN not in repr(Enrolment.read(state))


@pytest.mark.parametrize(
    ("url", "clean"),
    [
        ("https://Hub.example.org/", "https://hub.example.org"),
        ("https://hub.example.org:8443/site/", "https://hub.example.org:8443/site"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("http://localhost:8000", "http://localhost:8000"),
        ("http://[::1]:8000", "http://[::1]:8000"),
    ],
)
def test_addresses_of_hubs(url: str, clean: str) -> None:
    assert checked_hub(url) == clean


@pytest.mark.parametrize(
    "url",
    [
        "http://hub.example.org",
        "http://10.0.0.7:8000",
        "http://localhost.example.org",
        "https://user:secret@hub.example.org",
        "https://hub.example.org?x=1",
        "ftp://hub.example.org",
        "hub.example.org",
        "https://[::1",
        "",
    ],
)
def test_unsafe_addresses_are_refused(url: str) -> None:
    with pytest.raises(UnsafeHub) as refusal:
        checked_hub(url)
    assert "secret" not in str(refusal.value)


def test_the_folder_of_another_user_is_left_alone(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_own(state)
    require_own(state / "missing")
    monkeypatch.setattr(os, "geteuid", lambda: state.stat().st_uid + 1)
    with pytest.raises(ForeignState, match="as that user"):
        require_own(state)


def test_a_state_folder_has_one_agent_at_a_time(tmp_path: Path) -> None:
    assert not is_in_use(tmp_path)
    with locked(tmp_path):
        assert is_in_use(tmp_path)
        with pytest.raises(StateInUse), locked(tmp_path):
            pytest.fail("two agents have it")
    assert not is_in_use(tmp_path)


@pytest.mark.parametrize(
    ("variable", "folder"),
    [
        ({"HPCFAIR_AGENT_STATE": "/a", "STATE_DIRECTORY": "/b"}, "/a"),
        ({"STATE_DIRECTORY": "/b", "XDG_STATE_HOME": "/c"}, "/b"),
    ],
)
def test_state_folders(variable: dict[str, str], folder: str) -> None:
    assert default_state(variable) == Path(folder)


def test_a_cleared_folder_holds_no_secrets(state: Path) -> None:
    for name in ("device.key", "journal.sqlite3"):
        (state / name).touch()
    (state / "cache").mkdir()
    (state / "own.txt").touch()
    clear(state)
    assert [path.name for path in state.iterdir()] == ["own.txt"]


def test_reading_the_lock_does_not_prevent_a_start(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (state / "lock").open("a") as look:
        fcntl.flock(look, fcntl.LOCK_EX)
        monkeypatch.setattr(statefolder, "_PAUSE_S", 0)
        monkeypatch.setattr(statefolder.time, "sleep", lambda _: fcntl.flock(look, fcntl.LOCK_UN))
        with locked(state):
            assert is_in_use(state)
    assert not is_in_use(state)


def test_a_missing_folder_is_not_in_use(tmp_path: Path) -> None:
    assert not is_in_use(tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()
