"""Userlands of emulated machines: requests to APT, and reasons why packages are missing."""

import subprocess
import sys
from pathlib import Path

import pytest

from examples.emulated import debian, enter, userland
from examples.emulated.debian import Archive, NotAvailable
from examples.emulated.machines import MACHINES

APT = """#!/bin/sh
echo "$@" >> "$APT_LOG"
case "$*" in
  *indextargets*) printf 'http://other.example/apt stable-x contrib\\n%s\\n' "$APT_SOURCES" ;;
  *install*missing*) echo "E: Unable to locate package missing" >&2; exit 100 ;;
  *simulate*) echo "Inst python3.11 (1:3.11.2-6 Debian:12.11/stable [arm64])" ;;
esac
"""


@pytest.fixture
def apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An APT that logs its arguments; returns the log."""
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "apt-get").write_text(APT)
    (programs / "apt-get").chmod(0o755)
    keyring = tmp_path / "keyring.gpg"
    keyring.touch()
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    monkeypatch.setenv("APT_LOG", str(tmp_path / "log"))
    monkeypatch.setenv("APT_SOURCES", "http://mirror.example/debian bookworm main")
    monkeypatch.delenv(debian.MIRROR, raising=False)
    monkeypatch.setattr(debian, "_KEYRING", keyring)
    return tmp_path / "log"


def test_packages_come_from_the_mirror_of_this_machine_and_are_verified(
    apt: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "apt"
    (package,) = Archive("bookworm", "arm64", folder).fetch(["python3.11"])
    assert package == folder / "archives" / "python3.11_1%3a3.11.2-6_arm64.deb"
    line = (folder / "sources.list").read_text()
    assert line == (
        f"deb [signed-by={debian._KEYRING}] http://mirror.example/debian bookworm main\n"
    )
    log = apt.read_text()
    assert "APT::Architecture=arm64" in log
    assert f"Dir::State={folder}" in log


def test_a_mirror_can_be_named(apt: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(debian.MIRROR, "http://own.example/debian")
    Archive("trixie", "riscv64", tmp_path / "apt").fetch(["libc6"])
    assert "http://own.example/debian trixie" in (tmp_path / "apt/sources.list").read_text()


def test_other_distributions_have_no_mirror_of_debian(
    apt: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("APT_SOURCES", "http://mirror.example/ubuntu noble main")
    with pytest.raises(NotAvailable, match=debian.MIRROR):
        Archive("bookworm", "arm64", tmp_path / "apt").fetch(["python3.11"])


def test_an_error_of_apt_is_reported(apt: Path, tmp_path: Path) -> None:
    with pytest.raises(NotAvailable, match="Unable to locate package missing"):
        Archive("bookworm", "arm64", tmp_path / "apt").fetch(["missing"])


def test_without_apt_or_keys_there_are_no_packages(
    apt: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = Archive("bookworm", "arm64", tmp_path / "apt")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(NotAvailable, match="apt-get is not installed"):
        archive.fetch(["python3.11"])
    monkeypatch.setattr(debian, "_KEYRING", Path("/nowhere"))
    with pytest.raises(NotAvailable, match="debian-archive-keyring"):
        archive.fetch(["python3.11"])


def test_the_rule_matches_programs_of_the_machine_and_not_its_emulator() -> None:
    rule = enter._rule(MACHINES["x86-64-v3"], Path("/emulator"))
    name, kind, offset, magic, mask, path, flags = rule.removeprefix(":").split(":")
    assert (name, kind, offset, path, flags) == ("hpcfair-x86_64", "M", "0", "/emulator", "F")
    head, bits = (bytes.fromhex(text.replace("\\x", "")) for text in (magic, mask))
    program = Path(sys.executable).resolve().read_bytes()[: len(head)]
    static = program[:7] + b"\3" + program[8:]
    matches = [
        all(a & m == b & m for a, b, m in zip(each, head, bits, strict=True))
        for each in (program, static)
    ]
    assert matches == [program[18:20] == b"\x3e\0", False]


def test_machines_that_differ_only_in_their_processor_share_a_userland() -> None:
    assert userland.root_of("x86-64-v2") == userland.root_of("x86-64-v3")
    assert len({userland.root_of(name) for name in MACHINES}) == len(MACHINES) - 1


def test_a_missing_userland_exits_with_status_3(
    apt: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", "/nowhere")
    command = [sys.executable, "-m", "examples.emulated", "prepare"]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "not installed" in done.stderr or "missing" in done.stderr


def test_an_unknown_machine_is_refused() -> None:
    with pytest.raises(NotAvailable, match="choose from arm64"):
        userland.root_of("vax")
