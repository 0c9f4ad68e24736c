"""The command on the page of tokens, as a person in a terminal uses it, with a live hub."""

import html
import json
import os
import pty
import re
import shlex
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client as Browser

from hub.hf import oauth
from registry.tables import User


class Terminal:
    """A command in a terminal.

    Attributes:
        shown: What the terminal shows so far.
    """

    def __init__(self, command: str, environment: dict[str, str]) -> None:
        self._keyboard, screen = pty.openpty()
        self.process = subprocess.Popen(
            shlex.split(command),
            stdin=screen,
            stdout=screen,
            stderr=screen,
            start_new_session=True,
            env=environment,
        )
        os.close(screen)
        self.shown = ""

    def wait_for(self, text: str) -> None:
        """Read until the terminal shows ``text``."""
        while text not in self.shown:
            self.shown += os.read(self._keyboard, 4096).decode()

    def type(self, text: str) -> None:
        os.write(self._keyboard, text.encode())

    def end(self) -> int:
        """The exit status, after everything that the command prints."""
        try:
            while data := os.read(self._keyboard, 4096):
                self.shown += data.decode()
        # Linux reports the end of a terminal as an error.
        except OSError:
            pass
        return self.process.wait()

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._keyboard)


@contextmanager
def terminal(command: str, config: Path) -> Iterator[Terminal]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    made = Terminal(command, {**os.environ, "PATH": path, "HPCFAIR_CONFIG": str(config)})
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def browser(live_server: Any, settings: Any, alice: User) -> Browser:
    """A browser in which alice is signed in at the live hub."""
    settings.HUB_URL = live_server.url
    made = Browser()
    made.force_login(alice)
    return made


def codes(page: str) -> list[str]:
    """What the page offers for copying."""
    return [html.unescape(code) for code in re.findall(r"<pre[^>]*><code>(.*?)</code>", page)]


def test_the_command_and_the_token_of_the_page_sign_in(
    browser: Browser, live_server: Any, tmp_path: Path
) -> None:
    page = browser.post("/settings/tokens", {"name": "laptop", "scope": "write"}).content.decode()
    secret, command = codes(page)
    assert command == f"hpcfair login --url {live_server.url}"

    with terminal(command, tmp_path) as screen:
        screen.wait_for("Token: ")
        screen.type(f"{secret}\n")
        assert screen.end() == 0, screen.shown

    assert "as alice" in screen.shown
    assert secret not in screen.shown
    file = tmp_path / "config.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    stored = {"url": live_server.url, "tokens": {live_server.url: secret}}
    assert json.loads(file.read_text()) == stored
    with terminal("hpcfair whoami", tmp_path) as screen:
        assert screen.end() == 0
    assert "laptop" in screen.shown


def test_enter_and_the_code_in_the_browser_sign_in(
    browser: Browser, live_server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oauth, "INTERVAL", timedelta(seconds=1))
    (command,) = codes(browser.get("/settings/tokens").content.decode())

    with terminal(command, tmp_path) as screen:
        screen.wait_for("Token: ")
        screen.type("\n")
        screen.wait_for("allow it.")
        shown = re.search(r"Open (\S+)\s+compare the code (\S+) ", screen.shown)
        assert shown is not None
        address = shown[1].removeprefix(live_server.url)
        assert f'value="{shown[2]}"' in browser.get(address).content.decode()
        browser.post("/device", {"code": shown[2], "answer": "allow"})
        assert screen.end() == 0, screen.shown

    assert "as alice" in screen.shown
    (token,) = json.loads((tmp_path / "config.json").read_text())["tokens"].values()
    assert token.startswith("hpf_")
    assert token not in screen.shown


def test_a_code_that_is_refused_in_the_browser_ends_the_command(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oauth, "INTERVAL", timedelta(seconds=1))
    (command,) = codes(browser.get("/settings/tokens").content.decode())

    with terminal(command, tmp_path) as screen:
        screen.wait_for("Token: ")
        screen.type("\n")
        screen.wait_for("allow it.")
        code = re.search(r"compare the code (\S+) ", screen.shown)
        assert code is not None
        browser.post("/device", {"code": code[1], "answer": "refuse"})
        assert screen.end() == 4, screen.shown

    assert "was refused in the browser" in screen.shown
    assert not (tmp_path / "config.json").exists()
