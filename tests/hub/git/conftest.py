"""The real git, against a live hub."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from registry.states import Scope
from registry.tables import MLModel, User
from tests.factories import make_token


class Git:
    """Runs git with a home of its own, so that no configuration of the machine takes part."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "GIT_CONFIG_NOSYSTEM": "1",
            # Never ask a person.
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ASKPASS": "true",
            "GIT_LFS_SKIP_SMUDGE": "1",
        }

    def run(
        self, *arguments: str, folder: Path | None = None
    ) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            ["git", *arguments],
            cwd=folder or self.home,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )

    def __call__(self, *arguments: str, folder: Path | None = None) -> str:
        """What git said; the test fails where git did."""
        done = self.run(*arguments, folder=folder)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def clone(self, address: str, name: str, *options: str) -> Path:
        """A checked clone of ``address``."""
        self("clone", "--quiet", *options, address, name)
        self("fsck", "--strict", "--full", folder=self.home / name)
        return self.home / name


@pytest.fixture
def git(tmp_path: Path) -> Git:
    home = tmp_path / "git-home"
    home.mkdir()
    return Git(home)


@pytest.fixture
def address_of(live_server: Any, settings: Any, data_dir: Path) -> Callable[..., str]:
    """The remote's address, with a token of ``user`` in it where one is given."""
    settings.HUB_URL = live_server.url
    host = urlsplit(live_server.url).netloc

    def address(mlmodel: MLModel, user: User | None = None, *, token: str = "") -> str:
        token = token or (make_token(user, Scope.READ) if user else "")
        who = f"anyone:{token}@" if token else ""
        prefix = "datasets/" if mlmodel.kind == "dataset" else ""
        return f"http://{who}{host}/{prefix}{mlmodel.full_name}"

    return address
